// Program managers answers for the CPU, memory and topology managers.
package main

import (
	"fmt"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type (
	object = vector.Object
	hints  = numa.Hints
)

func main() {
	vector.Main(map[string]vector.Family{
		"cpu_allocate":    {Answer: vector.Of(cpuAllocate), Runs: 3},
		"cpu_hints":       {Answer: vector.Of(cpuHints)},
		"cpu_start":       {Answer: vector.Of(cpuStart), Runs: 30},
		"cpu_admit":       {Answer: vector.Of(cpuAdmit), Runs: 3},
		"topology_merge":  {Answer: vector.Of(merge), Runs: 6},
		"memory_start":    {Answer: vector.Of(memoryStart), Runs: 60},
		"memory_hints":    {Answer: vector.Of(memoryHints), Runs: 3},
		"memory_allocate": {Answer: vector.Of(memoryAllocate), Runs: 6},
		"memory_admit":    {Answer: vector.Of(memoryAdmit), Runs: 6},
	})
}

type hintIn struct {
	Nodes     *[]int `json:"numa_nodes"`
	Preferred bool
}

func (h hintIn) hint() topologymanager.TopologyHint {
	hint := topologymanager.TopologyHint{Preferred: h.Preferred}
	if h.Nodes != nil {
		mask, err := bitmask.NewBitMask(*h.Nodes...)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		hint.NUMANodeAffinity = mask
	}
	return hint
}

// listed are the hints of a provider: null, or a list of resources.
type listed []struct {
	Resource string
	Hints    *[]hintIn
}

func (l listed) hints() hints {
	if l == nil {
		return nil
	}
	result := hints{}
	for _, one := range l {
		var list []topologymanager.TopologyHint
		if one.Hints != nil {
			list = []topologymanager.TopologyHint{}
			for _, hint := range *one.Hints {
				list = append(list, hint.hint())
			}
		}
		result[one.Resource] = list
	}
	return result
}

func stored(of map[string]hintIn) map[string]topologymanager.TopologyHint {
	result := map[string]topologymanager.TopologyHint{}
	for name, hint := range of {
		result[name] = hint.hint()
	}
	return result
}

type topologyIn struct {
	Policy, Scope string
	Options       map[string]string `json:"policy_options"`
}

type mergeIn struct {
	topologyIn
	Nodes []struct {
		ID        int
		Distances []uint64
	} `json:"numa_nodes"`
	Providers  []listed
	Containers []string
	Init       []string `json:"init_containers"`
	InScope    []struct {
		Containers map[string]listed `json:"container_hints"`
		Pod        listed            `json:"pod_hints"`
		Errors     map[string]struct {
			Text string
			Type *string
		} `json:"allocate_errors"`
	} `json:"scope_providers"`
}

// typed is an error that says what the reason of a refusal is.
type typed struct{ text, kind string }

func (t typed) Error() string { return t.text }
func (t typed) Type() string  { return t.kind }

func merge(in mergeIn) any {
	nodes := []cadvisorapi.Node{}
	for _, one := range in.Nodes {
		nodes = append(nodes, cadvisorapi.Node{Id: one.ID, Distances: one.Distances})
	}
	scope := in.Scope
	if scope == "" {
		scope = "container"
	}
	manager, err := topologymanager.NewManager(nodes, in.Policy, scope, in.Options)
	if err != nil {
		return object{"new_manager_error": err.Error()}
	}
	if in.Scope == "" {
		given := []hints{}
		for _, one := range in.Providers {
			given = append(given, one.hints())
		}
		best, admit := manager.GetPolicy().Merge(klog.Background(), given)
		return object{"best_hint": numa.Hint(best), "admit": admit}
	}
	calls := []string{}
	for number := range in.InScope {
		one := in.InScope[number]
		of := &numa.Provider{Containers: map[string]hints{}, Pod: one.Pod.hints()}
		for name, list := range one.Containers {
			of.Containers[name] = list.hints()
		}
		of.Allocates = func(name string) error {
			calls = append(calls, fmt.Sprintf("%d:%s", number, name))
			failure, ok := one.Errors[name]
			if !ok {
				return nil
			}
			if failure.Type == nil {
				return fmt.Errorf("%s", failure.Text)
			}
			return typed{failure.Text, *failure.Type}
		}
		manager.AddHintProvider(klog.Background(), of)
	}
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID = "pod-a", "default", "pod-a"
	for _, name := range in.Init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: name})
	}
	for _, name := range in.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name})
	}
	result := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	affinity := []object{}
	for _, one := range numa.Containers(pod) {
		affinity = append(affinity, object{"name": one.Name, "affinity": numa.Hint(manager.GetAffinity("pod-a", one.Name))})
	}
	return numa.Admission(object{"affinity": affinity, "allocate_calls": calls, "scope_name": topologymanager.OracleScope(manager)}, result)
}
