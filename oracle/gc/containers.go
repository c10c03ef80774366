package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
)

type containersIn struct {
	Op     string
	Policy struct {
		MinAge   time.Duration `json:"min_age_nanoseconds"`
		PerPod   int           `json:"max_per_pod_container"`
		AllInAll int           `json:"max_containers"`
	}
	Ready      bool `json:"all_sources_ready"`
	Containers []containerIn
	Sandboxes  []struct {
		ID      string
		Attempt uint32
		Created int64  `json:"created_at_nanoseconds"`
		UID     string `json:"pod_uid"`
		State   string
	}
	Pods map[types.UID]struct {
		Runtime bool `json:"runtime_should_be_removed"`
		Content bool `json:"content_should_be_removed"`
	}
	Directories []string `json:"pod_log_directories"`
	Errors      struct {
		List          map[string]string `json:"list_containers_on_call"`
		Sandboxes     string            `json:"list_pod_sandboxes"`
		Directory     string            `json:"read_pod_logs_directory"`
		Status        map[string]string `json:"container_status"`
		Stop          map[string]string `json:"stop_container"`
		Remove        map[string]string `json:"remove_container"`
		StopSandbox   map[string]string `json:"stop_pod_sandbox"`
		RemoveSandbox map[string]string `json:"remove_pod_sandbox"`
		RemoveLogs    map[string]string `json:"remove_pod_logs_directory"`
	}
}

type containerIn struct {
	ID, Name    string
	Attempt     uint32
	Created     int64  `json:"created_at_nanoseconds"`
	UID         string `json:"pod_uid"`
	Sandbox     string `json:"sandbox_id"`
	State       string
	Deletion    *int64 `json:"pod_deletion_grace_period_seconds"`
	Termination *int64 `json:"pod_termination_grace_period_seconds"`
}

// node is the container runtime and the disk.
type node struct {
	internalapi.RuntimeService
	container.OSInterface
	in       *containersIn
	lists    int
	tried    []string
	failures map[string]string
	gone     map[string]bool
	stops    map[string]int64
	logs     []string
}

func (n *node) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "test", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

func (n *node) labels(one containerIn) (labels, annotations map[string]string) {
	labels = map[string]string{"io.kubernetes.pod.uid": one.UID, "io.kubernetes.container.name": one.Name}
	annotations = map[string]string{}
	if one.Deletion != nil {
		annotations["io.kubernetes.pod.deletionGracePeriod"] = strconv.FormatInt(*one.Deletion, 10)
	}
	if one.Termination != nil {
		annotations["io.kubernetes.pod.terminationGracePeriod"] = strconv.FormatInt(*one.Termination, 10)
	}
	return labels, annotations
}

func (n *node) ListContainers(context.Context, *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	n.lists++
	if text, ok := n.in.Errors.List[strconv.Itoa(n.lists)]; ok {
		return nil, errors.New(text)
	}
	list := []*runtimeapi.Container{}
	for _, one := range n.in.Containers {
		if !n.gone[one.ID] {
			labels, annotations := n.labels(one)
			list = append(list, &runtimeapi.Container{
				Id: one.ID, PodSandboxId: one.Sandbox, CreatedAt: start.UnixNano() + one.Created, Labels: labels,
				Metadata: &runtimeapi.ContainerMetadata{Name: one.Name, Attempt: one.Attempt}, Annotations: annotations,
				State: runtimeapi.ContainerState(runtimeapi.ContainerState_value[one.State]),
			})
		}
	}
	return list, nil
}

func (n *node) ListPodSandbox(context.Context, *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	if n.in.Errors.Sandboxes != "" {
		return nil, errors.New(n.in.Errors.Sandboxes)
	}
	list := []*runtimeapi.PodSandbox{}
	for _, one := range n.in.Sandboxes {
		list = append(list, &runtimeapi.PodSandbox{
			Id: one.ID, CreatedAt: start.UnixNano() + one.Created,
			Metadata: &runtimeapi.PodSandboxMetadata{Uid: one.UID, Attempt: one.Attempt},
			State:    runtimeapi.PodSandboxState(runtimeapi.PodSandboxState_value[one.State]),
		})
	}
	return list, nil
}

// call notes a try to remove something, and whether this call of it fails.
func (n *node) call(id, name string, texts map[string]string) error {
	known := false
	for _, one := range n.tried {
		known = known || one == id
	}
	if !known {
		n.tried = append(n.tried, id)
	}
	if text, ok := texts[id]; ok {
		n.failures[id] = name
		return errors.New(text)
	}
	return nil
}

func (n *node) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	if err := n.call(id, "container_status", n.in.Errors.Status); err != nil {
		return nil, err
	}
	for _, one := range n.in.Containers {
		if one.ID == id {
			labels, annotations := n.labels(one)
			status := &runtimeapi.ContainerStatus{Id: id, Labels: labels, Annotations: annotations}
			return &runtimeapi.ContainerStatusResponse{Status: status}, nil
		}
	}
	return nil, errors.New("not found")
}

func (n *node) StopContainer(_ context.Context, id string, timeout int64) error {
	n.stops[id] = timeout
	return n.call(id, "stop_container", n.in.Errors.Stop)
}

func (n *node) RemoveContainer(_ context.Context, id string) error {
	err := n.call(id, "remove_container", n.in.Errors.Remove)
	n.gone[id] = err == nil
	return err
}

func (n *node) StopPodSandbox(_ context.Context, id string) error {
	return n.call(id, "stop_pod_sandbox", n.in.Errors.StopSandbox)
}

func (n *node) RemovePodSandbox(_ context.Context, id string) error {
	err := n.call(id, "remove_pod_sandbox", n.in.Errors.RemoveSandbox)
	n.gone[id] = err == nil
	return err
}

type entry struct {
	os.DirEntry
	name string
}

func (e entry) Name() string { return e.name }

func (n *node) ReadDir(string) ([]os.DirEntry, error) {
	if n.in.Errors.Directory != "" {
		return nil, errors.New(n.in.Errors.Directory)
	}
	list := []os.DirEntry{}
	for _, name := range n.in.Directories {
		list = append(list, entry{name: name})
	}
	return list, nil
}

func (n *node) RemoveAll(path string) error {
	name := filepath.Base(path)
	if text, ok := n.in.Errors.RemoveLogs[name]; ok {
		return errors.New(text)
	}
	n.logs = append(n.logs, name)
	return nil
}

func (n *node) Glob(string) ([]string, error) { return nil, nil }
func (n *node) Remove(string) error           { return nil }

type ready bool

func (r ready) AllReady() bool { return bool(r) }

type runtimeGC struct {
	container.Runtime
	n    *node
	pods kuberuntime.OraclePods
}

func (r runtimeGC) GarbageCollect(_ context.Context, policy container.GCPolicy, ready, all bool) error {
	return kuberuntime.OracleGarbageCollect(r.n, r.n, r.pods, policy, ready, all)
}

func containerGC(in containersIn) any {
	kuberuntime.OracleNow = func() time.Time { return start }
	n := &node{
		in: &in, failures: map[string]string{}, gone: map[string]bool{}, stops: map[string]int64{}, logs: []string{},
	}
	pods := kuberuntime.OraclePods{Runtime: map[types.UID]bool{}, Content: map[types.UID]bool{}}
	for uid, pod := range in.Pods {
		pods.Runtime[uid], pods.Content[uid] = pod.Runtime, pod.Content
	}
	policy := container.GCPolicy{
		MinAge: in.Policy.MinAge, MaxPerPodContainer: in.Policy.PerPod, MaxContainers: in.Policy.AllInAll,
	}
	collector, err := container.NewContainerGC(runtimeGC{n: n, pods: pods}, policy, ready(in.Ready))
	if err != nil {
		return object{"error": err.Error()}
	}
	if in.Op == "garbage_collect" {
		err = collector.GarbageCollect(context.Background())
	} else {
		err = collector.DeleteAllUnusedContainers(context.Background())
	}
	out := object{"error": nil, "removed_pod_log_directories": n.logs}
	if err != nil {
		out["error"] = err.Error()
	}
	units, sandboxes := map[string]object{}, map[string]object{}
	attempt := func(of map[string]object, key, id string, fields object) {
		if of[key] == nil {
			fields["attempts"] = []object{}
			of[key] = fields
		}
		tried := object{"id": id}
		if call, ok := n.failures[id]; ok {
			tried["failed"] = call
		}
		of[key]["attempts"] = append(of[key]["attempts"].([]object), tried)
	}
	for _, id := range n.tried {
		for _, one := range in.Containers {
			if one.ID == id {
				attempt(units, one.UID+"\x00"+one.Name, id, object{"pod_uid": one.UID, "container_name": one.Name})
			}
		}
		for _, one := range in.Sandboxes {
			if one.ID == id {
				attempt(sandboxes, one.UID, id, object{"pod_uid": one.UID})
			}
		}
	}
	list := func(of map[string]object) []object {
		result := []object{}
		for _, key := range vector.Keys(of) {
			result = append(result, of[key])
		}
		return result
	}
	out["removal_attempts_by_unit"], out["sandbox_removal_attempts_by_pod"] = list(units), list(sandboxes)
	removed, left, gone, kept := []string{}, []string{}, []string{}, []string{}
	for _, one := range in.Containers {
		if n.gone[one.ID] {
			removed = append(removed, one.ID)
		} else {
			left = append(left, one.ID)
		}
	}
	for _, one := range in.Sandboxes {
		if n.gone[one.ID] {
			gone = append(gone, one.ID)
		} else {
			kept = append(kept, one.ID)
		}
	}
	sort.Strings(removed)
	sort.Strings(gone)
	out["removed_containers"], out["remaining_containers"] = removed, left
	out["removed_sandboxes"], out["remaining_sandboxes"] = gone, kept
	stops := []object{}
	for _, id := range vector.Keys(n.stops) {
		stops = append(stops, object{"id": id, "timeout_seconds": n.stops[id]})
	}
	out["stop_container_calls"] = stops
	return out
}
