package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// pod is a pod, and the JSON that it was read from.
type pod struct {
	raw json.RawMessage
	*v1.Pod
}

func (p pod) uid() string { return string(p.UID) }

func (p pod) containers() []v1.Container {
	return numa.Containers(p.Pod)
}

// demand makes amounts that are about as large as what the machine has.
type demand struct {
	r       *rand.Rand
	machine numa.MemoryMachine
	state   state.NUMANodeMap
}

func (d demand) free(name string) uint64 {
	node := d.state[d.machine.Nodes[d.r.Intn(len(d.machine.Nodes))].ID]
	if node == nil || node.MemoryMap[v1.ResourceName(name)] == nil {
		return 0
	}
	table := node.MemoryMap[v1.ResourceName(name)]
	if d.r.Intn(3) == 0 {
		return table.Allocatable
	}
	return table.Free
}

func (d demand) amount(name string, unit uint64) uint64 {
	r, base := d.r, d.free(name)
	var result uint64
	switch r.Intn(10) {
	case 0, 1, 2:
		result = uint64(1+r.Intn(16)) * 64 * mi
	case 3, 4:
		result = base / uint64(2+r.Intn(7))
	case 5:
		result = base
	case 6:
		result = base + unit
	case 7:
		result = base + base/uint64(1+r.Intn(4))
	case 8:
		result = base + d.free(name)
	case 9:
		result = base + d.free(name) + d.free(name) + d.free(name)
	}
	if result >= 1<<50 || result < unit {
		result = unit * uint64(1+r.Intn(64))
	}
	if !kube.OneIn(r, 30) {
		result -= result % unit
	}
	return result
}

func (d demand) memory() string {
	if kube.OneIn(d.r, 60) {
		return kube.Pick(d.r, "1500m", "1.5Gi", "1e9", "100M", "1e20", "0", "128974848000m", "9223372036854775807")
	}
	amount := d.amount("memory", kube.Pick(d.r, uint64(1), 4096, mi, mi))
	if amount%mi == 0 && kube.OneIn(d.r, 2) {
		return fmt.Sprintf("%dMi", amount/mi)
	}
	return strconv.FormatUint(amount, 10)
}

func (d demand) pages() map[string]string {
	result := map[string]string{}
	for _, pages := range d.machine.Nodes[0].HugePages {
		if kube.OneIn(d.r, 3) {
			name := pageName(pages.SizeKiB)
			result[name] = strconv.FormatUint(d.amount(name, pages.SizeKiB*1024), 10)
		}
	}
	if kube.OneIn(d.r, 150) {
		result[kube.Pick(d.r, "hugepages-2Mi", "hugepages-1Gi", "hugepages-64Ki")] = "1Gi"
	}
	return result
}

func (d demand) resources() object {
	requests := d.pages()
	requests["cpu"] = kube.Pick(d.r, "1", "2", "500m")
	requests["memory"] = d.memory()
	limits := map[string]string{}
	for name, amount := range requests {
		limits[name] = amount
	}
	return object{"requests": requests, "limits": limits}
}

func (d demand) container(name string) object {
	return object{"name": name, "resources": d.resources()}
}

// loosen makes a container one that is not guaranteed.
func loosen(r *rand.Rand, container object) {
	switch r.Intn(4) {
	case 0:
		container["resources"] = object{}
	case 1:
		delete(container["resources"].(object), "limits")
	case 2:
		delete(container["resources"].(object), "requests")
	case 3:
		if limits, ok := container["resources"].(object)["limits"].(map[string]string); ok {
			limits["cpu"] = "64"
		}
	}
}

func (d demand) pod(uid string, gate bool) pod {
	r := d.r
	init, app := []object{}, []object{}
	for i := 0; i < kube.Pick(r, 0, 0, 0, 1, 1, 2, 3); i++ {
		c := d.container(fmt.Sprintf("i%d", i))
		if kube.OneIn(r, 3) {
			c["restartPolicy"] = "Always"
		}
		init = append(init, c)
	}
	for i := 0; i < kube.Pick(r, 1, 1, 1, 2, 3); i++ {
		app = append(app, d.container(fmt.Sprintf("c%d", i)))
	}
	spec := object{"initContainers": init, "containers": app}
	one := func() object {
		if len(init) > 0 && kube.OneIn(r, 2) {
			return kube.Pick(r, init...)
		}
		return kube.Pick(r, app...)
	}
	if gate && !kube.OneIn(r, 4) || kube.OneIn(r, 20) {
		spec["resources"] = d.whole(append(append([]object{}, init...), app...))
		for i := 0; i < r.Intn(4); i++ {
			loosen(r, one())
		}
		if kube.OneIn(r, 8) {
			delete(spec["resources"].(object), kube.Pick(r, "limits", "requests"))
		}
	} else if kube.OneIn(r, 12) {
		loosen(r, one())
	}
	metadata := object{"name": uid, "namespace": "default", "uid": uid}
	raw := vector.Text(object{"metadata": metadata, "spec": spec, "status": object{}})
	result := pod{json.RawMessage(raw), &v1.Pod{}}
	if err := json.Unmarshal(result.raw, result.Pod); err != nil {
		panic(err)
	}
	return result
}

// whole makes the resources of a pod as a whole: what its containers have together, or more, or anything.
func (d demand) whole(containers []object) object {
	switch d.r.Intn(12) {
	case 0, 1, 2:
		return d.resources()
	case 3:
		odd := map[string]string{"cpu": "1", "memory": kube.Pick(d.r, "1500m", "1e20", "0", "1Gi")}
		if kube.OneIn(d.r, 2) {
			odd["hugepages-2Mi"] = kube.Pick(d.r, "0", "4Mi", "1e20")
		}
		return object{"requests": odd, "limits": odd}
	}
	sums := map[string]uint64{}
	for _, c := range containers {
		for name, amount := range c["resources"].(object)["requests"].(map[string]string) {
			parsed := kube.Quantity(amount)
			sums[name] += uint64(parsed.Value())
		}
	}
	amounts := map[string]string{}
	for _, name := range vector.Keys(sums) {
		if name != "cpu" && kube.OneIn(d.r, 2) {
			sums[name] += uint64(d.r.Intn(3)) * gi / 2
		}
		amounts[name] = strconv.FormatUint(sums[name]%(1<<62), 10)
	}
	return object{"requests": amounts, "limits": amounts}
}
