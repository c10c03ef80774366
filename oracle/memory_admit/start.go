package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// inOrder returns the content of a state file with the blocks in an order that does not follow a map, and the checksum of it;
// nil where the kubelet would not read it.
func inOrder(file []byte, gate bool) []byte {
	sorted := func(entries state.ContainerMemoryAssignments) {
		for _, containers := range entries {
			for name, blocks := range containers {
				containers[name] = numa.Blocks(blocks)
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
		content.PodEntries[uid] = state.PodEntry{MemoryBlocks: numa.Blocks(entry.MemoryBlocks)}
	}
	result, _ := content.MarshalCheckpoint()
	return result
}

// startInput returns the input of a start with the file that is in dir.
func startInput(c numa.Memory, dir string, gate bool) object {
	in := object{
		"policy": c.Policy, "machine": c.Machine, "node_allocatable_reservation": c.Reservation,
		"reserved_memory": c.Reserved, "state_file": nil,
	}
	if file, err := os.ReadFile(filepath.Join(dir, numa.StateFile)); err == nil {
		in["state_file"] = string(file)
	}
	if gate {
		in["feature_gates"] = object{"PodLevelResourceManagers": true}
	}
	return in
}

// damaged returns a state file that is no longer what the kubelet wrote.
func damaged(r *rand.Rand, file []byte, gate bool) []byte {
	if kube.OneIn(r, 20) {
		return file[:r.Intn(len(file))]
	}
	content := map[string]interface{}{}
	decoder := json.NewDecoder(strings.NewReader(string(file)))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		panic(err)
	}
	if !kube.OneIn(r, 6) {
		delete(content, "checksum")
	}
	for i := 0; i < kube.Pick(r, 1, 1, 1, 2); i++ {
		damage(r, content)
	}
	result := []byte(vector.Text(content))
	if kube.OneIn(r, 2) {
		if good := inOrder(result, gate); good != nil {
			return good
		}
	}
	return result
}

func anyOf(r *rand.Rand, value interface{}) (string, map[string]interface{}) {
	of, _ := value.(map[string]interface{})
	keys := vector.Keys(of)
	if len(keys) == 0 {
		return "", nil
	}
	return keys[r.Intn(len(keys))], of
}

func moved(r *rand.Rand, value interface{}) json.Number {
	number, _ := value.(json.Number)
	amount, _ := number.Int64()
	return json.Number(fmt.Sprint(amount + kube.Pick(r, int64(1), -1, 4096, 1<<21, -1<<21, 1<<30)))
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
			block["type"] = kube.Pick(r, "hugepages-2Mi", "memory", "hugepages-1Gi")
		case 15:
			containers[container] = append(blocks, block)
		}
		return
	}
	switch choice {
	case 0, 1:
		field := kube.Pick(r, "free", "reserved", "total", "allocatable", "systemReserved")
		if table != nil {
			table[field] = moved(r, table[field])
		}
	case 2:
		node["numberOfAssignments"] = moved(r, node["numberOfAssignments"])
	case 3:
		node["cells"] = kube.Pick(r, []int{}, []int{0, 1}, []int{1, 0}, []int{1}, []int{0, 0})
	case 4:
		if kube.OneIn(r, 2) {
			nodes[kube.Pick(r, "1", "7", "9")] = node
		}
		delete(nodes, id)
	case 5:
		if kube.OneIn(r, 2) && table != nil {
			tables[kube.Pick(r, "hugepages-64Ki", "memory", "hugepages-1Gi")] = table
		}
		delete(tables, name)
	case 6:
		delete(content, "entries")
	case 7:
		delete(content, "machineState")
	case 8:
		content["policyName"] = kube.Pick(r, "", "None", "static")
	case 9:
		if kube.OneIn(r, 3) {
			nodes[id] = nil
		} else {
			tables[name] = nil
		}
	case 10:
		delete(pods, uid)
	case 11, 12:
		content["podEntries"] = object{kube.Pick(r, uid, "other"): object{"memoryBlocks": []object{
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
