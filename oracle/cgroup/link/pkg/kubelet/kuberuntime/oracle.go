package kuberuntime

import (
	"context"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// What the oracle's programs need of this package.

// OracleNode are the settings of the kubelet, and the machine, that matter for the cgroups of containers.
type OracleNode struct {
	Unified, Quota, SwapController bool
	Period                         time.Duration
	Memory, Swap                   uint64
	SwapBehavior                   string
	Throttling                     float64
	Policy                         kubeletconfig.MemoryReservationPolicy
	SingleProcessOOMKill           *bool
	Allocatable                    v1.ResourceList
	PageSize                       int64
	Exclusive                      cm.ContainerManager
}

type OracleManager struct{ m *kubeGenericRuntimeManager }

func NewOracleManager(node OracleNode) OracleManager {
	isCgroup2UnifiedMode = func() bool { return node.Unified }
	defaultPageSize = node.PageSize
	return OracleManager{&kubeGenericRuntimeManager{
		cpuCFSQuota: node.Quota, cpuCFSQuotaPeriod: metav1.Duration{Duration: node.Period},
		machineInfo:        &cadvisorapi.MachineInfo{MemoryCapacity: node.Memory, SwapCapacity: node.Swap},
		memorySwapBehavior: node.SwapBehavior, memoryThrottlingFactor: node.Throttling,
		memoryReservationPolicy: node.Policy, singleProcessOOMKill: node.SingleProcessOOMKill,
		containerManager: node.Exclusive, getNodeAllocatable: func() v1.ResourceList { return node.Allocatable },
		getSwapControllerAvailable: func() bool { return node.SwapController },
	}}
}

func (o OracleManager) Container(pod *v1.Pod, container *v1.Container) (*runtimeapi.LinuxContainerResources, string) {
	resources := o.m.generateContainerResources(context.Background(), pod, container)
	return resources.Linux, string(o.m.GetContainerSwapBehavior(pod, container))
}

func (o OracleManager) Sandbox(pod *v1.Pod) (resources, overhead *runtimeapi.LinuxContainerResources) {
	return o.m.calculateSandboxResources(context.Background(), pod), o.m.convertOverheadToLinuxResources(pod)
}
