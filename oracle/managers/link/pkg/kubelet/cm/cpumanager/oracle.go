package cpumanager

import (
	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
)

// What the oracle's programs need of this package.

// OracleReserved are the CPUs that a policy reserves, and all on their cores.
func OracleReserved(policy Policy) (reserved, physical cpuset.CPUSet) {
	static, ok := policy.(*staticPolicy)
	if !ok {
		return cpuset.New(), cpuset.New()
	}
	return static.reservedCPUs, static.reservedPhysicalCPUs
}

func OracleReuse(policy Policy) map[string]cpuset.CPUSet { return policy.(*staticPolicy).cpusToReuse }

func OraclePolicy(m Manager) Policy { return m.(*manager).policy }

type oracleReady bool

func (oracleReady) AddSource(string) {}
func (r oracleReady) AllReady() bool { return bool(r) }

// OracleWith gives a manager a state, as a start would.
func OracleWith(m Manager, s state.State, active func() []*v1.Pod, ready bool) {
	of := m.(*manager)
	of.state, of.activePods, of.sourcesReady = s, active, oracleReady(ready)
	of.containerMap = containermap.NewContainerMap()
	of.lastUpdateState = state.NewMemoryState(logr.Discard())
	of.allocatableCPUs = of.policy.GetAllocatableCPUs(s)
}

func OracleState(m Manager) state.State { return m.(*manager).state }
