// Program eviction answers for eviction: thresholds, observations, ranking, messages, whole cycles of the eviction manager.
package main

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

type object = vector.Object

func main() {
	vector.Main(map[string]vector.Family{
		"eviction":      {Answer: vector.Of(answer), Runs: 40},
		"eviction_rank": {Answer: vector.Of(rank), Partial: true, Order: inTieOrder},
	})
}

type threshold struct {
	Signal, Value string
	MinReclaim    *string       `json:"min_reclaim"`
	Grace         time.Duration `json:"grace_period_nanoseconds"`
}

type observations = map[string]eviction.OracleObservation

type in struct {
	Op              string
	Gates           map[string]bool   `json:"feature_gates"`
	Hard            map[string]string `json:"eviction_hard"`
	Soft            map[string]string `json:"eviction_soft"`
	SoftGrace       map[string]string `json:"eviction_soft_grace_period"`
	Reclaim         map[string]string `json:"eviction_minimum_reclaim"`
	Enforce         []string          `json:"enforce_node_allocatable"`
	Thresholds      []threshold
	Dedicated       bool `json:"dedicated_image_fs"`
	Split           bool `json:"split_container_image_fs"`
	Observations    observations
	EnforceReclaim  bool `json:"enforce_minimum_reclaim"`
	Summary         *statsapi.Summary
	Pod             *v1.Pod
	Pods            []*v1.Pod
	Stats           []statsapi.PodStats `json:"pod_stats"`
	Grace           int64               `json:"grace_period_override_seconds"`
	Message, Signal string
	Resource        string
	Conditions      []v1.NodeConditionType `json:"node_conditions"`
	KillError       string                 `json:"kill_error"`
	Transition      int64                  `json:"pressure_transition_period_seconds"`
	MaxGrace        int64                  `json:"max_pod_grace_period_seconds"`
	Isolation       bool                   `json:"local_storage_capacity_isolation"`
	Steps           []step
}

type step struct {
	At      int64 `json:"at_seconds"`
	Pods    []*v1.Pod
	Summary *statsapi.Summary
	After   *statsapi.Summary `json:"summary_after_reclaim"`
}

var signals = []string{
	"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
	"imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available",
}

func answer(in in) any {
	kube.Gates(in.Gates)
	switch in.Op {
	case "parse_thresholds":
		list, err := eviction.OracleParse(in.Enforce, in.Hard, in.Soft, in.SoftGrace, in.Reclaim)
		if err != nil {
			return object{"error": err.Error()}
		}
		return object{"thresholds": shown(list)}
	case "container_fs_thresholds":
		list, err := eviction.UpdateContainerFsThresholds(given(in.Thresholds), in.Dedicated, in.Split)
		out := object{"thresholds": shown(list), "warning": nil}
		if err != nil {
			out["warning"] = err.Error()
		}
		return out
	case "reclaim_functions":
		return object{"functions_by_signal": eviction.OracleReclaim(in.Dedicated, in.Split, signals)}
	case "signal_observations":
		return object{"observations": observed(eviction.OracleObserved(in.Summary))}
	case "thresholds_met":
		return met(in)
	case "admit_under_pressure":
		result := (&node{}).manager(in).Under(in.Conditions, in.Pod)
		return object{"admit": result.Admit, "reason": result.Reason, "message": result.Message}
	case "eviction_message":
		message, annotations := eviction.OracleMessage(in.Resource, in.Pod, in.Stats, given(in.Thresholds), in.Observations)
		return object{"message": message, "annotations": annotations}
	case "evict_pod":
		node := &node{killError: in.KillError}
		counts := node.manager(in).Evict(in.Pod, in.Grace, in.Message)
		return object{"counts_as_evicted": counts, "events": list(node.events), "kills": list(node.kills)}
	case "local_storage_eviction":
		node := &node{}
		node.manager(in).LocalStorage(in.Pods, in.Stats)
		evicted := []object{}
		for _, one := range node.kills {
			evicted = append(evicted, object{
				"pod": one["pod"], "grace_period_override_seconds": one["grace_period_override_seconds"],
				"message": one["status_written"].(object)["message"],
			})
		}
		return object{"evicted": evicted}
	case "synchronize":
		return synchronize(in)
	}
	panic(vector.Skip("unknown operation"))
}

func list(of []object) []object { return append([]object{}, of...) }

func given(list []threshold) []evictionapi.Threshold {
	result := []evictionapi.Threshold{}
	for _, one := range list {
		value, err := eviction.OracleValue(one.Value)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		threshold := evictionapi.Threshold{
			Signal: evictionapi.Signal(one.Signal), Operator: evictionapi.OpLessThan, Value: value, GracePeriod: one.Grace,
		}
		if one.MinReclaim != nil {
			reclaim, err := eviction.OracleValue(*one.MinReclaim)
			if err != nil {
				panic(vector.Skip(err.Error()))
			}
			threshold.MinReclaim = &reclaim
		}
		result = append(result, threshold)
	}
	return result
}

func shown(list []evictionapi.Threshold) []object {
	value := func(of evictionapi.ThresholdValue) object {
		if of.Quantity != nil {
			return object{"quantity": of.Quantity.String(), "quantity_value": of.Quantity.Value()}
		}
		bits := fmt.Sprintf("0x%08x", math.Float32bits(of.Percentage))
		if math.IsNaN(float64(of.Percentage)) || math.IsInf(float64(of.Percentage), 0) {
			return object{"percentage": nil, "percentage_f32_bits": bits}
		}
		return object{"percentage": of.Percentage, "percentage_f32_bits": bits}
	}
	result := []object{}
	for _, one := range list {
		shown := object{
			"signal": one.Signal, "operator": one.Operator, "value": value(one.Value), "min_reclaim": nil,
			"grace_period_nanoseconds": one.GracePeriod,
		}
		if one.MinReclaim != nil {
			shown["min_reclaim"] = value(*one.MinReclaim)
		}
		result = append(result, shown)
	}
	return result
}

func observed(of observations) object {
	result := object{}
	for signal, one := range of {
		result[signal] = object{"available": one.Available, "capacity": one.Capacity}
	}
	return result
}

func met(in in) any {
	rows := []object{}
	for _, one := range given(in.Thresholds) {
		row := object{"signal": one.Signal, "met": false}
		if seen, ok := in.Observations[string(one.Signal)]; ok {
			capacity := resource.NewQuantity(seen.Capacity, resource.BinarySI)
			row["threshold_quantity"] = evictionapi.GetThresholdQuantity(one.Value, capacity).Value()
			if one.MinReclaim != nil {
				row["min_reclaim_quantity"] = evictionapi.GetThresholdQuantity(*one.MinReclaim, capacity).Value()
			}
			met, _ := eviction.OracleMet([]evictionapi.Threshold{one}, in.Observations, in.EnforceReclaim)
			row["met"] = len(met) > 0
		} else {
			row["observed"] = false
		}
		rows = append(rows, row)
	}
	_, conditions := eviction.OracleMet(given(in.Thresholds), in.Observations, in.EnforceReclaim)
	return object{"thresholds": rows, "node_conditions_in_order": append([]v1.NodeConditionType{}, conditions...)}
}

// node stands for the rest of the kubelet: it gives statistics, and notes events, kills and reclaim calls.
type node struct {
	record.EventRecorder
	events, kills  []object
	calls          []string
	killError      string
	summary, after *statsapi.Summary
}

func (n *node) Get(context.Context, bool) (*statsapi.Summary, error) {
	if len(n.calls) > 0 && n.after != nil {
		return n.after, nil
	}
	return n.summary, nil
}

func (n *node) GetCPUAndMemoryStats(context.Context) (*statsapi.Summary, error) {
	return n.summary, nil
}

func (n *node) Eventf(of runtime.Object, kind, reason, format string, values ...interface{}) {
	name := "node/n1"
	if pod, ok := of.(*v1.Pod); ok {
		name = "pod/" + pod.Name
	}
	n.events = append(n.events, object{
		"object": name, "type": kind, "reason": reason, "message": fmt.Sprintf(format, values...),
	})
}

func (n *node) AnnotatedEventf(
	of runtime.Object, annotations map[string]string, kind, reason, format string, values ...interface{},
) {
	n.Eventf(of, kind, reason, format, values...)
	if annotations != nil {
		n.events[len(n.events)-1]["annotations"] = annotations
	}
}

func (n *node) kill(pod *v1.Pod, evicted bool, grace *int64, change func(*v1.PodStatus)) error {
	status, _ := kube.Written(pod, change)
	shown := object{
		"pod": pod.Name, "is_evicted": evicted, "grace_period_override_seconds": grace, "status_written": status,
	}
	n.kills = append(n.kills, shown)
	if n.killError != "" {
		return fmt.Errorf("%s", n.killError)
	}
	return nil
}

func (n *node) manager(in in) *eviction.OracleManager {
	thresholds, err := eviction.OracleParse(in.Enforce, in.Hard, in.Soft, in.SoftGrace, in.Reclaim)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	config := eviction.Config{
		PressureTransitionPeriod: time.Duration(in.Transition) * time.Second, MaxPodGracePeriodSeconds: in.MaxGrace,
		Thresholds: thresholds,
	}
	calls := eviction.OracleCalls(func(name string) { n.calls = append(n.calls, name) })
	clock := &eviction.OracleClock{At: time.Unix(1e9, 0)}
	ref := &v1.ObjectReference{Kind: "Node", Name: "n1"}
	made, _ := eviction.NewManager(n, config, n.kill, calls, calls, n, ref, clock, in.Isolation)
	return &eviction.OracleManager{
		Manager: eviction.OracleOf(made), Clock: clock, Dedicated: in.Dedicated, Split: in.Split,
	}
}

func synchronize(in in) any {
	node := &node{}
	manager, steps := node.manager(in), []object{}
	for _, step := range in.Steps {
		manager.Clock.At = time.Unix(1e9+step.At, 0)
		node.events, node.kills, node.calls = nil, nil, nil
		node.summary, node.after = step.Summary, step.After
		evicted, err := manager.Synchronize(append([]*v1.Pod{}, step.Pods...))
		names, conditions := []string{}, []string{}
		for _, pod := range evicted {
			names = append(names, pod.Name)
		}
		for _, one := range manager.Conditions() {
			conditions = append(conditions, string(one))
		}
		sort.Strings(conditions)
		row := object{
			"node_conditions": conditions, "evicted_pods": names, "kills": list(node.kills), "events": list(node.events),
			"reclaim_calls": append([]string{}, node.calls...), "error": nil,
		}
		if err != nil {
			row["error"] = err.Error()
		}
		steps = append(steps, row)
	}
	return object{"steps": steps}
}

func rank(in in) any {
	kube.Gates(in.Gates)
	pods := append([]*v1.Pod{}, in.Pods...)
	sorted := func(pods ...*v1.Pod) []*v1.Pod {
		eviction.OracleRank(in.Signal, in.Dedicated, in.Split, pods, in.Stats)
		return pods
	}
	sorted(pods...)
	names, groups, group := []string{}, [][]string{}, []string{}
	for at, pod := range pods {
		names = append(names, pod.Name)
		if at > 0 && sorted(pods[at-1], pod)[0] == pods[at-1] && sorted(pod, pods[at-1])[0] == pod {
			group = append(group, pod.Name)
			continue
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
		group = []string{pod.Name}
	}
	if len(group) > 1 {
		groups = append(groups, group)
	}
	out := object{"ranked": names}
	if len(groups) > 0 {
		for _, group := range groups {
			sort.Strings(group)
		}
		out["tie_groups"] = groups
	}
	return out
}

// inTieOrder sorts the pods that may come in any order.
func inTieOrder(out any) any {
	answer := out.(object)
	groups, _ := answer["tie_groups"].([]any)
	ranked, _ := answer["ranked"].([]any)
	result := object{}
	for key, value := range answer {
		result[key] = value
	}
	ordered := append([]any{}, ranked...)
	for _, group := range groups {
		members := map[any]bool{}
		for _, one := range group.([]any) {
			members[one] = true
		}
		var at []int
		var names []string
		for index, one := range ranked {
			if members[one] {
				at, names = append(at, index), append(names, fmt.Sprint(one))
			}
		}
		sort.Strings(names)
		for number, index := range at {
			ordered[index] = names[number]
		}
	}
	result["ranked"] = ordered
	if len(groups) > 0 {
		texts := []string{}
		for _, group := range groups {
			texts = append(texts, fmt.Sprint(group))
		}
		sort.Strings(texts)
		result["tie_groups"] = strings.Join(texts, " ")
	}
	return result
}
