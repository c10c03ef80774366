package main

import (
	"fmt"
	"math/rand"
	"strings"

	"k8s.io/kubernetes/cmd/oracle/kube"
)

const (
	second = int64(1e9)
	minute = 60 * second
	day    = 24 * 60 * minute
)

var refusals = []string{
	"rpc error: code = DeadlineExceeded", "image is in use by container", "busy", "100% broken %d", "open /x: read-only file system",
}

// disk makes the images and the pods of a node: each image has one size and one name, times have an order.
type disk struct {
	*rand.Rand
	handlers       bool
	known, listed  []object
	containers     int
	minAge, maxAge int64
}

func newDisk(r *rand.Rand) *disk {
	d := &disk{Rand: r, handlers: kube.OneIn(r, 4)}
	d.minAge = kube.Pick(r, 0, 2*minute, 2*minute, 60*minute, 4*60*minute, r.Int63n(day))
	if kube.OneIn(r, 2) {
		d.maxAge = d.minAge + 1 + kube.Pick(r, minute, day, r.Int63n(4*day))
	}
	for count := 1 + r.Intn(9); count > 0; count-- {
		d.pulled()
	}
	return d
}

// pulled is one more image, sometimes one that another runtime handler has as well.
func (d *disk) pulled() {
	one := object{"id": fmt.Sprintf("sha256:%06x", d.Intn(1<<24)), "size_bytes": 1 + d.Int63n(kube.Pick(d.Rand, int64(1e3), 1e9, 2e10))}
	if d.handlers {
		if len(d.known) > 0 && kube.OneIn(d.Rand, 4) {
			one["id"] = d.known[d.Intn(len(d.known))]["id"]
		}
		if handler := kube.Pick(d.Rand, "", "runc", "kata"); handler != "" {
			one["runtime_handler"] = handler
		}
	}
	for _, other := range d.known {
		if other["id"] == one["id"] && other["runtime_handler"] == one["runtime_handler"] {
			return
		}
	}
	if kube.OneIn(d.Rand, 8) {
		one["pinned"] = true
	}
	d.known = append(d.known, one)
	d.listed = append(d.listed, one)
}

func (d *disk) policy() object {
	high := kube.Pick(d.Rand, 85, 85, 1+d.Intn(100), 50+d.Intn(51))
	return object{
		"high_threshold_percent": high, "low_threshold_percent": kube.Pick(d.Rand, d.Intn(high), max(0, high-5)),
		"min_age_nanoseconds": d.minAge, "max_age_nanoseconds": d.maxAge,
	}
}

// age is some time before now, often one at the edge of an age of the policy.
func (d *disk) age(least, most int64) int64 {
	edge := kube.Pick(d.Rand, d.minAge, d.maxAge) + kube.Pick[int64](d.Rand, -1, 0, 1)
	if kube.OneIn(d.Rand, 3) && edge >= least && edge <= most {
		return edge
	}
	return least + d.Int63n(most-least+1)
}

func (d *disk) pods() []object {
	pods := []object{}
	for count := d.Intn(4); count > 0; count-- {
		containers := []object{}
		for inside := 1 + d.Intn(2); inside > 0; inside-- {
			of := d.known[d.Intn(len(d.known))]
			one := object{"id": fmt.Sprintf("c%d", d.containers), "image_id": of["id"]}
			one["state"] = kube.Pick(d.Rand, "running", "running", "exited", "created", "unknown")
			if handler, ok := of["runtime_handler"]; ok && d.Intn(4) > 0 {
				one["image_runtime_handler"] = handler
			}
			if kube.OneIn(d.Rand, 6) {
				one["image_volume_image_ids"] = []any{d.known[d.Intn(len(d.known))]["id"]}
			}
			d.containers++
			containers = append(containers, one)
		}
		pods = append(pods, object{"uid": fmt.Sprintf("u%d", d.containers), "containers": containers})
	}
	return pods
}

func (d *disk) fs() object {
	capacity := 1 + d.Int63n(kube.Pick(d.Rand, int64(1e4), 1e10, 1e12))
	available := kube.Pick(d.Rand, d.Int63n(capacity+1), capacity/10, capacity*15/100)
	switch d.Intn(40) {
	case 0:
		return object{"capacity_bytes": 0, "available_bytes": 0}
	case 1:
		return object{"capacity_bytes": capacity, "available_bytes": capacity + 1 + d.Int63n(1000)}
	case 2:
		return object{"capacity_bytes": capacity}
	}
	return object{"capacity_bytes": capacity, "available_bytes": available}
}

// failures lets the removal of some images fail, and sometimes another call.
func (d *disk) failures(step object) {
	if kube.OneIn(d.Rand, 5) {
		errors := object{}
		for count := 1 + d.Intn(3); count > 0; count-- {
			of := d.known[d.Intn(len(d.known))]
			key := fmt.Sprint(of["id"])
			if handler, ok := of["runtime_handler"]; ok {
				key += fmt.Sprint(",", handler)
			}
			errors[key] = kube.Pick(d.Rand, refusals...)
		}
		step["remove_image_errors"] = errors
	}
	switch d.Intn(40) {
	case 0:
		step["list_images_error"] = "rpc error: code = Unavailable"
	case 1:
		step["list_pods_error"] = "rpc error: code = Unknown"
	case 2:
		step["image_fs_error"] = "rpc error: code = Unimplemented"
	}
}

// remaining takes out images that are gone, and adds new ones.
func (d *disk) remaining() []object {
	if kube.OneIn(d.Rand, 3) {
		d.pulled()
	}
	list := []object{}
	for _, one := range d.listed {
		if !kube.OneIn(d.Rand, 12) {
			list = append(list, one)
		}
	}
	d.listed = list
	return list
}

func (d *disk) input(records []object, began int64, steps []object) object {
	in := object{"op": "image_gc", "policy": d.policy(), "began_gc_nanoseconds": began, "steps": steps}
	if records != nil {
		in["records"] = records
	}
	if d.handlers {
		in["feature_gates"] = object{"RuntimeClassInImageCriApi": true}
	}
	return in
}

// oneCollection is a kubelet that has run for a time, and collects once.
func oneCollection(r *rand.Rand) any {
	d := newDisk(r)
	switch r.Intn(16) {
	case 0:
		return object{"op": "format_size", "size_bytes": r.Int63n(kube.Pick(r, int64(2048), 1<<21, 1<<31, 1<<42, 1<<62))}
	case 1:
		policy := d.policy()
		if kube.OneIn(r, 2) {
			policy["high_threshold_percent"], policy["low_threshold_percent"] = r.Intn(110)-5, r.Intn(110)-5
		}
		return object{"op": "validate_policy", "policy": policy}
	}
	began := d.age(0, kube.Pick(r, day, 7*day))
	records := []object{}
	for _, one := range d.known {
		if kube.OneIn(r, 8) {
			continue
		}
		seen := d.age(0, began)
		record := object{"image_id": one["id"], "first_detected_nanoseconds": -seen, "last_used_nanoseconds": nil}
		if r.Intn(3) > 0 {
			record["last_used_nanoseconds"] = -d.age(0, seen)
		}
		if handler, ok := one["runtime_handler"]; ok {
			record["runtime_handler"] = handler
		}
		records = append(records, record)
	}
	step := object{
		"action":         kube.Pick(r, "garbage_collect", "garbage_collect", "garbage_collect", "delete_unused_images", "detect_images"),
		"at_nanoseconds": 0, "images": d.remaining(), "pods": d.pods(), "image_fs": d.fs(),
	}
	d.failures(step)
	return d.input(records, -began, []object{step})
}

// cycles is a kubelet from its start on.
func cycles(r *rand.Rand) any {
	d := newDisk(r)
	steps, now := []object{}, int64(0)
	for count := 2 + r.Intn(7); count > 0; count-- {
		step := object{
			"action":         kube.Pick(r, "detect_images", "garbage_collect", "garbage_collect", "delete_unused_images"),
			"at_nanoseconds": now, "images": d.remaining(),
		}
		if len(steps) == 0 || kube.OneIn(r, 2) {
			step["pods"] = d.pods()
		}
		if step["action"] == "garbage_collect" {
			step["image_fs"] = d.fs()
		}
		d.failures(step)
		steps = append(steps, step)
		now += kube.Pick(r, 5*minute, minute, d.age(1, day), d.minAge+1, d.maxAge+1)
	}
	return d.input(nil, 0, steps)
}

// tied is true if it matters in which order equal images are taken: that of a hash map.
func tied(answer object) bool {
	steps, _ := answer["steps"].([]object)
	for _, step := range steps {
		equal, last := map[string][]string{}, ""
		considered, _ := step["considered"].([]object)
		for _, one := range considered {
			key := fmt.Sprint(one["last_used_nanoseconds"], one["first_detected_nanoseconds"])
			equal[key] = append(equal[key], fmt.Sprint(one["age_pass"], one["space_pass"]))
			if one["space_pass"] == "removed" {
				last = key
			}
		}
		for key, treated := range equal {
			for _, how := range treated[1:] {
				if how != treated[0] || key == last || strings.Contains(how, "failed") {
					return true
				}
			}
		}
	}
	return false
}

// deadContainers is the runtime of a node, with what pods left behind.
func deadContainers(r *rand.Rand) any {
	least := kube.Pick(r, 0, minute, 60*minute)
	in := object{
		"op": kube.Pick(r, "garbage_collect", "garbage_collect", "garbage_collect", "delete_all_unused_containers"),
		"policy": object{
			"min_age_nanoseconds": least, "max_per_pod_container": r.Intn(5) - 1, "max_containers": r.Intn(9) - 1,
		},
		"all_sources_ready": !kube.OneIn(r, 6),
	}
	pods, directories := object{}, []string{}
	containers, sandboxes, ids, sandboxIDs := []object{}, []object{}, []string{}, []string{}
	times := map[int64]bool{}
	// Two things are not made at once: the kubelet would take them in the order of a hash map.
	before := func(most int64) int64 {
		for {
			at := r.Int63n(most)
			if kube.OneIn(r, 6) {
				at = max(0, least+kube.Pick[int64](r, -1, 0, 1))
			}
			if !times[at] {
				times[at] = true
				return -at
			}
			most += minute
		}
	}
	for at := 0; at < 1+r.Intn(4); at++ {
		uid := fmt.Sprintf("uid-%d", at)
		if kube.OneIn(r, 2) {
			removed := kube.OneIn(r, 2)
			pods[uid] = object{"runtime_should_be_removed": removed || kube.OneIn(r, 4), "content_should_be_removed": removed}
		}
		directories = append(directories, kube.Pick(r, "ns_pod_"+uid, "ns_pod-"+uid+"_"+uid, "odd", "ns_p_x_"+uid))
		own := []string{}
		for number := r.Intn(4); number > 0; number-- {
			id := fmt.Sprintf("sb-%s-%d", uid, number)
			own = append(own, id)
			sandboxes = append(sandboxes, object{
				"id": id, "pod_uid": uid, "attempt": len(own), "created_at_nanoseconds": before(2 * day),
				"state": kube.Pick(r, "SANDBOX_READY", "SANDBOX_NOTREADY", "SANDBOX_NOTREADY"),
			})
		}
		sandboxIDs = append(sandboxIDs, own...)
		for name := r.Intn(3); name >= 0; name-- {
			for attempt := r.Intn(5); attempt > 0; attempt-- {
				one := object{
					"id": fmt.Sprintf("%s.c%d.%d", uid, name, attempt), "pod_uid": uid, "name": fmt.Sprintf("c%d", name),
					"attempt": attempt, "created_at_nanoseconds": before(2 * day), "sandbox_id": "sb-gone",
					"state": kube.Pick(r, "CONTAINER_EXITED", "CONTAINER_EXITED", "CONTAINER_EXITED", "CONTAINER_RUNNING",
						"CONTAINER_CREATED", "CONTAINER_UNKNOWN"),
				}
				if len(own) > 0 && !kube.OneIn(r, 5) {
					one["sandbox_id"] = own[r.Intn(len(own))]
				}
				if kube.OneIn(r, 3) {
					one["pod_termination_grace_period_seconds"] = kube.Pick(r, 0, 1, 2, 30, 600)
				}
				if kube.OneIn(r, 5) {
					one["pod_deletion_grace_period_seconds"] = kube.Pick(r, 0, 1, 2, 30, 600)
				}
				ids = append(ids, fmt.Sprint(one["id"]))
				containers = append(containers, one)
			}
		}
	}
	r.Shuffle(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
	in["containers"], in["sandboxes"], in["pods"], in["pod_log_directories"] = containers, sandboxes, pods, directories
	errors := object{}
	some := func(call string, of []string) {
		if len(of) > 0 && kube.OneIn(r, 8) {
			errors[call] = object{of[r.Intn(len(of))]: kube.Pick(r, refusals...)}
		}
	}
	some("container_status", ids)
	some("stop_container", ids)
	some("remove_container", ids)
	some("stop_pod_sandbox", sandboxIDs)
	some("remove_pod_sandbox", sandboxIDs)
	some("remove_pod_logs_directory", directories)
	some("list_containers_on_call", []string{"1", "2"})
	if kube.OneIn(r, 20) {
		errors["list_pod_sandboxes"] = "rpc error"
	}
	if kube.OneIn(r, 20) {
		errors["read_pod_logs_directory"] = "open /var/log/pods: permission denied"
	}
	if len(errors) > 0 {
		in["errors"] = errors
	}
	return in
}
