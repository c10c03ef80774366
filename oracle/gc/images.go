package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/images"
)

type imagesIn struct {
	Op        string
	Gates     map[string]bool `json:"feature_gates"`
	SizeBytes int64           `json:"size_bytes"`
	Policy    struct {
		High int           `json:"high_threshold_percent"`
		Low  int           `json:"low_threshold_percent"`
		Min  time.Duration `json:"min_age_nanoseconds"`
		Max  time.Duration `json:"max_age_nanoseconds"`
	}
	Began   time.Duration `json:"began_gc_nanoseconds"`
	Records []struct {
		ID       string         `json:"image_id"`
		Handler  string         `json:"runtime_handler"`
		Detected *time.Duration `json:"first_detected_nanoseconds"`
		Used     *time.Duration `json:"last_used_nanoseconds"`
	}
	Steps []struct {
		Action string
		At     time.Duration `json:"at_nanoseconds"`
		Images *[]struct {
			ID      string
			Size    int64 `json:"size_bytes"`
			Pinned  bool
			Handler string `json:"runtime_handler"`
		}
		Pods *[]struct {
			UID        string
			Containers []struct {
				ID, State string
				Image     string   `json:"image_id"`
				Handler   string   `json:"image_runtime_handler"`
				Volumes   []string `json:"image_volume_image_ids"`
			}
		}
		ImageFs *struct {
			Capacity  *uint64 `json:"capacity_bytes"`
			Available *uint64 `json:"available_bytes"`
		} `json:"image_fs"`
		FsError     string            `json:"image_fs_error"`
		ImagesError string            `json:"list_images_error"`
		PodsError   string            `json:"list_pods_error"`
		StatusError map[string]string `json:"container_status_errors"`
		RemoveError map[string]string `json:"remove_image_errors"`
	}
}

// The time 0 of the cases.
var start = time.Unix(1700000000, 0)

func at(offset *time.Duration) time.Time {
	if offset == nil {
		return time.Time{}
	}
	return start.Add(*offset)
}

func shownTime(of time.Time) any {
	if of.IsZero() {
		return nil
	}
	return of.Sub(start).Nanoseconds()
}

// world is the container runtime and the disk, and notes what the kubelet does.
type world struct {
	container.Runtime
	record.EventRecorder
	handlers                       bool
	images                         []container.Image
	pods                           []*container.Pod
	volumes                        map[string][]string
	fs                             statsapi.FsStats
	fsError, imagesError, podError string
	statusErrors, removeErrors     map[string]string
	// pass is the pass that removes images: by age until the disk is looked at.
	pass            string
	removed, events []object
	verdicts        map[string]string
	hook            any
	sizes           map[string]int64
	freed           map[string]int64
}

func failed(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func (w *world) ListImages(context.Context) ([]container.Image, error) {
	return append([]container.Image{}, w.images...), failed(w.imagesError)
}

func (w *world) GetPods(context.Context, bool) ([]*container.Pod, error) {
	return w.pods, failed(w.podError)
}

func (w *world) GetContainerStatus(_ context.Context, _ types.UID, id container.ContainerID) (*container.Status, error) {
	status := &container.Status{}
	for _, image := range w.volumes[id.ID] {
		status.Mounts = append(status.Mounts, container.Mount{Image: &runtimeapi.ImageSpec{Image: image}})
	}
	return status, failed(w.statusErrors[id.ID])
}

func (w *world) key(id, handler string) string {
	if !w.handlers {
		return id
	}
	return images.OracleKey(id, handler)
}

func (w *world) RemoveImage(_ context.Context, image container.ImageSpec) error {
	key := w.key(image.Image, image.RuntimeHandler)
	if text, ok := w.removeErrors[key]; ok {
		w.verdicts[w.pass+key] = "removal_failed"
		return errors.New(text)
	}
	w.verdicts[w.pass+key] = "removed"
	shown := object{"image_id": image.Image, "pass": w.pass}
	if w.handlers {
		shown["runtime_handler"] = image.RuntimeHandler
	}
	w.removed = append(w.removed, shown)
	w.freed[w.pass] += w.sizes[key]
	left := []container.Image{}
	for _, one := range w.images {
		if w.key(one.ID, one.Spec.RuntimeHandler) != key {
			left = append(left, one)
		}
	}
	w.images = left
	return nil
}

func (w *world) ImageFsStats(context.Context) (*statsapi.FsStats, *statsapi.FsStats, error) {
	w.pass = "space"
	return &w.fs, &w.fs, failed(w.fsError)
}

func (w *world) Eventf(_ runtime.Object, kind, reason, format string, values ...interface{}) {
	w.events = append(w.events, object{"type": kind, "reason": reason, "message": fmt.Sprintf(format, values...)})
}

func imageGC(in imagesIn) any {
	kube.Gates(in.Gates)
	if in.Op == "format_size" {
		return object{"text": images.OracleSize(in.SizeBytes)}
	}
	policy := images.ImageGCPolicy{
		HighThresholdPercent: in.Policy.High, LowThresholdPercent: in.Policy.Low,
		MinAge: in.Policy.Min, MaxAge: in.Policy.Max,
	}
	w := &world{handlers: in.Gates["RuntimeClassInImageCriApi"], volumes: map[string][]string{}}
	hook := func(_ context.Context, left []string, _ time.Time) { w.hook = append([]string{}, left...) }
	ref := &v1.ObjectReference{Kind: "Node", Name: "n1"}
	manager, err := images.NewImageGCManager(
		w, w, []images.PostImageGCHook{hook}, w, ref, policy, noop.NewTracerProvider())
	if in.Op == "validate_policy" {
		if err != nil {
			return object{"error": err.Error()}
		}
		return object{"error": nil}
	}
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	if in.Op == "image_gc_ties" && vector.Making {
		panic(vector.Skip("all orders of equal images cannot be had"))
	}
	for _, one := range in.Records {
		images.OracleRemember(manager, w.key(one.ID, one.Handler), images.OracleRecord{
			Handler: one.Handler, Detected: at(one.Detected), Used: at(one.Used),
		})
	}
	steps := []object{}
	for number := range in.Steps {
		step := in.Steps[number]
		now := start.Add(step.At)
		images.OracleNow = func() time.Time { return now }
		if step.Images != nil {
			w.images = nil
			for _, one := range *step.Images {
				w.images = append(w.images, container.Image{
					ID: one.ID, Size: one.Size, Pinned: one.Pinned, Spec: container.ImageSpec{RuntimeHandler: one.Handler},
				})
			}
		}
		if step.Pods != nil {
			w.pods = nil
			for _, pod := range *step.Pods {
				shown := &container.Pod{ID: types.UID(pod.UID)}
				for _, one := range pod.Containers {
					w.volumes[one.ID] = one.Volumes
					shown.Containers = append(shown.Containers, &container.Container{
						ID: container.ContainerID{Type: "test", ID: one.ID}, ImageID: one.Image, ImageRuntimeHandler: one.Handler,
					})
				}
				w.pods = append(w.pods, shown)
			}
		}
		if step.ImageFs != nil {
			w.fs = statsapi.FsStats{CapacityBytes: step.ImageFs.Capacity, AvailableBytes: step.ImageFs.Available}
		}
		w.fsError, w.imagesError, w.podError = step.FsError, step.ImagesError, step.PodsError
		w.statusErrors, w.removeErrors = step.StatusError, step.RemoveError
		w.pass, w.hook, w.removed, w.verdicts = "age", nil, []object{}, map[string]string{}
		w.sizes, w.freed = map[string]int64{}, map[string]int64{}
		for _, one := range w.images {
			w.sizes[w.key(one.ID, one.Spec.RuntimeHandler)] = one.Size
		}
		out := object{"action": step.Action}
		var order []images.OracleRecord
		switch step.Action {
		case "detect_images":
			used, err := images.OracleDetect(manager)
			out["images_in_use"] = used
			if err != nil {
				out["images_in_use"], out["error"] = []string{}, err.Error()
			}
		case "delete_unused_images":
			w.pass = "space"
			order = images.OracleOrder(manager)
			w.events = []object{}
			w.show(out, manager.DeleteUnusedImages(context.Background()), order)
		default:
			order = images.OracleOrder(manager)
			w.events = []object{}
			w.show(out, manager.GarbageCollect(context.Background(), start.Add(in.Began)), order)
		}
		if in.Op == "image_gc_ties" {
			names := []string{}
			for _, one := range w.removed {
				names = append(names, one["image_id"].(string))
			}
			return object{"removed": names, "bytes_freed_by_space": w.freed["space"], "enough": out["error"] == nil}
		}
		records := []object{}
		for _, one := range images.OracleRecords(manager) {
			shown := object{
				"key": one.Key, "first_detected_nanoseconds": shownTime(one.Detected),
				"last_used_nanoseconds": shownTime(one.Used), "pinned": one.Pinned, "size_bytes": one.Size,
			}
			if w.handlers {
				shown["runtime_handler"] = one.Handler
			}
			records = append(records, shown)
		}
		out["records_after"] = records
		steps = append(steps, out)
	}
	out := object{"steps": steps}
	if vector.Making && tied(out) {
		panic(vector.Skip("equal images, of which some are removed"))
	}
	return inOrder(vector.Parse([]byte(vector.Text(out))))
}

func (w *world) show(out object, err error, order []images.OracleRecord) {
	out["error"] = nil
	if err != nil {
		out["error"] = err.Error()
	}
	considered := []object{}
	for _, one := range order {
		shown := object{
			"image_id": one.ID, "first_detected_nanoseconds": shownTime(one.Detected),
			"last_used_nanoseconds": shownTime(one.Used), "size_bytes": one.Size,
		}
		if w.handlers {
			shown["runtime_handler"] = one.Handler
		}
		for _, pass := range []string{"age", "space"} {
			if verdict, ok := w.verdicts[pass+w.key(one.ID, one.Handler)]; ok {
				shown[pass+"_pass"] = verdict
			}
		}
		considered = append(considered, shown)
	}
	out["considered"], out["removed"], out["events"] = considered, w.removed, w.events
	out["bytes_freed_by_age"], out["bytes_freed_by_space"] = w.freed["age"], w.freed["space"]
	out["post_gc_hook_remaining_images"] = w.hook
}

// inOrder sorts equal images by their names: the kubelet takes them in the order of a hash map.
func inOrder(out any) any {
	answer, _ := out.(object)
	steps, ok := answer["steps"].([]any)
	if !ok {
		return out
	}
	ordered := []any{}
	for _, one := range steps {
		step := object{}
		for key, value := range one.(object) {
			step[key] = value
		}
		considered, _ := step["considered"].([]any)
		if step["considered"] == nil {
			ordered = append(ordered, step)
			continue
		}
		considered = append([]any{}, considered...)
		key := func(one any, fields ...string) string {
			text := ""
			for _, field := range fields {
				text += fmt.Sprint(one.(object)[field], " ")
			}
			return text
		}
		times := []string{"last_used_nanoseconds", "first_detected_nanoseconds"}
		for from := 0; from < len(considered); {
			to := from + 1
			for to < len(considered) && key(considered[to], times...) == key(considered[from], times...) {
				to++
			}
			group := considered[from:to]
			sort.Slice(group, func(i, j int) bool {
				return key(group[i], "image_id", "runtime_handler") < key(group[j], "image_id", "runtime_handler")
			})
			from = to
		}
		place := map[string]int{}
		for at, one := range considered {
			place[key(one, "image_id", "runtime_handler")] = at
		}
		removed := append([]any{}, step["removed"].([]any)...)
		sort.SliceStable(removed, func(i, j int) bool {
			a, b := removed[i].(object), removed[j].(object)
			if a["pass"] != b["pass"] {
				return a["pass"] == "age"
			}
			return place[key(a, "image_id", "runtime_handler")] < place[key(b, "image_id", "runtime_handler")]
		})
		step["considered"], step["removed"] = considered, removed
		if left, ok := step["post_gc_hook_remaining_images"].([]any); ok {
			// An ID is left as often as it was considered and not removed.
			count, kept := map[any]int{}, []any{}
			for _, id := range left {
				count[id]++
			}
			for _, one := range considered {
				one := one.(object)
				if count[one["image_id"]] > 0 && one["age_pass"] != "removed" && one["space_pass"] != "removed" {
					count[one["image_id"]]--
					kept = append(kept, one["image_id"])
				}
			}
			step["post_gc_hook_remaining_images"] = kept
		}
		ordered = append(ordered, step)
	}
	return object{"steps": ordered}
}
