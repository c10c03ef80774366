package cm

import (
	"fmt"
	"strings"
	"time"

	libcontainercgroups "github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
)

// What the oracle's programs need of this package.

// OracleCgroup is a cgroup as the kubelet hands it to the cgroup library.
type OracleCgroup struct {
	Name   CgroupName
	Path   string
	Config *ResourceConfig
	Cgroup *libcontainercgroups.Cgroup
}

// OracleManager notes what is created and updated, instead of doing it.
type OracleManager struct {
	CgroupManager
	common  cgroupCommon
	Applied map[string]*OracleCgroup
	Updates int
	// Usage is the memory in use by path; a limit below it is refused where Refuses is set.
	Usage   map[string]int64
	Refuses bool
	// Missing are the paths of cgroups that do not exist.
	Missing sets.Set[string]
}

func NewOracleManager(unified bool, driver string, sizes []string) *OracleManager {
	libcontainercgroups.OracleHost(unified, sizes)
	availableRootControllersOnce.Do(func() {})
	availableRootControllers = sets.New("cpu", "cpuset", "memory", "hugetlb", "pids")
	logger, subsystems := klog.Background(), &CgroupSubsystems{MountPoints: map[string]string{"hugetlb": "/"}}
	return &OracleManager{
		CgroupManager: NewCgroupManager(logger, subsystems, driver), common: newCgroupCommon(logger, subsystems, driver),
		Applied: map[string]*OracleCgroup{}, Missing: sets.New[string](),
	}
}

// Made returns a cgroup as it would be applied.
func (m *OracleManager) Made(name CgroupName, config *ResourceConfig) *OracleCgroup {
	cgroup := m.common.libctCgroupConfig(klog.Background(), &CgroupConfig{Name: name, ResourceParameters: config}, true)
	return &OracleCgroup{name, m.Name(name), config, cgroup}
}

func (m *OracleManager) Exists(CgroupName) bool { return false }

func (m *OracleManager) Validate(name CgroupName) error {
	if m.Missing.Has(m.Name(name)) {
		return m.CgroupManager.Validate(name)
	}
	return nil
}

func (m *OracleManager) Create(_ klog.Logger, config *CgroupConfig) error {
	made := m.Made(config.Name, config.ResourceParameters)
	m.Applied[made.Path] = made
	return nil
}

func (m *OracleManager) Update(logger klog.Logger, config *CgroupConfig) error {
	m.Updates++
	limit := config.ResourceParameters.Memory
	if usage := m.Usage[m.Name(config.Name)]; m.Refuses && limit != nil && *limit < usage {
		return fmt.Errorf("device or resource busy")
	}
	return m.Create(logger, config)
}

func (m *OracleManager) MemoryUsage(name CgroupName) (int64, error) {
	return m.Usage[m.Name(name)], nil
}

// OracleRoot is the cgroup below which all pods are.
func OracleRoot(root string, perQOS bool) CgroupName {
	name := ParseCgroupfsToCgroupName(root)
	if perQOS {
		return NewCgroupName(name, defaultNodeAllocatableCgroupName)
	}
	return name
}

func OracleClasses(root CgroupName) QOSContainersInfo {
	class := func(of v1.PodQOSClass) CgroupName { return NewCgroupName(root, strings.ToLower(string(of))) }
	return QOSContainersInfo{
		Guaranteed: root, Burstable: class(v1.PodQOSBurstable), BestEffort: class(v1.PodQOSBestEffort),
	}
}

// OracleExclusive are the containers that have CPUs of their own.
type OracleExclusive struct {
	ContainerManager
	Names sets.Set[string]
}

func (e OracleExclusive) ContainerHasExclusiveCPUs(_ *v1.Pod, container *v1.Container) bool {
	return e.Names.Has(container.Name)
}

func (e OracleExclusive) PodHasExclusiveCPUs(pod *v1.Pod) bool {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, one := range list {
			if e.Names.Has(one.Name) {
				return true
			}
		}
	}
	return false
}

// OraclePodSettings are the settings of the kubelet that matter for the cgroup of a pod.
type OraclePodSettings struct {
	Root      string
	PerQOS    bool
	PidsLimit int64
	Quota     bool
	Period    uint64
	Policy    kubeletconfig.MemoryReservationPolicy
	Exclusive OracleExclusive
}

func (m *OracleManager) Pod(pod *v1.Pod, settings OraclePodSettings) (name CgroupName, path string, err error) {
	if !settings.PerQOS {
		noop := &podContainerManagerNoop{cgroupRoot: OracleRoot(settings.Root, false)}
		name, path = noop.GetPodContainerName(pod)
		return name, path, nil
	}
	manager := &podContainerManagerImpl{
		qosContainersInfo: OracleClasses(OracleRoot(settings.Root, true)), cgroupManager: m,
		podPidsLimit: settings.PidsLimit, enforceCPULimits: settings.Quota, cpuCFSQuotaPeriod: settings.Period,
		podContainerManager: settings.Exclusive, memoryReservationPolicy: settings.Policy,
	}
	name, path = manager.GetPodContainerName(pod)
	return name, path, manager.EnsureExists(klog.Background(), pod)
}

func (m *OracleManager) IsPod(root, path string) (bool, types.UID) {
	manager := &podContainerManagerImpl{qosContainersInfo: OracleClasses(OracleRoot(root, true)), cgroupManager: m}
	return manager.IsPodCgroup(path)
}

// Classes runs one update of the cgroups of the QoS classes.
func (m *OracleManager) Classes(
	root CgroupName, pods []*v1.Pod, reserved map[v1.ResourceName]int64, allocatable v1.ResourceList,
	policy kubeletconfig.MemoryReservationPolicy,
) (QOSContainersInfo, error) {
	manager := &qosContainerManagerImpl{
		qosContainersInfo: OracleClasses(root), cgroupManager: m, activePods: func() []*v1.Pod { return pods },
		getNodeAllocatable: func() v1.ResourceList { return allocatable }, cgroupRoot: root, qosReserved: reserved,
		memoryReservationPolicy: policy,
	}
	return manager.qosContainersInfo, manager.UpdateCgroups(klog.Background())
}

var (
	OracleWeight = getCPUWeight
	OracleShares = cpuWeightToCPUShares
)

type oracleCPUs struct {
	cpumanager.Manager
	all, allocatable cpuset.CPUSet
}

func (c oracleCPUs) GetAllCPUs() cpuset.CPUSet         { return c.all }
func (c oracleCPUs) GetAllocatableCPUs() cpuset.CPUSet { return c.allocatable }

type oracleEvents struct{ record.EventRecorder }

func (oracleEvents) Event(_ runtimeObject, _, _, _ string)                    {}
func (oracleEvents) Eventf(_ runtimeObject, _, _, _ string, _ ...interface{}) {}

// OracleNode is a node with its capacity.
type OracleNode struct {
	Config             NodeConfig
	Capacity, Internal v1.ResourceList
	All, Allocatable   cpuset.CPUSet
}

// OracleAmounts are the amounts that a node has, by the kubelet's reckoning.
type OracleAmounts struct{ Reservation, Absolute v1.ResourceList }

// Node checks the amounts of a node and applies them.
func (m *OracleManager) Node(node OracleNode) (OracleAmounts, CgroupName, error) {
	manager := &containerManagerImpl{
		NodeConfig: node.Config, capacity: node.Capacity, internalCapacity: node.Internal, cgroupManager: m,
		cgroupRoot: OracleRoot(node.Config.CgroupRoot, node.Config.CgroupsPerQOS),
		cpuManager: oracleCPUs{all: node.All, allocatable: node.Allocatable}, recorder: oracleEvents{},
		nodeInfo: &v1.Node{},
	}
	amounts := OracleAmounts{manager.GetNodeAllocatableReservation(), manager.GetNodeAllocatableAbsolute()}
	if err := manager.validateNodeAllocatable(); err != nil {
		return amounts, manager.cgroupRoot, err
	}
	logger := klog.Background()
	if err := manager.createNodeAllocatableCgroups(logger); err != nil {
		return amounts, manager.cgroupRoot, err
	}
	// The pods' cgroup has its values by now; its update goes on beside.
	made := m.Applied[m.Name(manager.cgroupRoot)]
	err := manager.enforceNodeAllocatableCgroups(logger)
	for wait := 0; len(manager.cgroupRoot) > 0 && m.Updates == 0 && wait < 100; wait++ {
		time.Sleep(time.Millisecond)
	}
	if len(manager.cgroupRoot) == 0 {
		delete(m.Applied, made.Path)
	}
	return amounts, manager.cgroupRoot, err
}
