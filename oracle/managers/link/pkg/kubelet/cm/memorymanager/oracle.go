package memorymanager

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// What the oracle's programs need of this package.

type oracleReady struct{}

func (oracleReady) AddSource(string) {}
func (oracleReady) AllReady() bool   { return true }

// OracleReusable is what a policy remembers of init containers: by pod, node set, resource.
type OracleReusable = reusableMemory

// OracleManager makes a manager with a state.
func OracleManager(
	machine *cadvisorapi.MachineInfo, reserved map[int]map[v1.ResourceName]uint64, store topologymanager.Store,
	reusable OracleReusable, active func() []*v1.Pod,
) (Manager, state.State) {
	s := state.NewMemoryState(klog.Background())
	if reusable == nil {
		reusable = OracleReusable{}
	}
	policy := &staticPolicy{
		machineInfo: machine, systemReserved: reserved, affinity: store, initContainersReusableMemory: reusable,
	}
	return &manager{
		policy: policy, state: s, activePods: active, sourcesReady: oracleReady{}, containerMap: containermap.NewContainerMap(),
	}, s
}

// OracleRemove removes a container from the policy's books.
func OracleRemove(m Manager, pod, container string) {
	of := m.(*manager)
	of.policy.RemoveContainer(klog.Background(), of.state, pod, container)
}
