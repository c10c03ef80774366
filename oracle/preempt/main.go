// Program preempt answers for the admission of a pod by the kubelet's predicates, and for the pods that a critical pod preempts.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	podresource "k8s.io/kubernetes/pkg/api/v1/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
)

type object = vector.Object

func main() {
	vector.Main(map[string]vector.Family{
		"admission":     {Answer: vector.Of(admission)},
		"preempt":       {Answer: vector.Of(preempt), Partial: true},
		"preempt_admit": {Answer: vector.Of(preemptAdmit)},
		"preempt_units": {Answer: vector.Of(units)},
	})
}

type requirement struct {
	Resource string
	Quantity int64
}

type in struct {
	Op              string
	Gates           map[string]bool `json:"feature_gates"`
	Pod, Pod1, Pod2 *v1.Pod
	Pods            []*v1.Pod
	Preemptor       *v1.Pod
	Requirements    []requirement
	AdmitPod        *v1.Pod           `json:"admit_pod"`
	Reasons         []reason          `json:"failure_reasons"`
	KillErrors      map[string]string `json:"kill_errors"`
	OtherPods       []*v1.Pod         `json:"other_pods"`
	Node            *v1.Node
	FreshNode       *v1.Node `json:"fresh_node"`
	CachedError     string   `json:"cached_node_error"`
	FreshError      string   `json:"fresh_node_error"`
	PluginError     string   `json:"plugin_resource_update_error"`
}

type reason struct {
	Kind, Resource            string
	Requested, Used, Capacity int64
	PredicateName             string `json:"predicate_name"`
	Reason                    string
}

func required(list []requirement) preemption.OracleRequirements {
	var result preemption.OracleRequirements
	for _, one := range list {
		result = append(result, preemption.OracleRequirement(one.Resource, one.Quantity))
	}
	return result
}

func shown(list preemption.OracleRequirements) []object {
	result := []object{}
	preemption.OracleEach(list, func(name string, quantity int64) {
		result = append(result, object{"resource": name, "quantity": quantity})
	})
	return result
}

func bits(number float64) string { return fmt.Sprintf("0x%016x", math.Float64bits(number)) }

func names(pods []*v1.Pod) []string {
	result := []string{}
	for _, pod := range pods {
		result = append(result, pod.Name)
	}
	return result
}

func units(in in) any {
	kube.Gates(in.Gates)
	switch in.Op {
	case "distance":
		list := required(in.Requirements)
		distance, left := preemption.OracleDistance(list, in.Pod), preemption.OracleSubtract(list, in.Pod)
		return object{
			"distance": distance, "distance_bits": bits(distance),
			"remaining": shown(left), "remaining_text": preemption.OracleText(left),
		}
	case "smaller_resource_request":
		return object{"pod1_is_smaller_or_equal": preemption.OracleSmaller(in.Pod1, in.Pod2)}
	}
	requests := object{}
	for _, name := range []v1.ResourceName{
		"cpu", "memory", "ephemeral-storage", "storage", "pods", "hugepages-2Mi", "example.com/foo", "nvidia.com/gpu",
	} {
		requests[string(name)] = podresource.GetResourceRequest(in.Pod, name)
	}
	return object{
		"requests": requests, "qos_class": v1qos.GetPodQOS(in.Pod), "computed_qos_class": v1qos.ComputePodQOS(in.Pod),
	}
}

func preempt(in in) any {
	kube.Gates(in.Gates)
	list := required(in.Requirements)
	least, middle, most := preemption.OracleByQOS(in.Preemptor, in.Pods)
	kept := []string{}
	for _, pod := range in.Pods {
		if !contains(least, pod) && !contains(middle, pod) && !contains(most, pod) {
			kept = append(kept, pod.Name)
		}
	}
	join := func(a, b []*v1.Pod) []*v1.Pod { return append(append([]*v1.Pod{}, a...), b...) }
	left := preemption.OracleSubtract(list, join(join(least, middle), most)...)
	detail := object{
		"not_preemptable": kept, "preemptable_best_effort": names(least), "preemptable_burstable": names(middle),
		"preemptable_guaranteed": names(most), "requirements_left_if_all_are_preempted": shown(left),
	}
	victims, err := preemption.OracleVictims(in.Preemptor, in.Pods, list)
	if err != nil {
		return object{"error": err.Error(), "detail": detail}
	}
	stages := []object{}
	stage := func(class v1.PodQOSClass, pods []*v1.Pod, needed preemption.OracleRequirements) []*v1.Pod {
		rounds, start := []object{}, shown(needed)
		chosen, err := preemption.OracleByDistance(append([]*v1.Pod{}, pods...), needed)
		if err != nil {
			panic(err)
		}
		for _, pod := range chosen {
			distance, before := preemption.OracleDistance(needed, pod), shown(needed)
			needed = preemption.OracleSubtract(needed, pod)
			rounds = append(rounds, object{
				"requirements": before, "chosen": pod.Name, "chosen_distance": distance,
				"chosen_distance_bits": bits(distance), "remaining": shown(needed),
			})
		}
		stages = append(stages, object{"qos_class": class, "requirements": start, "rounds": rounds})
		return chosen
	}
	mostChosen := stage(v1.PodQOSGuaranteed, most, preemption.OracleSubtract(list, join(least, middle)...))
	middleChosen := stage(v1.PodQOSBurstable, middle, preemption.OracleSubtract(list, join(least, mostChosen)...))
	stage(v1.PodQOSBestEffort, least, preemption.OracleSubtract(list, join(middleChosen, mostChosen)...))
	detail["stages"] = stages
	return object{"victims": names(victims), "detail": detail}
}

func contains(pods []*v1.Pod, pod *v1.Pod) bool {
	for _, one := range pods {
		if one == pod {
			return true
		}
	}
	return false
}

// killer stands for the rest of the kubelet: it notes the events and the pods that are killed.
type killer struct {
	record.EventRecorder
	events, kills []object
	errors        map[string]string
}

func (k *killer) Eventf(of runtimeObject, kind, reason, format string, values ...interface{}) {
	k.events = append(k.events, object{
		"pod": of.(*v1.Pod).Name, "type": kind, "reason": reason, "message": fmt.Sprintf(format, values...),
	})
}

func (k *killer) kill(pod *v1.Pod, evicted bool, grace *int64, change func(*v1.PodStatus)) error {
	status, time := kube.Written(pod, change)
	shown := object{
		"pod": pod.Name, "is_evicted": evicted, "grace_period_override_seconds": grace,
		"status_written": status, "disruption_target_last_transition_time": time,
	}
	text, failed := k.errors[pod.Name]
	if failed {
		shown["kill_error"] = text
	}
	k.kills = append(k.kills, shown)
	if failed {
		return errors.New(text)
	}
	return nil
}

func preemptAdmit(in in) any {
	kube.Gates(in.Gates)
	kills := &killer{events: []object{}, kills: []object{}, errors: in.KillErrors}
	handler := preemption.NewCriticalPodAdmissionHandler(func() []*v1.Pod { return in.Pods }, kills.kill, kills)
	if in.Op == "admit_with_preemption" {
		node := func(context.Context, bool) (*v1.Node, error) { return in.Node, nil }
		admitted := lifecycle.NewPredicateAdmitHandler(node, handler, noUpdate).Admit(
			&lifecycle.PodAdmitAttributes{Pod: in.Pod, OtherPods: in.Pods})
		victims := []string{}
		for _, one := range kills.kills {
			victims = append(victims, one["pod"].(string))
		}
		return object{
			"admit": admitted.Admit, "reason": admitted.Reason, "message": admitted.Message, "victims": victims,
		}
	}
	var reasons []lifecycle.PredicateFailureReason
	for _, one := range in.Reasons {
		if one.Kind == "predicate" {
			reasons = append(reasons, &lifecycle.PredicateFailureError{PredicateName: one.PredicateName, PredicateDesc: one.Reason})
			continue
		}
		reasons = append(reasons, &lifecycle.InsufficientResourceError{
			ResourceName: v1.ResourceName(one.Resource), Requested: one.Requested, Used: one.Used, Capacity: one.Capacity,
		})
	}
	returned, err := handler.HandleAdmissionFailure(context.Background(), in.AdmitPod, reasons)
	list := []object{}
	for _, one := range returned {
		list = append(list, given(one))
	}
	out := object{"returned_reasons": list, "kills": kills.kills, "events": kills.events}
	if err != nil {
		out["error"] = err.Error()
	}
	return out
}

func given(one lifecycle.PredicateFailureReason) object {
	switch one := one.(type) {
	case *lifecycle.InsufficientResourceError:
		return object{
			"kind": "insufficient_resource", "resource": one.ResourceName,
			"requested": one.Requested, "used": one.Used, "capacity": one.Capacity,
		}
	case *lifecycle.PredicateFailureError:
		return object{"kind": "predicate", "predicate_name": one.PredicateName, "reason": one.GetReason()}
	}
	panic(vector.Skip("unknown kind of failure"))
}

// listing is the failure handler that changes nothing, and notes the failures.
type listing struct {
	reasons []lifecycle.PredicateFailureReason
}

func (l *listing) HandleAdmissionFailure(
	_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason,
) ([]lifecycle.PredicateFailureReason, error) {
	l.reasons = reasons
	return reasons, nil
}

func admission(in in) any {
	kube.Gates(in.Gates)
	fetches := map[bool]int{}
	node := func(_ context.Context, cached bool) (*v1.Node, error) {
		fetches[cached]++
		text, fresh := in.FreshError, in.FreshNode
		if cached {
			text, fresh = in.CachedError, nil
		}
		if text != "" {
			return nil, errors.New(text)
		}
		if fresh == nil {
			fresh = in.Node
		}
		return fresh, nil
	}
	out := object{}
	var seen *nodeInfo
	update := func(info *nodeInfo, _ *lifecycle.PodAdmitAttributes) error {
		seen = info
		out["node_used"] = amounts(info.Requested, len(info.Pods))
		left := lifecycle.OracleRemoveMissing(in.Pod, info)
		out["requests_removed_before_fit"] = removed(in.Pod, left)
		left.Status = v1.PodStatus{}
		out["pod_requested"] = amounts(newNodeInfo(left).Requested, -1)
		if in.PluginError != "" {
			return errors.New(in.PluginError)
		}
		return nil
	}
	failures := &listing{}
	admitted := lifecycle.NewPredicateAdmitHandler(node, failures, update).Admit(
		&lifecycle.PodAdmitAttributes{Pod: in.Pod, OtherPods: in.OtherPods})
	if seen != nil {
		out["node_allocatable"] = amounts(seen.Allocatable, seen.Allocatable.AllowedPodNumber)
	}
	out["cached_node_fetches"], out["fresh_node_fetches"] = fetches[true], fetches[false]
	out["admit"] = admitted.Admit
	list, from, to := []object{}, -1, 0
	for at, one := range failures.reasons {
		shown := given(one)
		shown["reason"] = one.GetReason()
		shown["message"] = one.(error).Error()
		if failed, ok := one.(*lifecycle.InsufficientResourceError); ok {
			shown["insufficient_amount"] = failed.GetInsufficientAmount()
			switch failed.ResourceName {
			case v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
			default:
				if from < 0 {
					from = at
				}
				to = at + 1
			}
		}
		list = append(list, shown)
	}
	// The order of these follows a hash map.
	if from >= 0 && to > from+1 {
		part := list[from:to]
		sort.Slice(part, func(i, j int) bool { return fmt.Sprint(part[i]["resource"]) < fmt.Sprint(part[j]["resource"]) })
		out["failure_reasons_unordered_range"] = []int{from, to}
	}
	out["failure_reasons"] = list
	if from == 0 && to > 1 {
		either := []object{}
		for _, one := range list[:to] {
			either = append(either, object{"reason": fmt.Sprint("OutOf", one["resource"]), "message": one["message"]})
		}
		out["one_of"] = either
		return out
	}
	out["reason"], out["message"] = admitted.Reason, admitted.Message
	return out
}

func removed(before, after *v1.Pod) []object {
	list := []object{}
	compare := func(kind string, before, after []v1.Container) {
		for at, one := range before {
			for _, name := range vector.Keys(kube.List(one.Resources.Requests)) {
				if _, ok := after[at].Resources.Requests[v1.ResourceName(name)]; !ok {
					list = append(list, object{"container_kind": kind, "container": one.Name, "resource": name})
				}
			}
		}
	}
	compare("container", before.Spec.Containers, after.Spec.Containers)
	compare("init_container", before.Spec.InitContainers, after.Spec.InitContainers)
	return list
}
