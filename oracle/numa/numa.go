// Package numa is what the programs for the CPU, memory and topology managers share: machines, and how answers are shown.
package numa

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type (
	// Object is a JSON object.
	Object = vector.Object
	// Hints are those of a provider, by resource.
	Hints = map[string][]topologymanager.TopologyHint
)

// Containers are those of a pod in the order in which they are asked for.
func Containers(pod *v1.Pod) []v1.Container {
	return append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

// Hint shows a hint.
func Hint(hint topologymanager.TopologyHint) Object {
	var nodes []int
	if hint.NUMANodeAffinity != nil {
		nodes = append([]int{}, hint.NUMANodeAffinity.GetBits()...)
	}
	return Object{"numa_nodes": nodes, "preferred": hint.Preferred}
}

// Shown shows hints by resource; nil where there are none.
func Shown(h Hints) any {
	if h == nil {
		return nil
	}
	shown := Object{}
	for name, list := range h {
		shown[name] = nil
		if list != nil {
			rows := []Object{}
			for _, hint := range list {
				rows = append(rows, Hint(hint))
			}
			shown[name] = rows
		}
	}
	return shown
}

// Fixed is a topology manager that has stored hints by container, whatever the pod.
type Fixed struct {
	topologymanager.Store
	Stored map[string]topologymanager.TopologyHint
}

// GetAffinity returns what is stored.
func (f Fixed) GetAffinity(_, container string) topologymanager.TopologyHint {
	return f.Stored[container]
}

// Provider gives hints that it has, and allocates as it is told.
type Provider struct {
	Containers map[string]Hints
	Pod        Hints
	Allocates  func(container string) error
}

func (p *Provider) GetTopologyHints(_ *v1.Pod, c *v1.Container) Hints { return p.Containers[c.Name] }
func (p *Provider) GetPodTopologyHints(*v1.Pod) Hints                 { return p.Pod }
func (p *Provider) AllocatePod(*v1.Pod) error                         { return nil }
func (p *Provider) Allocate(_ *v1.Pod, c *v1.Container) error {
	if p.Allocates == nil {
		return nil
	}
	return p.Allocates(c.Name)
}

// Admission adds to an answer how an admission ended.
func Admission(out Object, result lifecycle.PodAdmitResult) Object {
	out["admitted"], out["reason"], out["message"] = result.Admit, result.Reason, result.Message
	if !result.Admit {
		out["pod_status"] = Object{
			"phase": "Failed", "reason": result.Reason, "message": "Pod was rejected: " + result.Message,
		}
	}
	return out
}

// CPU is a logical processor.
type CPU struct {
	CPU    int  `json:"cpu"`
	Core   int  `json:"core"`
	Socket int  `json:"socket"`
	Node   int  `json:"numa_node"`
	Cache  *int `json:"uncore_cache"`
}

// CPUNode is a NUMA node of a machine with CPUs.
type CPUNode struct {
	ID        int      `json:"id"`
	Distances []uint64 `json:"distances"`
}

// CPUMachine is a machine as the CPU manager sees it.
type CPUMachine struct {
	Name  string    `json:"name"`
	CPUs  []CPU     `json:"cpus"`
	Nodes []CPUNode `json:"numa_nodes"`
}

// Info is the machine in cAdvisor's words.
func (m CPUMachine) Info() *cadvisorapi.MachineInfo {
	sockets := map[int]bool{}
	result := &cadvisorapi.MachineInfo{NumCores: len(m.CPUs)}
	for _, n := range m.Nodes {
		node := cadvisorapi.Node{Id: n.ID, Distances: n.Distances}
		at := map[int]int{}
		for _, c := range m.CPUs {
			if c.Node != n.ID {
				continue
			}
			sockets[c.Socket] = true
			if _, ok := at[c.Core]; !ok {
				at[c.Core] = len(node.Cores)
				core := cadvisorapi.Core{Id: c.Core, SocketID: c.Socket}
				if c.Cache != nil {
					core.UncoreCaches = []cadvisorapi.Cache{{Id: *c.Cache}}
				}
				node.Cores = append(node.Cores, core)
			}
			node.Cores[at[c.Core]].Threads = append(node.Cores[at[c.Core]].Threads, c.CPU)
		}
		result.Topology = append(result.Topology, node)
	}
	result.NumSockets = len(sockets)
	return result
}

// CPUs shows which CPUs a state has given away.
func CPUs(s state.State) Object {
	entries := Object{}
	for pod, containers := range s.GetCPUAssignments() {
		shown := Object{}
		for name, cpus := range containers {
			shown[name] = cpus.String()
		}
		entries[pod] = shown
	}
	return Object{"default_cpu_set": s.GetDefaultCPUSet().String(), "entries": entries}
}

// CPUContainers shows what the containers of a pod got.
func CPUContainers(pod *v1.Pod, store topologymanager.Store, s state.State) []Object {
	rows := []Object{}
	for _, one := range Containers(pod) {
		row := Object{
			"name": one.Name, "affinity": Hint(store.GetAffinity(string(pod.UID), one.Name)), "exclusive_cpus": nil,
		}
		if cpus, ok := s.GetCPUSet(string(pod.UID), one.Name); ok {
			row["exclusive_cpus"] = cpus.String()
		}
		rows = append(rows, row)
	}
	return rows
}
