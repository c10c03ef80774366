package numa

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/kube"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// HugePages are those of a NUMA node.
type HugePages struct {
	SizeKiB uint64 `json:"page_size_kib"`
	Count   uint64 `json:"num_pages"`
}

// MemoryNode is a NUMA node of a machine with memory.
type MemoryNode struct {
	ID        int         `json:"id"`
	Memory    uint64      `json:"memory_bytes"`
	HugePages []HugePages `json:"hugepages"`
	Distances []uint64    `json:"distances"`
}

// MemoryMachine is a machine as the memory manager sees it.
type MemoryMachine struct {
	Nodes []MemoryNode `json:"numa_nodes"`
}

// Info is the machine in cAdvisor's words.
func (m MemoryMachine) Info() *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{}
	for _, n := range m.Nodes {
		node := cadvisorapi.Node{Id: n.ID, Memory: n.Memory, Distances: n.Distances}
		for _, pages := range n.HugePages {
			node.HugePages = append(node.HugePages, cadvisorapi.HugePagesInfo{PageSize: pages.SizeKiB, NumPages: pages.Count})
		}
		info.Topology = append(info.Topology, node)
	}
	return info
}

// Reservation is what is reserved on a NUMA node.
type Reservation struct {
	Node   int               `json:"numaNode"`
	Limits map[string]string `json:"limits"`
}

// Memory is the part of the kubelet's configuration that matters to the memory manager, and the machine.
type Memory struct {
	Policy      string            `json:"policy"`
	Machine     MemoryMachine     `json:"machine"`
	Reservation map[string]string `json:"node_allocatable_reservation"`
	Reserved    []Reservation     `json:"reserved_memory"`
}

func list(amounts map[string]string) v1.ResourceList {
	result := v1.ResourceList{}
	for name, amount := range amounts {
		result[v1.ResourceName(name)] = kube.Quantity(amount)
	}
	return result
}

// ReservedMemory is the reservation in the kubelet's words.
func (c Memory) ReservedMemory() []kubeletconfig.MemoryReservation {
	result := []kubeletconfig.MemoryReservation{}
	for _, one := range c.Reserved {
		result = append(result, kubeletconfig.MemoryReservation{NumaNode: int32(one.Node), Limits: list(one.Limits)})
	}
	return result
}

// StateFile is the name of the memory manager's file.
const StateFile = "memory_manager_state"

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

// sink keeps the line that says in what two machine states differ.
type sink struct {
	lines  *[]Object
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
	shown := Object{}
	all := append(append([]any{}, s.values...), values...)
	for i := 0; i+1 < len(all); i += 2 {
		key := fmt.Sprint(all[i])
		// Whole structures are left out.
		if !strings.HasPrefix(key, "memoryState") && !strings.HasPrefix(key, "stateNode") {
			shown[key] = fmt.Sprint(all[i+1])
		}
	}
	line := Object{"level": "info", "message": message}
	if len(shown) > 0 {
		line["values"] = shown
	}
	*s.lines = append(*s.lines, line)
}

// Start makes and starts a memory manager whose file is in dir, and returns it, unless it does not start, with what happened.
func (c Memory) Start(
	dir string, store topologymanager.Store, active func() []*v1.Pod,
) (memory memorymanager.Manager, out Object) {
	info, reservation, reserved := c.Machine.Info(), list(c.Reservation), c.ReservedMemory()
	defer func() {
		if cause := recover(); cause != nil {
			memory, out = nil, Object{"new_manager_error": nil, "panic": fmt.Sprint(cause)}
		}
	}()
	lines := []Object{}
	logger := logr.New(sink{lines: &lines})
	manager, err := memorymanager.NewManager(logger, c.Policy, info, reservation, reserved, dir, store)
	if err != nil {
		return nil, Object{"new_manager_error": err.Error()}
	}
	out = Object{"new_manager_error": nil, "start_error": nil}
	path := filepath.Join(dir, StateFile)
	// While it is open, no other file gets its number.
	before, missing := os.Open(path)
	if missing == nil {
		defer before.Close()
	}
	err = manager.Start(
		klog.NewContext(context.Background(), logger), active, ready{}, nil, nil, containermap.NewContainerMap())
	if len(lines) > 0 {
		out["logged"] = lines
	}
	if err != nil {
		out["start_error"] = strings.ReplaceAll(err.Error(), dir, "/var/lib/kubelet")
		return nil, out
	}
	rewritten := true
	if missing == nil {
		old, _ := before.Stat()
		now, err := os.Stat(path)
		rewritten = err != nil || !os.SameFile(old, now)
	}
	out["machine_state_after"] = manager.State().GetMachineState()
	out["entries_after"] = Entries(manager.State())
	out["allocatable_memory"] = Blocks(manager.GetAllocatableMemory())
	out["state_file_rewritten"] = rewritten
	if rewritten {
		after, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		out["state_file_text_after"] = string(after)
	}
	return manager, out
}

// Blocks are blocks in an order that does not follow a map.
func Blocks(blocks []state.Block) []state.Block {
	shown := append([]state.Block{}, blocks...)
	sort.SliceStable(shown, func(i, j int) bool {
		one, other := shown[i].NUMAAffinity, shown[j].NUMAAffinity
		if len(one) == 1 && len(other) == 1 && one[0] != other[0] {
			return one[0] < other[0]
		}
		return shown[i].Type < shown[j].Type
	})
	return shown
}

// Entries are the blocks of containers.
func Entries(s state.Reader) map[string]map[string][]state.Block {
	shown := map[string]map[string][]state.Block{}
	for uid, containers := range s.GetMemoryAssignments() {
		shown[uid] = map[string][]state.Block{}
		for name, blocks := range containers {
			shown[uid][name] = Blocks(blocks)
		}
	}
	return shown
}

// PodEntries are the blocks of pods as a whole.
func PodEntries(s state.Reader) map[string][]state.Block {
	shown := map[string][]state.Block{}
	for uid, entry := range s.GetPodMemoryAssignments() {
		shown[uid] = Blocks(entry.MemoryBlocks)
	}
	return shown
}

// AddState adds a state to an answer.
func AddState(out Object, s state.Reader) {
	out["machine_state_after"] = s.GetMachineState().Clone()
	out["entries_after"] = Entries(s)
	if pods := PodEntries(s); len(pods) > 0 {
		out["pod_entries_after"] = pods
	}
}

// NUMANodes are the nodes of the containers of a pod.
func NUMANodes(m memorymanager.Manager, pod *v1.Pod) Object {
	nodes := Object{}
	for _, one := range Containers(pod) {
		nodes[one.Name] = nil
		if set := m.GetMemoryNUMANodes(logr.Discard(), pod, &one); set != nil {
			list := set.UnsortedList()
			sort.Ints(list)
			nodes[one.Name] = list
		}
	}
	return nodes
}

// Guarded shows hints, or the panic of who was asked for them.
func Guarded(ask func() Hints) (shown any) {
	defer func() {
		if cause := recover(); cause != nil {
			shown = Object{"panic": fmt.Sprint(cause)}
		}
	}()
	return Shown(ask())
}

// Reusable is what the policy remembers of init containers, which is in none of its public fields.
func Reusable(m memorymanager.Manager) []Object {
	policy := reflect.ValueOf(m).Elem().FieldByName("policy").Elem().Elem()
	rows := []Object{}
	for pods := policy.FieldByName("initContainersReusableMemory").MapRange(); pods.Next(); {
		for sets := pods.Value().MapRange(); sets.Next(); {
			mask, err := strconv.ParseUint(sets.Key().String(), 2, 64)
			if err != nil {
				panic(err)
			}
			nodes := []int{}
			for ; mask != 0; mask &= mask - 1 {
				nodes = append(nodes, bits.TrailingZeros64(mask))
			}
			for amounts := sets.Value().MapRange(); amounts.Next(); {
				rows = append(rows, Object{
					"pod_uid": pods.Key().String(), "numa_nodes": nodes,
					"resource": amounts.Key().String(), "bytes": amounts.Value().Uint(),
				})
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
