package prober

import (
	"context"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/exec"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/probe"
	execprobe "k8s.io/kubernetes/pkg/probe/exec"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
)

// What the oracle's programs need of this package. Workers take their time from OracleNow.
var OracleNow = time.Now

func OracleSince(earlier time.Time) time.Duration { return OracleNow().Sub(earlier) }

// OracleHandler answers all probes, whatever their kind.
type OracleHandler func() (probe.Result, string, error)

func (h OracleHandler) Probe(exec.Cmd) (probe.Result, string, error) { return h() }

type oracleHTTP struct{ h OracleHandler }

func (o oracleHTTP) Probe(*http.Request, time.Duration) (probe.Result, string, error) { return o.h() }

type oracleTCP struct{ h OracleHandler }

func (o oracleTCP) Probe(string, int, time.Duration) (probe.Result, string, error) { return o.h() }

type oracleGRPC struct{ h OracleHandler }

func (o oracleGRPC) Probe(string, string, int, time.Duration) (probe.Result, string, error) {
	return o.h()
}

func oracleProber(h OracleHandler, recorder record.EventRecorderLogger) *prober {
	return &prober{
		exec: h, http: oracleHTTP{h}, tcp: oracleTCP{h}, grpc: oracleGRPC{h}, recorder: recorder,
	}
}

var oracleTypes = map[string]probeType{"liveness": liveness, "readiness": readiness, "startup": startup}

// OracleProbe probes once, with retries and events.
func OracleProbe(
	kind string, pod *v1.Pod, container v1.Container, h OracleHandler, recorder record.EventRecorderLogger,
) (results.Result, error) {
	id := kubecontainer.ContainerID{Type: "test", ID: "abc123"}
	return oracleProber(h, recorder).probe(context.Background(), oracleTypes[kind], pod, v1.PodStatus{}, container, id)
}

// OracleRun runs one attempt with the kubelet's own probers.
func OracleRun(
	spec *v1.Probe, podIP string, container v1.Container, runner kubecontainer.CommandRunner, web httpprobe.Prober,
) (probe.Result, string, error) {
	p := newProber(runner, nil)
	p.exec = execprobe.New()
	if web != nil {
		p.http = web
	}
	id := kubecontainer.ContainerID{Type: "test", ID: "abc123"}
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID = "web", "default", "1234"
	return p.runProbe(context.Background(), readiness, spec, pod, v1.PodStatus{PodIP: podIP}, container, id)
}

type oracleStatus struct {
	status.Manager
	get func() (v1.PodStatus, bool)
}

func (s oracleStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return s.get() }

// OracleManagers keep the results of the three kinds of probes.
type OracleManagers struct{ Liveness, Readiness, Startup results.Manager }

func (o OracleManagers) of(start time.Time, get func() (v1.PodStatus, bool), h OracleHandler) *manager {
	return &manager{
		workers: map[probeKey]*worker{}, statusManager: oracleStatus{get: get}, livenessManager: o.Liveness,
		readinessManager: o.Readiness, startupManager: o.Startup, start: start, prober: oracleProber(h, OracleEvents{}),
	}
}

// OracleEvents forgets events.
type OracleEvents struct{ record.EventRecorder }

func (e OracleEvents) WithLogger(oracleLogger) record.EventRecorderLogger    { return e }
func (OracleEvents) Eventf(_ oracleObject, _, _, _ string, _ ...interface{}) {}

// OracleWorker drives one worker.
type OracleWorker struct{ w *worker }

func NewOracleWorker(
	o OracleManagers, kind string, pod *v1.Pod, container v1.Container, start time.Time,
	get func() (v1.PodStatus, bool), h OracleHandler,
) OracleWorker {
	return OracleWorker{newWorker(o.of(start, get, h), oracleTypes[kind], pod, container)}
}

func (o OracleWorker) Step() bool { return o.w.doProbe(context.Background()) }

// Stop lets the worker see a finished pod, so that it cleans up.
func (o OracleWorker) Stop() {
	o.w.probeManager.statusManager = oracleStatus{get: func() (v1.PodStatus, bool) {
		return v1.PodStatus{Phase: v1.PodFailed}, true
	}}
	// Long after the start of the kubelet, a worker begins at once.
	o.w.probeManager.start = OracleNow().Add(-1000 * time.Hour)
	o.w.run(context.Background())
}

func (o OracleWorker) Pod() *v1.Pod { return o.w.pod }

func (o OracleWorker) State() (container string, last results.Result, run int, onHold bool) {
	if !o.w.containerID.IsEmpty() {
		container = o.w.containerID.String()
	}
	return container, o.w.lastResult, o.w.resultRun, o.w.onHold
}

// OracleUpdate updates the status of a pod that has a worker for each probe but the missing ones, and returns which of
// them are triggered.
func OracleUpdate(o OracleManagers, pod *v1.Pod, status *v1.PodStatus, start time.Time, missing map[string]bool) []string {
	m := o.of(start, nil, nil)
	add := func(kind probeType, name string, spec *v1.Probe, container v1.Container) {
		if spec != nil && !missing[container.Name+"/"+name] {
			m.workers[probeKey{pod.UID, container.Name, kind}] = newWorker(m, kind, pod, container)
		}
	}
	containers := append(append([]v1.Container{}, pod.Spec.Containers...), getRestartableInitContainers(pod)...)
	for _, one := range containers {
		add(startup, "startup", one.StartupProbe, one)
		add(readiness, "readiness", one.ReadinessProbe, one)
		add(liveness, "liveness", one.LivenessProbe, one)
	}
	m.UpdatePodStatus(context.Background(), pod, status)
	triggered := []string{}
	for key, worker := range m.workers {
		if len(worker.manualTriggerCh) > 0 {
			for name, kind := range oracleTypes {
				if kind == key.probeType {
					triggered = append(triggered, key.containerName+"/"+name)
				}
			}
		}
	}
	return triggered
}
