// Program probe answers for probes: requests and answers, retries, the worker, the status of pods, grace periods, defaults.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	cri "k8s.io/cri-client/pkg"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
	"k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/probe"
)

type object = vector.Object

func main() {
	vector.Main(map[string]vector.Family{
		"probe_worker":       {Answer: vector.Of(worker)},
		"probe_pod_status":   {Answer: vector.Of(podStatus)},
		"probe_retry":        {Answer: vector.Of(retry)},
		"probe_exec":         {Answer: vector.Of(execProbe)},
		"probe_grace_period": {Answer: vector.Of(gracePeriod)},
		"probe_defaults":     {Answer: vector.Of(defaults)},
		"probe_http":         {Answer: httpProbe, Random: randomHTTP, Alone: true},
		"probe_tcp":          {Answer: tcpProbe, Random: randomTCP, Alone: true},
		"probe_grpc":         {Answer: grpcProbe, Random: randomGRPC, Alone: true},
	})
}

// The time 0 of the cases.
func at(seconds float64) time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(math.Round(seconds * float64(time.Second))))
}

type containerStatus struct {
	Name    string
	ID      string `json:"container_id"`
	State   string
	At      *float64 `json:"started_at_seconds"`
	Exit    int32    `json:"exit_code"`
	Started *bool
}

func statuses(list []containerStatus) []v1.ContainerStatus {
	result := []v1.ContainerStatus{}
	for _, one := range list {
		shown := v1.ContainerStatus{Name: one.Name, ContainerID: one.ID, Started: one.Started}
		switch one.State {
		case "running":
			shown.State.Running = &v1.ContainerStateRunning{}
			if one.At != nil {
				shown.State.Running.StartedAt = metav1.NewTime(at(*one.At))
			}
		case "terminated":
			shown.State.Terminated = &v1.ContainerStateTerminated{ExitCode: one.Exit}
		default:
			shown.State.Waiting = &v1.ContainerStateWaiting{}
		}
		result = append(result, shown)
	}
	return result
}

type attempt struct {
	Result, Output string
	Error          *string
}

// handler gives the attempts one after the other; the last one repeats.
func handler(attempts *[]attempt, made *int) prober.OracleHandler {
	return func() (probe.Result, string, error) {
		list := *attempts
		if len(list) == 0 {
			list = []attempt{{Result: "success"}}
		}
		one := list[min(*made, len(list)-1)]
		*made++
		var err error
		if one.Error != nil {
			err = errors.New(*one.Error)
		}
		return probe.Result(one.Result), one.Output, err
	}
}

type workerIn struct {
	Started   float64         `json:"kubelet_started_at_seconds"`
	Gates     map[string]bool `json:"feature_gates"`
	Pod       *v1.Pod
	Container string
	Kind      string `json:"probe_type"`
	Before    []struct {
		ID     string `json:"container_id"`
		Result string
	} `json:"cached_results_before"`
	Steps []struct {
		Time       float64           `json:"time_seconds"`
		Unknown    bool              `json:"pod_status_unknown"`
		Phase      v1.PodPhase       `json:"pod_phase"`
		Containers []containerStatus `json:"container_statuses"`
		Init       []containerStatus `json:"init_container_statuses"`
		Attempts   []attempt
		Deleted    bool `json:"pod_deletion_timestamp_set"`
		Restarting bool `json:"all_containers_restarting_condition"`
	}
}

// noted are the results of a kind of probes, with the calls that change them.
type noted struct {
	results.Manager
	calls []object
	known map[string]kubecontainer.ContainerID
}

func newNoted() *noted {
	return &noted{Manager: results.NewManager(), known: map[string]kubecontainer.ContainerID{}}
}

func (n *noted) Set(id kubecontainer.ContainerID, result results.Result, pod *v1.Pod) {
	n.Manager.Set(id, result, pod)
	published := false
	select {
	case <-n.Manager.Updates():
		published = true
	default:
	}
	n.calls = append(n.calls, object{
		"call": "set", "container_id": id.String(), "result": strings.ToLower(result.String()), "published": published,
	})
}

// know has the result of a container told, by the name that its status has.
func (n *noted) know(name string) {
	if name != "" {
		n.known[name] = kubecontainer.ParseContainerID(name)
	}
}

func (n *noted) Remove(id kubecontainer.ContainerID) {
	n.Manager.Remove(id)
	n.calls = append(n.calls, object{"call": "remove", "container_id": id.String()})
}

func (n *noted) take() []object {
	calls := append([]object{}, n.calls...)
	n.calls = nil
	return calls
}

func (n *noted) cached() object {
	result := object{}
	for name, id := range n.known {
		if value, ok := n.Manager.Get(id); ok {
			result[name] = strings.ToLower(value.String())
		}
	}
	return result
}

func parsed(text string) results.Result {
	switch text {
	case "success":
		return results.Success
	case "failure":
		return results.Failure
	}
	return results.Unknown
}

func find(pod *v1.Pod, name string) v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, one := range list {
			if one.Name == name {
				return one
			}
		}
	}
	panic(vector.Skip("no such container"))
}

func specified(container v1.Container, kind string) *v1.Probe {
	return map[string]*v1.Probe{
		"liveness": container.LivenessProbe, "readiness": container.ReadinessProbe, "startup": container.StartupProbe,
	}[kind]
}

func worker(in workerIn) any {
	kube.Gates(in.Gates)
	kept := newNoted()
	managers := prober.OracleManagers{Liveness: kept, Readiness: kept, Startup: kept}
	for _, one := range in.Before {
		kept.know(one.ID)
		kept.Set(kubecontainer.ParseContainerID(one.ID), parsed(one.Result), in.Pod)
	}
	kept.take()
	container := find(in.Pod, in.Container)
	if spec := specified(container, in.Kind); spec == nil || spec.PeriodSeconds <= 0 {
		panic(vector.Skip("no such probe"))
	}
	var now *v1.PodStatus
	var attempts []attempt
	made := 0
	get := func() (v1.PodStatus, bool) {
		if now == nil {
			return v1.PodStatus{}, false
		}
		return *now, true
	}
	w := prober.NewOracleWorker(managers, in.Kind, in.Pod, container, at(in.Started), get, handler(&attempts, &made))
	steps := []object{}
	for number := range in.Steps {
		step := in.Steps[number]
		prober.OracleNow = func() time.Time { return at(step.Time) }
		now = nil
		if !step.Unknown {
			now = &v1.PodStatus{
				Phase: step.Phase, ContainerStatuses: statuses(step.Containers), InitContainerStatuses: statuses(step.Init),
			}
			if step.Restarting {
				now.Conditions = []v1.PodCondition{{Type: "AllContainersRestarting", Status: v1.ConditionTrue}}
			}
		}
		w.Pod().DeletionTimestamp = nil
		if step.Deleted {
			w.Pod().DeletionTimestamp = &metav1.Time{Time: at(step.Time)}
		}
		for _, one := range append(step.Containers, step.Init...) {
			kept.know(one.ID)
		}
		attempts, made = step.Attempts, 0
		goesOn := w.Step()
		id, last, run, held := w.State()
		steps = append(steps, object{
			"attempts_made": made, "probe_ran": made > 0, "results_manager_calls": kept.take(), "cached_results": kept.cached(),
			"on_hold": held, "last_result": strings.ToLower(last.String()), "result_run": run, "worker_container_id": id,
			"worker_continues": goesOn,
		})
		if !goesOn {
			w.Stop()
			steps = append(steps, object{"worker_stopped_after_step": number, "results_manager_calls": kept.take()})
			break
		}
	}
	return object{"steps": steps}
}

type statusIn struct {
	Started    float64         `json:"kubelet_started_at_seconds"`
	Gates      map[string]bool `json:"feature_gates"`
	Pod        *v1.Pod
	Containers []containerStatus `json:"container_statuses"`
	Init       []containerStatus `json:"init_container_statuses"`
	Ready      bool              `json:"pod_ready_condition_true"`
	Startup    map[string]string `json:"startup_results"`
	Readiness  map[string]string `json:"readiness_results"`
	Missing    []string          `json:"workers_missing"`
}

func podStatus(in statusIn) any {
	kube.Gates(in.Gates)
	managers := prober.OracleManagers{
		Liveness: results.NewManager(), Readiness: results.NewManager(), Startup: results.NewManager(),
	}
	for id, result := range in.Startup {
		managers.Startup.Set(kubecontainer.ParseContainerID(id), parsed(result), in.Pod)
	}
	for id, result := range in.Readiness {
		managers.Readiness.Set(kubecontainer.ParseContainerID(id), parsed(result), in.Pod)
	}
	if in.Ready {
		in.Pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	}
	missing := map[string]bool{}
	for _, name := range in.Missing {
		missing[name] = true
	}
	given := &v1.PodStatus{ContainerStatuses: statuses(in.Containers), InitContainerStatuses: statuses(in.Init)}
	triggered := prober.OracleUpdate(managers, in.Pod, given, at(in.Started), missing)
	sort.Strings(triggered)
	shown := func(list []v1.ContainerStatus) []object {
		result := []object{}
		for _, one := range list {
			result = append(result, object{"name": one.Name, "started": one.Started, "ready": one.Ready})
		}
		return result
	}
	return object{
		"container_statuses": shown(given.ContainerStatuses), "init_container_statuses": shown(given.InitContainerStatuses),
		"probes_triggered_at_once": triggered,
	}
}

// events notes events.
type events struct {
	record.EventRecorder
	list []object
}

func (e *events) WithLogger(klog.Logger) record.EventRecorderLogger { return e }

func (e *events) Eventf(_ runtime.Object, kind, reason, format string, values ...interface{}) {
	e.list = append(e.list, object{"type": kind, "reason": reason, "message": fmt.Sprintf(format, values...)})
}

type retryIn struct {
	Kind     string `json:"probe_type"`
	Attempts []attempt
	Probe    *v1.Probe
}

func retry(in retryIn) any {
	spec := in.Probe
	if in.Attempts != nil {
		spec = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}}}
	}
	container := v1.Container{Name: "c"}
	switch in.Kind {
	case "liveness":
		container.LivenessProbe = spec
	case "readiness":
		container.ReadinessProbe = spec
	default:
		container.StartupProbe = spec
	}
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID = "web", "default", "1234"
	pod.Spec.Containers = []v1.Container{container}
	made, noted := 0, &events{list: []object{}}
	result, err := prober.OracleProbe(in.Kind, pod, container, handler(&in.Attempts, &made), noted)
	out := object{
		"result": result.String(), "events": noted.list, "result_is_used_by_worker": err == nil, "error": nil,
	}
	if err != nil {
		out["error"] = err.Error()
	}
	if in.Attempts != nil {
		out["attempts_made"] = made
	}
	return out
}

type repeat struct {
	Text  string
	Count int
}

type execIn struct {
	Env   []v1.EnvVar `json:"container_env"`
	Exec  *v1.ExecAction
	Reply struct {
		Exit         int32   `json:"exit_code"`
		Stdout       string  `json:"stdout_text"`
		Stderr       string  `json:"stderr_text"`
		StdoutRepeat *repeat `json:"stdout_repeat"`
		StderrRepeat *repeat `json:"stderr_repeat"`
		StdoutBase64 *string `json:"stdout_base64"`
		StderrBase64 *string `json:"stderr_base64"`
		Code         *uint32 `json:"grpc_code"`
		Message      string  `json:"grpc_message"`
	} `json:"runtime_reply"`
	Timeout int32 `json:"timeout_seconds"`
}

// containerRuntime answers one command.
type containerRuntime struct {
	runtimeapi.RuntimeServiceClient
	in  *execIn
	out object
}

func given(plain string, times *repeat, encoded *string) []byte {
	if times != nil {
		plain += strings.Repeat(times.Text, times.Count)
	}
	if encoded != nil {
		bytes, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		return bytes
	}
	return []byte(plain)
}

func (c *containerRuntime) ExecSync(
	_ context.Context, request *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption,
) (*runtimeapi.ExecSyncResponse, error) {
	c.out["runtime_request"] = object{
		"container_id": request.ContainerId, "command": request.Cmd, "timeout_seconds": request.Timeout,
	}
	reply := c.in.Reply
	if reply.Code != nil {
		return nil, status.Error(codes.Code(*reply.Code), reply.Message)
	}
	return &runtimeapi.ExecSyncResponse{
		Stdout: given(reply.Stdout, reply.StdoutRepeat, reply.StdoutBase64),
		Stderr: given(reply.Stderr, reply.StderrRepeat, reply.StderrBase64), ExitCode: reply.Exit,
	}, nil
}

// tell adds a text under a name: as it is, in base64, or what is said of a long one.
func tell(out object, name, value string) {
	switch {
	case len(value) > 2000:
		out[name+"_length_bytes"] = len(value)
		out[name+"_sha256"] = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))
		out[name+"_first_80_bytes"] = value[:80]
	case !utf8.ValidString(value):
		out[name+"_base64"] = base64.StdEncoding.EncodeToString([]byte(value))
	default:
		out[name+"_text"] = value
	}
}

func execProbe(in execIn) any {
	out := object{}
	service := cri.OracleService(&containerRuntime{in: &in, out: out})
	spec := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: in.Exec}, TimeoutSeconds: in.Timeout}
	container := v1.Container{Name: "c", Env: in.Env}
	result, message, err := prober.OracleRun(spec, "", container, kuberuntime.OracleRunner(service), nil)
	out["result"], out["error"] = result, nil
	if err != nil {
		out["error"] = err.Error()
	}
	tell(out, "message", message)
	return out
}

type graceIn map[string]any

func gracePeriod(in graceIn) any {
	seconds := func(name string) *int64 {
		if value, ok := in[name].(float64); ok {
			number := int64(value)
			return &number
		}
		return nil
	}
	spec := func(kind string) *v1.Probe {
		name := kind + "_probe_termination_grace_period_seconds"
		if _, ok := in[name]; !ok {
			return nil
		}
		return &v1.Probe{TerminationGracePeriodSeconds: seconds(name)}
	}
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID = "web", "default", "1234"
	pod.DeletionGracePeriodSeconds = seconds("pod_deletion_grace_period_seconds")
	pod.Spec.TerminationGracePeriodSeconds = seconds("pod_spec_termination_grace_period_seconds")
	pod.Spec.Containers = []v1.Container{{Name: "c", LivenessProbe: spec("liveness"), StartupProbe: spec("startup")}}
	reason, _ := in["kill_reason"].(string)
	grace, runtime := kuberuntime.OracleKill(pod, reason)
	return object{"grace_period_seconds": grace, "seconds_given_to_runtime_without_hooks": runtime}
}

type defaultsIn struct {
	Kind      string    `json:"container_kind"`
	Liveness  *v1.Probe `json:"livenessProbe"`
	Readiness *v1.Probe `json:"readinessProbe"`
	Startup   *v1.Probe `json:"startupProbe"`
	Grace     *int64    `json:"pod_termination_grace_period_seconds"`
}

func defaults(in defaultsIn) any {
	container := v1.Container{
		Name: "app", Image: "i", LivenessProbe: in.Liveness, ReadinessProbe: in.Readiness, StartupProbe: in.Startup,
	}
	pod := &v1.Pod{}
	pod.Name, pod.Namespace = "web", "default"
	pod.Spec.TerminationGracePeriodSeconds = in.Grace
	if in.Kind == "container" {
		pod.Spec.Containers = []v1.Container{container}
	} else {
		if in.Kind == "sidecar" {
			always := v1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		pod.Spec.InitContainers = []v1.Container{container}
		pod.Spec.Containers = []v1.Container{{Name: "main", Image: "i"}}
	}
	corev1.SetObjectDefaults_Pod(pod)
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, internal, nil); err != nil {
		panic(vector.Skip(err.Error()))
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	errs := []object{}
	for _, one := range validation.ValidatePodCreate(internal, options) {
		errs = append(errs, object{"type": string(one.Type), "field": one.Field, "text": one.Error()})
	}
	after := pod.Spec.Containers[0]
	if in.Kind != "container" {
		after = pod.Spec.InitContainers[0]
	}
	shown := object{}
	for name, spec := range map[string]*v1.Probe{
		"livenessProbe": after.LivenessProbe, "readinessProbe": after.ReadinessProbe, "startupProbe": after.StartupProbe,
	} {
		if spec != nil {
			shown[name] = spec
		}
	}
	return object{"accepted": len(errs) == 0, "errors": errs, "after_defaulting": shown}
}
