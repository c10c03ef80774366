// Program managers answers for the CPU, memory and topology managers.
package main

import (
	"fmt"
	"sort"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type (
	object = vector.Object
	hints  = map[string][]topologymanager.TopologyHint
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

func shownHint(hint topologymanager.TopologyHint) object {
	var nodes []int
	if hint.NUMANodeAffinity != nil {
		nodes = append([]int{}, hint.NUMANodeAffinity.GetBits()...)
	}
	return object{"numa_nodes": nodes, "preferred": hint.Preferred}
}

func shownHints(h hints) any {
	if h == nil {
		return nil
	}
	shown := object{}
	for name, list := range h {
		shown[name] = nil
		if list != nil {
			rows := []object{}
			for _, hint := range list {
				rows = append(rows, shownHint(hint))
			}
			shown[name] = rows
		}
	}
	return shown
}

func containers(pod *v1.Pod) []v1.Container {
	return append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

// fixed is a topology manager that has stored hints by container.
type fixed struct {
	topologymanager.Store
	stored map[string]topologymanager.TopologyHint
}

func (f fixed) GetAffinity(_, container string) topologymanager.TopologyHint {
	return f.stored[container]
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

// rejected adds how a refused pod is shown.
func rejected(out object, result lifecycle.PodAdmitResult) object {
	out["admitted"], out["reason"], out["message"] = result.Admit, result.Reason, result.Message
	if !result.Admit {
		out["pod_status"] = object{
			"phase": "Failed", "reason": result.Reason, "message": "Pod was rejected: " + result.Message,
		}
	}
	return out
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

type provider struct {
	containers map[string]hints
	pod        hints
	allocate   func(container string) error
}

func (p provider) GetTopologyHints(_ *v1.Pod, c *v1.Container) hints { return p.containers[c.Name] }
func (p provider) GetPodTopologyHints(*v1.Pod) hints                 { return p.pod }
func (p provider) AllocatePod(*v1.Pod) error                         { return nil }
func (p provider) Allocate(_ *v1.Pod, c *v1.Container) error         { return p.allocate(c.Name) }

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
		return object{"best_hint": shownHint(best), "admit": admit}
	}
	calls := []string{}
	for number := range in.InScope {
		one := in.InScope[number]
		of := provider{containers: map[string]hints{}, pod: one.Pod.hints()}
		for name, list := range one.Containers {
			of.containers[name] = list.hints()
		}
		of.allocate = func(name string) error {
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
	for _, one := range containers(pod) {
		affinity = append(affinity, object{"name": one.Name, "affinity": shownHint(manager.GetAffinity("pod-a", one.Name))})
	}
	return rejected(object{"affinity": affinity, "allocate_calls": calls, "scope_name": manager.Name()}, result)
}

func sortedInts(list []int) []int {
	sort.Ints(list)
	return list
}
