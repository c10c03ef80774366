package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

const stateFile = "memory_manager_state"

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

// sink keeps the line that says in what two machine states differ.
type sink struct {
	lines  *[]object
	values []interface{}
}

func (s sink) Init(logr.RuntimeInfo)               {}
func (s sink) Enabled(int) bool                    { return true }
func (s sink) WithName(string) logr.LogSink        { return s }
func (s sink) Error(error, string, ...interface{}) {}
func (s sink) WithValues(v ...interface{}) logr.LogSink {
	return sink{s.lines, append(append([]interface{}{}, s.values...), v...)}
}

func (s sink) Info(_ int, message string, values ...interface{}) {
	is := false
	for _, begin := range []string{"Node state", "Memory state", "NUMA node and resource"} {
		is = is || strings.HasPrefix(message, begin)
	}
	if !is {
		return
	}
	shown := map[string]string{}
	all := append(append([]interface{}{}, s.values...), values...)
	for i := 0; i+1 < len(all); i += 2 {
		key := fmt.Sprint(all[i])
		// The family has texts and numbers alone.
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

// started makes and starts a manager whose files are in dir, and returns it, unless it does not start, with what happened.
func started(c config, dir string, store topologymanager.Store, active func() []*v1.Pod) (memory memorymanager.Manager, out object) {
	defer func() {
		if panicked := recover(); panicked != nil {
			memory, out = nil, object{"new_manager_error": nil, "panic": fmt.Sprint(panicked)}
		}
	}()
	lines := []object{}
	logger := logr.New(sink{lines: &lines})
	manager, err := memorymanager.NewManager(logger, c.Policy, c.info(), list(c.Reservation), c.reservedMemory(), dir, store)
	if err != nil {
		return nil, object{"new_manager_error": err.Error()}
	}
	out = object{"new_manager_error": nil, "start_error": nil}
	path := filepath.Join(dir, stateFile)
	// While it is open, no other file gets its number.
	before, missing := os.Open(path)
	if missing == nil {
		defer before.Close()
	}
	err = manager.Start(klog.NewContext(context.Background(), logger), active, ready{}, nil, nil, containermap.NewContainerMap())
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
	out["entries_after"] = shownEntries(manager.State())
	out["allocatable_memory"] = shownBlocks(manager.GetAllocatableMemory())
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

// inOrder returns the content of a state file with the blocks in an order that does not follow a map, and the checksum of it;
// nil where the kubelet would not read it.
func inOrder(file []byte, gate bool) []byte {
	sorted := func(entries state.ContainerMemoryAssignments) {
		for _, containers := range entries {
			for name, blocks := range containers {
				containers[name] = shownBlocks(blocks)
			}
		}
	}
	if !gate {
		content := &state.MemoryManagerCheckpointV1{
			MachineState: state.NUMANodeMap{}, Entries: state.ContainerMemoryAssignments{},
		}
		if content.UnmarshalCheckpoint(file) != nil {
			return nil
		}
		sorted(content.Entries)
		result, _ := content.MarshalCheckpoint()
		return result
	}
	content := &state.MemoryManagerCheckpointV2{
		MachineState: state.NUMANodeMap{}, Entries: state.ContainerMemoryAssignments{}, PodEntries: state.PodMemoryAssignments{},
	}
	if content.UnmarshalCheckpoint(file) != nil {
		return nil
	}
	sorted(content.Entries)
	for uid, entry := range content.PodEntries {
		content.PodEntries[uid] = state.PodEntry{MemoryBlocks: shownBlocks(entry.MemoryBlocks)}
	}
	result, _ := content.MarshalCheckpoint()
	return result
}

// startInput returns the input of a start with the file that is in dir.
func startInput(c config, dir string, gate bool) object {
	in := object{
		"policy": c.Policy, "machine": c.Machine, "node_allocatable_reservation": c.Reservation,
		"reserved_memory": c.Reserved, "state_file": nil,
	}
	if file, err := os.ReadFile(filepath.Join(dir, stateFile)); err == nil {
		in["state_file"] = string(file)
	}
	if gate {
		in["feature_gates"] = object{"PodLevelResourceManagers": true}
	}
	return in
}

// shownBlocks returns blocks in an order that does not follow a map.
func shownBlocks(blocks []state.Block) []state.Block {
	shown := append([]state.Block{}, blocks...)
	sort.SliceStable(shown, func(i, j int) bool {
		one, other := fmt.Sprint(shown[i].NUMAAffinity), fmt.Sprint(shown[j].NUMAAffinity)
		if len(shown[i].NUMAAffinity) == 1 && len(shown[j].NUMAAffinity) == 1 && one != other {
			return shown[i].NUMAAffinity[0] < shown[j].NUMAAffinity[0]
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
			shown[uid][name] = shownBlocks(blocks)
		}
	}
	return shown
}

func shownPodEntries(s state.Reader) map[string][]state.Block {
	shown := map[string][]state.Block{}
	for uid, entry := range s.GetPodMemoryAssignments() {
		shown[uid] = shownBlocks(entry.MemoryBlocks)
	}
	return shown
}

// damaged returns a state file that is no longer what the kubelet wrote.
func damaged(r *rand.Rand, file []byte, gate bool) []byte {
	if oneIn(r, 20) {
		return file[:r.Intn(len(file))]
	}
	content := map[string]interface{}{}
	decoder := json.NewDecoder(strings.NewReader(string(file)))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		panic(err)
	}
	if !oneIn(r, 6) {
		delete(content, "checksum")
	}
	for i := 0; i < pick(r, 1, 1, 1, 2); i++ {
		damage(r, content)
	}
	result := []byte(text(content))
	if oneIn(r, 2) {
		if good := inOrder(result, gate); good != nil {
			return good
		}
	}
	return result
}

func anyOf(r *rand.Rand, value interface{}) (string, map[string]interface{}) {
	of, _ := value.(map[string]interface{})
	keys := sortedKeys(of)
	if len(keys) == 0 {
		return "", nil
	}
	return keys[r.Intn(len(keys))], of
}

func moved(r *rand.Rand, value interface{}) json.Number {
	number, _ := value.(json.Number)
	amount, _ := number.Int64()
	return json.Number(fmt.Sprint(amount + pick(r, int64(1), -1, 4096, 1<<21, -1<<21, 1<<30)))
}

func damage(r *rand.Rand, content map[string]interface{}) {
	id, nodes := anyOf(r, content["machineState"])
	if nodes == nil {
		return
	}
	node, _ := nodes[id].(map[string]interface{})
	if node == nil {
		return
	}
	name, tables := anyOf(r, node["memoryMap"])
	table, _ := tables[name].(map[string]interface{})
	uid, pods := anyOf(r, content["entries"])
	container, containers := anyOf(r, pods[uid])
	blocks, _ := containers[container].([]interface{})
	choice := r.Intn(16)
	if len(blocks) > 0 && choice >= 12 {
		block, _ := blocks[r.Intn(len(blocks))].(map[string]interface{})
		switch choice {
		case 12:
			block["size"] = moved(r, block["size"])
		case 13:
			block["numaAffinity"] = []int{r.Intn(3), r.Intn(9)}
		case 14:
			block["type"] = pick(r, "hugepages-2Mi", "memory", "hugepages-1Gi")
		case 15:
			containers[container] = append(blocks, block)
		}
		return
	}
	switch choice {
	case 0, 1:
		field := pick(r, "free", "reserved", "total", "allocatable", "systemReserved")
		if table != nil {
			table[field] = moved(r, table[field])
		}
	case 2:
		node["numberOfAssignments"] = moved(r, node["numberOfAssignments"])
	case 3:
		node["cells"] = pick(r, []int{}, []int{0, 1}, []int{1, 0}, []int{1}, []int{0, 0})
	case 4:
		if oneIn(r, 2) {
			nodes[pick(r, "1", "7", "9")] = node
		}
		delete(nodes, id)
	case 5:
		if oneIn(r, 2) && table != nil {
			tables[pick(r, "hugepages-64Ki", "memory", "hugepages-1Gi")] = table
		}
		delete(tables, name)
	case 6:
		delete(content, "entries")
	case 7:
		delete(content, "machineState")
	case 8:
		content["policyName"] = pick(r, "", "None", "static")
	case 9:
		if oneIn(r, 3) {
			nodes[id] = nil
		} else {
			tables[name] = nil
		}
	case 10:
		delete(pods, uid)
	case 11, 12:
		content["podEntries"] = object{pick(r, uid, "other"): object{"memoryBlocks": []object{
			{"numaAffinity": []int{0}, "type": "memory", "size": 4096},
		}}}
	case 13:
		// A part of what is free moves to another node.
		other, _ := anyOf(r, nodes)
		of, _ := nodes[other].(map[string]interface{})
		_, more := anyOf(r, of["memoryMap"])
		if there, _ := more[name].(map[string]interface{}); there != nil && table != nil {
			table["free"], there["free"] = there["free"], table["free"]
			table["reserved"], there["reserved"] = there["reserved"], table["reserved"]
		}
	default:
		content["unknown"] = 1
	}
}
