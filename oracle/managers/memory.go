package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type memoryIn struct {
	numa.Memory
	Gates      map[string]bool                       `json:"feature_gates"`
	File       json.RawMessage                       `json:"state_file"`
	ByNode     map[string]map[v1.ResourceName]uint64 `json:"system_reserved"`
	State      state.NUMANodeMap                     `json:"machine_state"`
	Entries    state.ContainerMemoryAssignments      `json:"entries"`
	PodEntries map[string][]state.Block              `json:"pod_entries"`
	Reusable   []struct {
		Pod      string `json:"pod_uid"`
		Nodes    []int  `json:"numa_nodes"`
		Resource v1.ResourceName
		Bytes    uint64
	} `json:"init_containers_reusable"`
	Active   *[]string `json:"active_pod_uids"`
	Pod      *v1.Pod
	Hints    map[string]hintIn `json:"topology_hints"`
	Scope    string
	Then     []json.RawMessage
	Topology topologyIn `json:"topology_manager"`
	Others   struct {
		Containers map[string]listed `json:"container_hints"`
		Pod        listed            `json:"pod_hints"`
	} `json:"other_hints"`
	Stored map[string]hintIn `json:"stored_hints"`
	Panics string            `json:"kubelet_panics"`
}

func memoryStart(in memoryIn) any {
	kube.Gates(in.Gates)
	dir, err := os.MkdirTemp("", "oracle-memory-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, numa.StateFile)
	if len(in.File) > 0 && string(in.File) != "null" {
		content := []byte(in.File)
		var text string
		if json.Unmarshal(in.File, &text) == nil {
			content = []byte(text)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			panic(err)
		}
	}
	store, err := topologymanager.NewManager(in.Machine.Info().Topology, "none", "container", nil)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	_, out := in.Start(dir, store, func() []*v1.Pod { return nil })
	return out
}

// manager makes a memory manager with the state of a case. The pods that are gone can be added to.
func (in memoryIn) manager(store topologymanager.Store, gone map[string]bool) (memorymanager.Manager, state.State) {
	reserved := map[int]map[v1.ResourceName]uint64{}
	for node, amounts := range in.ByNode {
		id, err := strconv.Atoi(node)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		reserved[id] = amounts
	}
	reusable := memorymanager.OracleReusable{}
	for _, one := range in.Reusable {
		hint := hintIn{Nodes: &one.Nodes}.hint()
		if reusable[one.Pod] == nil {
			reusable[one.Pod] = map[string]map[v1.ResourceName]uint64{}
		}
		key := hint.NUMANodeAffinity.String()
		if reusable[one.Pod][key] == nil {
			reusable[one.Pod][key] = map[v1.ResourceName]uint64{}
		}
		reusable[one.Pod][key][one.Resource] = one.Bytes
	}
	active := func() []*v1.Pod {
		uids := map[string]bool{}
		if in.Active != nil {
			for _, uid := range *in.Active {
				uids[uid] = true
			}
		} else {
			for uid := range in.Entries {
				uids[uid] = true
			}
			for uid := range in.PodEntries {
				uids[uid] = true
			}
		}
		pods := []*v1.Pod{}
		if in.Pod != nil && !gone[string(in.Pod.UID)] {
			pods = append(pods, in.Pod)
		}
		for uid := range uids {
			if in.Pod != nil && uid == string(in.Pod.UID) || gone[uid] {
				continue
			}
			pod := &v1.Pod{}
			pod.UID = types.UID(uid)
			for name := range in.Entries[uid] {
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name})
			}
			pods = append(pods, pod)
		}
		return pods
	}
	made, s := memorymanager.OracleManager(in.Machine.Info(), reserved, store, reusable, active)
	s.SetMachineState(in.State)
	s.SetMemoryAssignments(in.Entries)
	if in.PodEntries != nil {
		pods := state.PodMemoryAssignments{}
		for uid, blocks := range in.PodEntries {
			pods[uid] = state.PodEntry{MemoryBlocks: blocks}
		}
		s.SetPodMemoryAssignments(pods)
	}
	return made, s
}

func memoryHints(in memoryIn) any {
	kube.Gates(in.Gates)
	m, _ := in.manager(numa.Fixed{}, nil)
	shown := object{}
	for _, one := range numa.Containers(in.Pod) {
		shown[one.Name] = numa.Guarded(func() hints { return m.GetTopologyHints(in.Pod, &one) })
	}
	return object{
		"container_hints": shown, "pod_hints": numa.Guarded(func() hints { return m.GetPodTopologyHints(in.Pod) }),
	}
}

func memoryAllocate(in memoryIn) any {
	kube.Gates(in.Gates)
	gone := map[string]bool{}
	m, s := in.manager(numa.Fixed{Stored: stored(in.Hints)}, gone)
	steps, panicked := []object{}, false
	step := func(step object, do func() error) bool {
		defer func() {
			if cause := recover(); cause != nil {
				panicked = true
				delete(step, "error")
				delete(step, "blocks")
				step["panic"] = fmt.Sprint(cause)
				// The kubelet is dead: what was before it counts for nothing.
				steps = []object{step}
			}
		}()
		err := do()
		step["error"] = nil
		if err != nil {
			step["error"] = err.Error()
		}
		steps = append(steps, step)
		return err == nil
	}
	if in.Scope == "pod" {
		step(object{"pod": true}, func() error { return m.AllocatePod(in.Pod) })
	} else {
		for _, one := range numa.Containers(in.Pod) {
			row := object{"container": one.Name, "blocks": nil}
			ok := step(row, func() error { return m.Allocate(in.Pod, &one) })
			if blocks := s.GetMemoryBlocks(string(in.Pod.UID), one.Name); blocks != nil && !panicked {
				row["blocks"] = numa.Blocks(blocks)
			}
			if !ok || panicked {
				break
			}
		}
	}
	out := object{"steps": steps}
	if panicked {
		return out
	}
	numa.AddState(out, s)
	out["init_containers_reusable_after"] = numa.Reusable(m)
	if in.Then == nil && in.Scope != "pod" {
		out["memory_numa_nodes"] = numa.NUMANodes(m, in.Pod)
	}
	if in.Then != nil {
		rows := []object{}
		for _, raw := range in.Then {
			var one struct {
				Op, Container string
				Pod           string `json:"pod_uid"`
			}
			if err := json.Unmarshal(raw, &one); err != nil {
				panic(vector.Skip(err.Error()))
			}
			row := object{"op": raw}
			switch one.Op {
			case "add_container":
				if vector.Making && !slices.ContainsFunc(numa.Containers(in.Pod), func(of v1.Container) bool {
					return of.Name == one.Container
				}) {
					panic(vector.Skip("no such container"))
				}
				for _, container := range numa.Containers(in.Pod) {
					if container.Name == one.Container {
						m.AddContainer(logr.Discard(), in.Pod, &container, string(in.Pod.UID)+"/"+one.Container)
					}
				}
			case "remove_container":
				memorymanager.OracleRemove(m, one.Pod, one.Container)
			case "pod_gone":
				gone[one.Pod] = true
				// The removal comes with the next question, whatever it is.
				m.GetPodTopologyHints(&v1.Pod{})
			}
			numa.AddState(row, s)
			rows = append(rows, row)
		}
		out["then"] = rows
	}
	return out
}

func memoryAdmit(in memoryIn) any {
	kube.Gates(in.Gates)
	info := in.Machine.Info()
	topology, err := topologymanager.NewManager(info.Topology, in.Topology.Policy, in.Topology.Scope, in.Topology.Options)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	if in.Panics != "" && vector.Making {
		panic(vector.Skip("known to panic"))
	}
	if in.Panics != "" {
		return object{"not_computed": true}
	}
	m, s := in.manager(topology, nil)
	uid := string(in.Pod.UID)
	for name, hint := range in.Stored {
		topologymanager.OracleRemember(topology, uid, name, hint.hint())
	}
	other := &numa.Provider{Containers: map[string]hints{}, Pod: in.Others.Pod.hints()}
	for name, one := range in.Others.Containers {
		other.Containers[name] = one.hints()
	}
	topology.AddHintProvider(klog.Background(), other)
	topology.AddHintProvider(klog.Background(), m)
	result := topology.Admit(&lifecycle.PodAdmitAttributes{Pod: in.Pod})
	rows := []object{}
	for _, one := range numa.Containers(in.Pod) {
		rows = append(rows, object{"name": one.Name, "affinity": numa.Hint(topology.GetAffinity(uid, one.Name))})
	}
	out := numa.Admission(object{"containers": rows, "init_containers_reusable_after": numa.Reusable(m)}, result)
	numa.AddState(out, s)
	return out
}
