// Program resources answers for amounts, QoS classes, the sums of a pod's resources, and critical pods: functions that the API
// machinery and the kubelet export.
package main

import (
	"math/big"
	"math/rand"
	"strings"

	"gopkg.in/inf.v0"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

type object = vector.Object

func main() {
	vector.Main(map[string]vector.Family{
		"quantity":      {Answer: vector.Of(quantity), Random: randomQuantity},
		"qos":           {Answer: vector.Of(qos), Random: randomQos},
		"pod_resources": podResources(),
		"critical":      {Answer: vector.Of(critical)},
	})
}

type quantityIn struct {
	Op          string
	Text        string
	JSONText    string `json:"json_text"`
	Left, Right string
	Terms       []string
}

func quantity(in quantityIn) any {
	switch in.Op {
	case "parse":
		amount, err := resource.ParseQuantity(in.Text)
		if err != nil {
			return object{"error": err.Error()}
		}
		return shown(amount)
	case "parse_json":
		var amount resource.Quantity
		// The method itself: a decoder would refuse some texts before.
		if err := amount.UnmarshalJSON([]byte(in.JSONText)); err != nil {
			return object{"error": err.Error()}
		}
		return shown(amount)
	case "sum":
		var sum resource.Quantity
		for _, term := range in.Terms {
			sum.Add(kube.Quantity(term))
		}
		return shown(sum)
	}
	left, right := kube.Quantity(in.Left), kube.Quantity(in.Right)
	switch in.Op {
	case "compare":
		return object{"ordering": left.Cmp(right)}
	case "add":
		left.Add(right)
	case "subtract":
		left.Sub(right)
	default:
		panic(vector.Skip("unknown operation"))
	}
	return shown(left)
}

func shown(amount resource.Quantity) object {
	exact := amount.DeepCopy()
	out := object{
		"text_form": amount.String(), "format": string(amount.Format), "sign": amount.Sign(),
		"value": amount.Value(), "milli_value": amount.MilliValue(),
	}
	number, suffix := amount.CanonicalizeBytes(nil)
	if canonical := string(number) + string(suffix); canonical != amount.String() {
		out["canonical"] = canonical
	}
	differs := func(name string, scale inf.Scale, value int64) {
		// Billions of digits are no 64-bit number.
		if exact.AsDec().Scale() < -1000 {
			if exact.Sign() != 0 {
				out[name+"_differs_from_exact"] = true
			}
			return
		}
		rounded := new(inf.Dec).Round(exact.AsDec(), scale, inf.RoundUp)
		if rounded.UnscaledBig().Cmp(big.NewInt(value)) != 0 {
			out[name+"_differs_from_exact"] = true
		}
	}
	differs("value", 0, amount.Value())
	differs("milli_value", 3, amount.MilliValue())
	return out
}

func randomQuantity(r *rand.Rand) any {
	switch r.Intn(5) {
	case 0:
		return object{"op": kube.Pick(r, "add", "subtract", "compare"), "left": kube.Amount(r), "right": kube.Amount(r)}
	case 1:
		terms := []string{}
		for at := r.Intn(5); at > 0; at-- {
			terms = append(terms, kube.Amount(r))
		}
		return object{"op": "sum", "terms": terms}
	}
	return object{"op": "parse", "text": kube.Amount(r)}
}

type podIn struct {
	Pod   *v1.Pod
	Gates map[string]bool `json:"feature_gates"`
}

func qos(in podIn) any {
	kube.Gates(in.Gates)
	defaulted := kube.Defaulted(in.Pod, true)
	containers := func(list []v1.Container) object {
		result := object{}
		for _, one := range list {
			result[one.Name] = lists(one.Resources)
		}
		return result
	}
	after := object{"containers": containers(defaulted.Spec.Containers)}
	if len(defaulted.Spec.InitContainers) > 0 {
		after["init_containers"] = containers(defaulted.Spec.InitContainers)
	}
	if defaulted.Spec.Resources != nil {
		after["pod"] = lists(*defaulted.Spec.Resources)
	}
	return object{
		"computed_qos_class":                      v1qos.ComputePodQOS(in.Pod),
		"effective_qos_class":                     v1qos.GetPodQOS(in.Pod),
		"computed_qos_class_after_api_defaulting": v1qos.ComputePodQOS(defaulted),
		"resources_after_api_defaulting":          after,
	}
}

func lists(resources v1.ResourceRequirements) object {
	result := object{}
	if len(resources.Requests) > 0 {
		result["requests"] = kube.List(resources.Requests)
	}
	if len(resources.Limits) > 0 {
		result["limits"] = kube.List(resources.Limits)
	}
	return result
}

func randomQos(r *rand.Rand) any {
	in := object{"pod": kube.Pod(r)}
	if kube.OneIn(r, 8) {
		in["feature_gates"] = object{"PodLevelResources": false, "InPlacePodLevelResourcesVerticalScaling": false}
	}
	return in
}

type criticalIn struct {
	Op                   string
	Pod                  *v1.Pod
	Preemptor, Preemptee *v1.Pod
}

func critical(in criticalIn) any {
	if in.Op == "preemptable" {
		return object{
			"preemptable":           kubetypes.Preemptable(in.Preemptor, in.Preemptee),
			"preemptor_is_critical": kubetypes.IsCriticalPod(in.Preemptor),
			"preemptee_is_critical": kubetypes.IsCriticalPod(in.Preemptee),
		}
	}
	out := object{
		"is_static": kubetypes.IsStaticPod(in.Pod), "is_mirror": kubetypes.IsMirrorPod(in.Pod),
		"is_critical": kubetypes.IsCriticalPod(in.Pod), "is_node_critical": kubetypes.IsNodeCriticalPod(in.Pod),
		"is_critical_by_priority": nil, "has_restartable_init_container": kubetypes.HasRestartableInitContainer(in.Pod),
	}
	if in.Pod.Spec.Priority != nil {
		out["is_critical_by_priority"] = kubetypes.IsCriticalPodBasedOnPriority(*in.Pod.Spec.Priority)
	}
	if source, err := kubetypes.GetPodSource(in.Pod); err == nil {
		out["pod_source"] = source
	} else {
		out["pod_source_error"] = strings.TrimSpace(err.Error())
	}
	return out
}
