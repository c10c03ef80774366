package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"

	"k8s.io/kubernetes/cmd/oracle/kube"
)

// randomAllocation is a node with one or two kinds of devices, some of them in the hands of other pods, and a pod that wants some.
func randomAllocation(r *rand.Rand) any {
	resources, names := object{}, []string{"example.com/dev"}
	if kube.OneIn(r, 3) {
		names = append(names, "example.com/other")
	}
	entries, active, nodes := []object{}, []string{"pod-a"}, 1+r.Intn(3)
	for at, name := range names {
		devices, free := []object{}, []string{}
		shape, count := r.Intn(4), 1+r.Intn(6)
		for id := 0; id < count; id++ {
			device := object{"id": fmt.Sprintf("d%d", id), "health": "Healthy", "numa_nodes": nil}
			if kube.OneIn(r, 8) {
				device["health"] = "Unhealthy"
			}
			switch shape {
			case 1:
				device["numa_nodes"] = []int{id % nodes}
			case 2:
				device["numa_nodes"] = []int{}
			case 3:
				device["numa_nodes"] = kube.Pick(r, []int{r.Intn(nodes)}, []int{0, nodes - 1}, []int{})
			}
			devices = append(devices, device)
			free = append(free, fmt.Sprintf("d%d", id))
		}
		r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		take := func(uid, container string) {
			most := r.Intn(3) + 1
			ids := free[:min(most, len(free))]
			free = free[len(ids):]
			if len(ids) > 0 {
				node := kube.Pick(r, "-1", "0")
				entries = append(entries, object{
					"pod_uid": uid, "container_name": container, "resource_name": name, "device_ids_by_numa_node": object{node: ids},
				})
			}
		}
		for other := r.Intn(3); other > 0; other-- {
			uid := fmt.Sprintf("other-%d-%d", at, other)
			take(uid, "c")
			if r.Intn(3) > 0 {
				active = append(active, uid)
			}
		}
		if kube.OneIn(r, 6) {
			take("pod-a", kube.Pick(r, "c0", "i0"))
		}
		endpoint := object{"get_preferred_allocation_available": kube.OneIn(r, 2)}
		if endpoint["get_preferred_allocation_available"] == true && r.Intn(4) > 0 {
			preferred := []string{}
			for want := 1 + r.Intn(3); want > 0; want-- {
				preferred = append(preferred, fmt.Sprintf("d%d", r.Intn(count)))
			}
			if kube.OneIn(r, 8) {
				endpoint["preferred_allocation_error"] = "rpc error: code = Unknown desc = no"
			} else {
				endpoint["preferred_allocation_returns"] = preferred
			}
		}
		switch r.Intn(20) {
		case 0:
			endpoint["allocate_error"] = "rpc error: code = Unknown desc = broken"
		case 1:
			endpoint["stopped"] = true
		case 2:
			endpoint["allocate_returns_no_container_response"] = true
		}
		resources[name] = object{"registered": !kube.OneIn(r, 20), "endpoint": endpoint, "devices": devices}
	}
	affinity := object{}
	container := func(name string) object {
		amounts := object{"cpu": "1"}
		for _, resource := range names {
			if r.Intn(4) > 0 {
				amounts[resource] = strconv.Itoa(r.Intn(4))
			}
		}
		if kube.OneIn(r, 2) {
			affinity[name] = kube.Pick(r, []int{r.Intn(nodes)}, []int{0, nodes - 1}, []int{0})
		}
		return object{"name": name, "resources": object{"limits": amounts, "requests": amounts}}
	}
	spec, containers, init := object{}, []object{container("c0")}, []object{}
	if kube.OneIn(r, 4) {
		containers = append(containers, container("c1"))
	}
	if kube.OneIn(r, 4) {
		init = append(init, container("i0"))
	}
	if kube.OneIn(r, 6) {
		sidecar := container("s0")
		sidecar["restartPolicy"] = "Always"
		init = append(init, sidecar)
	}
	if len(init) > 0 {
		spec["initContainers"] = init
	}
	spec["containers"] = containers
	in := object{
		"resources": resources, "pod_devices": entries, "active_pod_uids": active, "sources_ready": !kube.OneIn(r, 8),
		"pod": object{
			"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": "pod-pod-a", "namespace": "default", "uid": "pod-a"},
			"spec": spec, "status": object{},
		},
	}
	if kube.OneIn(r, 2) {
		in["topology_affinity_numa_nodes"] = affinity
	}
	if kube.OneIn(r, 8) {
		in["containers_seen_at_kubelet_start"] = []object{{
			"pod_uid": "pod-a", "container_name": "c0", "container_id": "id-0", "running": kube.OneIn(r, 2),
		}}
	}
	return in
}

func word(r *rand.Rand, letters string, most int) string {
	text := &strings.Builder{}
	for count := r.Intn(most + 1); count > 0; count-- {
		text.WriteByte(letters[r.Intn(len(letters))])
	}
	return text.String()
}

// randomPlugin is a plugin that registers, mostly with a name that is almost right.
func randomPlugin(r *rand.Rand) any {
	domain := kube.Pick(r, "example.com", "nvidia.com", "a", "kubernetes.io", "x.kubernetes.io", word(r, "ab9.-", 12), word(r, "aB_.", 70))
	name := kube.Pick(r, "gpu", "a", word(r, "ab9", 9), word(r, "abZ9_.-", 12), word(r, "ab", 70), "", word(r, "a é/", 5))
	resource := kube.Pick(r, domain+"/"+name, domain+"/"+name, domain+"/"+name, domain, "requests."+domain+"/"+name, "hugepages-"+name)
	if kube.OneIn(r, 4) {
		versions := []string{"v1beta1", "v1alpha1", "v1"}
		r.Shuffle(len(versions), func(i, j int) { versions[i], versions[j] = versions[j], versions[i] })
		return object{"path": "ValidatePlugin", "resource_name": resource, "versions": versions[:r.Intn(4)]}
	}
	return object{"path": "Register", "resource_name": resource, "version": kube.Pick(r, "v1beta1", "v1beta1", "v1beta1", "v1alpha1", "")}
}
