// Package kube is what the programs of the oracle share of Kubernetes: feature gates, pods and amounts.
package kube

import (
	"fmt"
	"math/rand"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"
	"k8s.io/kubernetes/cmd/oracle/vector"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	_ "k8s.io/kubernetes/pkg/features"
)

// Object is a JSON object.
type Object = vector.Object

var (
	// set is what was set last.
	set string
	// untouched are the gates with their defaults: what is set, is set in copies.
	untouched = sync.OnceValue(func() featuregate.MutableFeatureGate { return feature.DefaultMutableFeatureGate })
)

func init() { klog.SetLogger(logr.Discard()) }

// Gates sets feature gates, and all others to their defaults. Gates that this version lacks are passed over.
func Gates(gates map[string]bool) {
	text := ""
	if len(gates) > 0 {
		text = vector.Text(gates)
	}
	if text == set {
		return
	}
	next := map[string]bool{}
	if on, ok := gates["PodLevelResources"]; ok && !on {
		// It depends on that gate, and goes off with it.
		next["InPlacePodLevelResourcesVerticalScaling"] = false
	}
	if gates["RestartAllContainersOnContainerExits"] {
		// It depends on that gate, which 1.35 has off by default.
		next["NodeDeclaredFeatures"] = true
	}
	for name, on := range gates {
		next[name] = on
	}
	fresh := untouched().DeepCopy()
	known := fresh.GetAll()
	for name, on := range next {
		if spec, ok := known[featuregate.Feature(name)]; !ok || spec.LockToDefault && spec.Default != on {
			delete(next, name)
		}
	}
	if err := fresh.SetFromMap(next); err != nil {
		panic(vector.Skip(err.Error()))
	}
	feature.DefaultMutableFeatureGate, feature.DefaultFeatureGate, set = fresh, fresh, text
}

// Defaulted returns a pod as the API server stores it, if wanted.
func Defaulted(pod *v1.Pod, wanted bool) *v1.Pod {
	if wanted {
		pod = pod.DeepCopy()
		corev1.SetObjectDefaults_Pod(pod)
	}
	return pod
}

// List shows amounts in their text form.
func List(list v1.ResourceList) Object {
	shown := Object{}
	for name, amount := range list {
		shown[string(name)] = amount.String()
	}
	return shown
}

// Pick returns one of its arguments.
func Pick[T any](r *rand.Rand, from ...T) T { return from[r.Intn(len(from))] }

// OneIn is true once in so many times.
func OneIn(r *rand.Rand, n int) bool { return r.Intn(n) == 0 }

var exact = []string{
	"0", "1", "2", "3", "4", "10m", "100m", "250m", "500m", "999m", "1001m", "1500m", "2000m", "0.5", "1.5", "1e-1", "15m",
}

// CPU returns a random amount of CPU.
func CPU(r *rand.Rand) string {
	if OneIn(r, 3) {
		return strconv.Itoa(r.Intn(70000)) + "m"
	}
	return Pick(r, exact...)
}

// Memory returns a random amount of memory.
func Memory(r *rand.Rand) string {
	switch r.Intn(4) {
	case 0:
		return strconv.Itoa(r.Intn(4096)) + Pick(r, "Mi", "Ki", "M", "k")
	case 1:
		return strconv.FormatInt(r.Int63n(1<<36), 10)
	}
	return Pick(r, "0", "1", "1Gi", "2Gi", "512Mi", "64Mi", "1.5Gi", "1G", "100Ki", "1e9", "128974848", "129e6", "129M", "4095", "4096")
}

func resources(r *rand.Rand, others bool) Object {
	lists := Object{}
	requests, limits := Object{}, Object{}
	add := func(name, amount string) {
		switch r.Intn(5) {
		case 0:
			requests[name] = amount
		case 1:
			limits[name] = amount
		case 2:
			requests[name], limits[name] = amount, amount
		case 3:
			requests[name], limits[name] = amount, amount
			if name == "cpu" {
				limits[name] = CPU(r)
			} else if name == "memory" {
				limits[name] = Memory(r)
			}
		}
	}
	add("cpu", CPU(r))
	add("memory", Memory(r))
	if others && OneIn(r, 6) {
		add("ephemeral-storage", Memory(r))
	}
	if OneIn(r, 8) {
		add("hugepages-2Mi", fmt.Sprintf("%dMi", 2*r.Intn(8)))
	}
	if OneIn(r, 12) {
		add("hugepages-1Gi", fmt.Sprintf("%dGi", r.Intn(4)))
	}
	if others && OneIn(r, 10) {
		add("example.com/gpu", strconv.Itoa(r.Intn(3)))
	}
	if len(requests) > 0 || OneIn(r, 12) {
		lists["requests"] = requests
	}
	if len(limits) > 0 || OneIn(r, 12) {
		lists["limits"] = limits
	}
	return lists
}

// Pod returns a random pod in JSON. All its containers may be Guaranteed, or each something else.
func Pod(r *rand.Rand) Object {
	kind, cpu, memory := r.Intn(4), CPU(r), Memory(r)
	container := func(name string) Object {
		switch kind {
		case 0:
			list := Object{"cpu": cpu, "memory": memory}
			return Object{"name": name, "resources": Object{"requests": list, "limits": list}}
		case 1:
			if OneIn(r, 2) {
				return Object{"name": name}
			}
		}
		return Object{"name": name, "resources": resources(r, true)}
	}
	spec := Object{}
	var init, containers []Object
	for at := 0; at < Pick(r, 0, 0, 0, 1, 1, 2, 3); at++ {
		one := container(fmt.Sprintf("i%d", at))
		if OneIn(r, 2) {
			one["restartPolicy"] = "Always"
		}
		init = append(init, one)
	}
	for at := 0; at < Pick(r, 1, 1, 1, 2, 2, 3); at++ {
		containers = append(containers, container(fmt.Sprintf("c%d", at)))
	}
	if init != nil {
		spec["initContainers"] = init
	}
	spec["containers"] = containers
	if OneIn(r, 5) {
		overhead := Object{}
		if OneIn(r, 2) {
			overhead["cpu"] = CPU(r)
		}
		if OneIn(r, 2) {
			overhead["memory"] = Memory(r)
		}
		spec["overhead"] = overhead
	}
	if OneIn(r, 4) {
		spec["resources"] = resources(r, false)
	}
	if OneIn(r, 8) {
		spec["priority"] = Pick(r, 0, 1, -5, 1999999999, 2000000000, 2000001000)
	}
	pod := Object{"spec": spec, "metadata": Object{"name": "p", "namespace": "default", "uid": "uid-p"}}
	if OneIn(r, 12) {
		pod["status"] = Object{"qosClass": Pick(r, "Guaranteed", "Burstable", "BestEffort")}
	}
	return pod
}

// Amount returns the text of a random quantity, sometimes of none.
func Amount(r *rand.Rand) string {
	digits := func(most int) string {
		text := ""
		for at := r.Intn(most + 1); at > 0; at-- {
			text += strconv.Itoa(r.Intn(10))
		}
		return text
	}
	text := Pick(r, "", "", "", "", "+", "-")
	text += Pick(r, strconv.Itoa(r.Intn(3000)), digits(4), digits(22), Pick(r, "0", "1024", "9223372036854775807", "8"))
	if OneIn(r, 4) {
		text += "." + Pick(r, digits(3), digits(12))
	}
	exponent := func() string {
		return Pick(r, "e", "E") + Pick(r, "", "-", "+") + strconv.Itoa(r.Intn(Pick(r, 4, 12, 30)))
	}
	return text + Pick(r, "", "", "m", "u", "n", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "x", "mi", exponent())
}

// Quantity parses an amount.
func Quantity(text string) resource.Quantity {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	return quantity
}

// Written returns the status that a kill writes on a pod, without a transition time that is now, and whether the one of the
// disruption condition is "kept" or "now".
func Written(pod *v1.Pod, change func(*v1.PodStatus)) (status any, time string) {
	written := pod.Status.DeepCopy()
	start := metav1.Now().Add(-10 * second)
	change(written)
	for at := range written.Conditions {
		if one := &written.Conditions[at]; one.Type == v1.DisruptionTarget {
			time = "kept"
			if one.LastTransitionTime.After(start) {
				time = "now"
				one.LastTransitionTime = metav1.Time{}
			}
		}
	}
	return withoutNull(vector.Parse([]byte(vector.Text(written)))), time
}

const second = 1000000000

func withoutNull(value any) any {
	switch v := value.(type) {
	case Object:
		for key, one := range v {
			if one == nil {
				delete(v, key)
			} else {
				withoutNull(one)
			}
		}
	case []any:
		for _, one := range v {
			withoutNull(one)
		}
	}
	return value
}
