package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type memoryMachine struct {
	Nodes []struct {
		ID        int
		Memory    uint64 `json:"memory_bytes"`
		HugePages []struct {
			Size  uint64 `json:"page_size_kib"`
			Count uint64 `json:"num_pages"`
		}
		Distances []uint64
	} `json:"numa_nodes"`
}

func (m memoryMachine) info() *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{}
	for _, n := range m.Nodes {
		node := cadvisorapi.Node{Id: n.ID, Memory: n.Memory, Distances: n.Distances}
		for _, pages := range n.HugePages {
			node.HugePages = append(node.HugePages, cadvisorapi.HugePagesInfo{PageSize: pages.Size, NumPages: pages.Count})
		}
		info.Topology = append(info.Topology, node)
	}
	return info
}

type memoryIn struct {
	Machine     memoryMachine
	Gates       map[string]bool `json:"feature_gates"`
	Policy      string
	Reservation map[string]string `json:"node_allocatable_reservation"`
	Reserved    []struct {
		Node   int `json:"numaNode"`
		Limits map[string]string
	} `json:"reserved_memory"`
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

func list(amounts map[string]string) v1.ResourceList {
	result := v1.ResourceList{}
	for name, amount := range amounts {
		result[v1.ResourceName(name)] = kube.Quantity(amount)
	}
	return result
}

// sink keeps the line that says in what two machine states differ.
type sink struct {
	lines  *[]object
	values []any
}

func (s sink) Init(logr.RuntimeInfo)        {}
func (s sink) Enabled(int) bool             { return true }
func (s sink) WithName(string) logr.LogSink { return s }
func (s sink) Error(error, string, ...any)  {}
func (s sink) WithValues(v ...any) logr.LogSink {
	return sink{s.lines, append(append([]any{}, s.values...), v...)}
}

func (s sink) Info(_ int, message string, values ...any) {
	is := false
	for _, begin := range []string{"Node state", "Memory state", "NUMA node and resource"} {
		is = is || strings.HasPrefix(message, begin)
	}
	if !is {
		return
	}
	shown := object{}
	all := append(append([]any{}, s.values...), values...)
	for i := 0; i+1 < len(all); i += 2 {
		key := fmt.Sprint(all[i])
		// Whole structures are left out.
		if !strings.HasPrefix(key, "memoryState") && !strings.HasPrefix(key, "stateNode") {
			shown[key] = fmt.Sprint(all[i+1])
		}
	}
	line := object{"level": "info", "message": message}
	if len(shown) > 0 {
		line["values"] = shown
	}
	*s.lines = append(*s.lines, line)
}

type always struct{}

func (always) AddSource(string) {}
func (always) AllReady() bool   { return true }

func memoryStart(in memoryIn) (out any) {
	kube.Gates(in.Gates)
	dir, err := os.MkdirTemp("", "oracle-memory-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memory_manager_state")
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
	reserved := []kubeletconfig.MemoryReservation{}
	for _, one := range in.Reserved {
		reserved = append(reserved, kubeletconfig.MemoryReservation{NumaNode: int32(one.Node), Limits: list(one.Limits)})
	}
	info := in.Machine.info()
	store, err := topologymanager.NewManager(info.Topology, "none", "container", nil)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	lines := []object{}
	logger := logr.New(sink{lines: &lines})
	defer func() {
		if cause := recover(); cause != nil {
			if skip, ok := cause.(vector.Skip); ok {
				panic(skip)
			}
			out = object{"new_manager_error": nil, "panic": fmt.Sprint(cause)}
		}
	}()
	manager, err := memorymanager.NewManager(logger, in.Policy, info, list(in.Reservation), reserved, dir, store)
	if err != nil {
		return object{"new_manager_error": err.Error()}
	}
	// While it is open, no other file gets its number.
	before, missing := os.Open(path)
	if missing == nil {
		defer before.Close()
	}
	none := func() []*v1.Pod { return nil }
	shown := object{"new_manager_error": nil, "start_error": nil}
	err = manager.Start(
		klog.NewContext(context.Background(), logger), none, always{}, nil, nil, containermap.NewContainerMap())
	if len(lines) > 0 {
		shown["logged"] = lines
	}
	if err != nil {
		shown["start_error"] = strings.ReplaceAll(err.Error(), dir, "/var/lib/kubelet")
		return shown
	}
	rewritten := true
	if missing == nil {
		old, _ := before.Stat()
		now, err := os.Stat(path)
		rewritten = err != nil || !os.SameFile(old, now)
	}
	shown["machine_state_after"] = manager.State().GetMachineState()
	shown["entries_after"] = shownEntries(manager.State())
	shown["allocatable_memory"] = shownBlocks(manager.GetAllocatableMemory(), true)
	shown["state_file_rewritten"] = rewritten
	if rewritten {
		after, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		shown["state_file_text_after"] = string(after)
	}
	return shown
}

// shownBlocks returns blocks in an order that does not follow a map.
func shownBlocks(blocks []state.Block, byNode bool) []state.Block {
	shown := append([]state.Block{}, blocks...)
	sort.SliceStable(shown, func(i, j int) bool {
		if one, other := shown[i].NUMAAffinity, shown[j].NUMAAffinity; byNode && one[0] != other[0] {
			return one[0] < other[0]
		}
		return shown[i].Type < shown[j].Type
	})
	return shown
}

func shownEntries(s state.Reader) map[string]map[string][]state.Block {
	shown := map[string]map[string][]state.Block{}
	for uid, containers := range s.GetMemoryAssignments() {
		shown[uid] = map[string][]state.Block{}
		for name, blocks := range containers {
			shown[uid][name] = shownBlocks(blocks, false)
		}
	}
	return shown
}

func shownPodEntries(s state.Reader) map[string][]state.Block {
	shown := map[string][]state.Block{}
	for uid, entry := range s.GetPodMemoryAssignments() {
		shown[uid] = shownBlocks(entry.MemoryBlocks, false)
	}
	return shown
}

func addState(out object, s state.Reader) {
	out["machine_state_after"] = s.GetMachineState().Clone()
	out["entries_after"] = shownEntries(s)
	if pods := shownPodEntries(s); len(pods) > 0 {
		out["pod_entries_after"] = pods
	}
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
	made, s := memorymanager.OracleManager(in.Machine.info(), reserved, store, reusable, active)
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

func reusable(m memorymanager.Manager) []object {
	rows := []object{}
	for pod, sets := range memorymanager.OracleReusableOf(m) {
		for key, amounts := range sets {
			mask, err := strconv.ParseUint(key, 2, 64)
			if err != nil {
				panic(err)
			}
			nodes := []int{}
			for ; mask != 0; mask &= mask - 1 {
				nodes = append(nodes, bits.TrailingZeros64(mask))
			}
			for name, amount := range amounts {
				rows = append(rows, object{"pod_uid": pod, "numa_nodes": nodes, "resource": string(name), "bytes": amount})
			}
		}
	}
	sort.Slice(rows, func(i, j int) bool {
		one, other := rows[i], rows[j]
		if one["pod_uid"] != other["pod_uid"] {
			return one["pod_uid"].(string) < other["pod_uid"].(string)
		}
		left, right := one["numa_nodes"].([]int), other["numa_nodes"].([]int)
		for at := 0; at < len(left) && at < len(right); at++ {
			if left[at] != right[at] {
				return left[at] < right[at]
			}
		}
		if len(left) != len(right) {
			return len(left) < len(right)
		}
		return one["resource"].(string) < other["resource"].(string)
	})
	return rows
}

func guarded(ask func() hints) (shown any) {
	defer func() {
		if cause := recover(); cause != nil {
			shown = object{"panic": fmt.Sprint(cause)}
		}
	}()
	return shownHints(ask())
}

func memoryHints(in memoryIn) any {
	kube.Gates(in.Gates)
	m, _ := in.manager(fixed{}, nil)
	shown := object{}
	for _, one := range containers(in.Pod) {
		shown[one.Name] = guarded(func() hints { return m.GetTopologyHints(in.Pod, &one) })
	}
	return object{
		"container_hints": shown, "pod_hints": guarded(func() hints { return m.GetPodTopologyHints(in.Pod) }),
	}
}

func memoryAllocate(in memoryIn) any {
	kube.Gates(in.Gates)
	gone := map[string]bool{}
	m, s := in.manager(fixed{stored: stored(in.Hints)}, gone)
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
		for _, one := range containers(in.Pod) {
			row := object{"container": one.Name, "blocks": nil}
			ok := step(row, func() error { return m.Allocate(in.Pod, &one) })
			if blocks := s.GetMemoryBlocks(string(in.Pod.UID), one.Name); blocks != nil && !panicked {
				row["blocks"] = shownBlocks(blocks, false)
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
	addState(out, s)
	out["init_containers_reusable_after"] = reusable(m)
	if in.Then == nil && in.Scope != "pod" {
		nodes := object{}
		for _, one := range containers(in.Pod) {
			nodes[one.Name] = nil
			if set := m.GetMemoryNUMANodes(logr.Discard(), in.Pod, &one); set != nil {
				nodes[one.Name] = sortedInts(set.UnsortedList())
			}
		}
		out["memory_numa_nodes"] = nodes
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
				if vector.Making && !slices.ContainsFunc(containers(in.Pod), func(of v1.Container) bool {
					return of.Name == one.Container
				}) {
					panic(vector.Skip("no such container"))
				}
				for _, container := range containers(in.Pod) {
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
			addState(row, s)
			rows = append(rows, row)
		}
		out["then"] = rows
	}
	return out
}

func memoryAdmit(in memoryIn) any {
	kube.Gates(in.Gates)
	info := in.Machine.info()
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
	other := provider{containers: map[string]hints{}, pod: in.Others.Pod.hints()}
	other.allocate = func(string) error { return nil }
	for name, one := range in.Others.Containers {
		other.containers[name] = one.hints()
	}
	topology.AddHintProvider(klog.Background(), other)
	topology.AddHintProvider(klog.Background(), m)
	result := topology.Admit(&lifecycle.PodAdmitAttributes{Pod: in.Pod})
	rows := []object{}
	for _, one := range containers(in.Pod) {
		rows = append(rows, object{"name": one.Name, "affinity": shownHint(topology.GetAffinity(uid, one.Name))})
	}
	out := rejected(object{"containers": rows, "init_containers_reusable_after": reusable(m)}, result)
	addState(out, s)
	return out
}
