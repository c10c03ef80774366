package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/images"
)

type loopsIn struct {
	Op         string
	Config     object
	High       int32     `json:"image_gc_high_threshold_percent"`
	Age        int64     `json:"image_maximum_gc_age_seconds"`
	Containers []*string `json:"container_gc_results"`
	Images     []*string `json:"image_gc_results"`
}

// loop is one of the loops: its calls, and the events of the kubelet, with the time.
type loop struct {
	kubecontainer.GC
	images.ImageGCManager
	record.EventRecorder
	results []*string
	calls   []int64
	events  []object
}

func (l *loop) next() error {
	result := l.results[len(l.calls)-1]
	if result == nil {
		return nil
	}
	return errors.New(*result)
}

type containerLoop struct {
	kubecontainer.GC
	l *loop
}

func (c containerLoop) GarbageCollect(context.Context) error { return c.l.next() }

type imageLoop struct {
	images.ImageGCManager
	l *loop
}

func (i imageLoop) GarbageCollect(context.Context, time.Time) error { return i.l.next() }

type loopEvents struct {
	record.EventRecorder
	current **loop
}

func (e loopEvents) WithLogger(klog.Logger) record.EventRecorderLogger { return e }

func (e loopEvents) Event(_ runtime.Object, kind, reason, message string) {
	l := *e.current
	l.events = append(l.events, object{
		"at_seconds": l.calls[len(l.calls)-1], "type": kind, "reason": reason, "message": message,
	})
}

func (e loopEvents) Eventf(of runtime.Object, kind, reason, format string, values ...interface{}) {
	e.Event(of, kind, reason, fmt.Sprintf(format, values...))
}

func gcLoop(in loopsIn) any {
	if in.Op == "image_gc_configuration" {
		return gcConfiguration(in)
	}
	containers, pictures := &loop{results: in.Containers}, &loop{results: in.Images}
	current, loops := containers, 0
	kubelet.OracleUntil = func(run func(), period time.Duration, _ <-chan struct{}) {
		current = []*loop{containers, pictures}[loops]
		loops++
		for number := range current.results {
			current.calls = append(current.calls, int64(number)*int64(period/time.Second))
			run()
		}
	}
	kubelet.OracleGC(
		in.High, time.Duration(in.Age)*time.Second, containerLoop{l: containers}, imageLoop{l: pictures},
		loopEvents{current: &current})
	return object{
		"container_gc_calls_at_seconds": append([]int64{}, containers.calls...),
		"container_gc_events":           append([]object{}, containers.events...),
		"image_gc_calls_at_seconds":     append([]int64{}, pictures.calls...),
		"image_gc_events":               append([]object{}, pictures.events...), "image_gc_loop_started": loops > 1,
	}
}

func gcConfiguration(in loopsIn) any {
	document := object{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
	for key, value := range in.Config {
		document[key] = value
	}
	config, _, _, err := load([]byte(vector.Text(document)), true)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	errs := []string{}
	problem := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate)
	if several, ok := problem.(utilerrors.Aggregate); ok {
		for _, one := range utilerrors.Flatten(several).Errors() {
			text := one.Error()
			if strings.Contains(text, "imageGC") || strings.Contains(text, "imageM") {
				errs = append(errs, text)
			}
		}
	}
	_, err = images.NewImageGCManager(nil, nil, nil, nil, nil, images.ImageGCPolicy{
		HighThresholdPercent: int(config.ImageGCHighThresholdPercent), LowThresholdPercent: int(config.ImageGCLowThresholdPercent),
	}, noop.NewTracerProvider())
	out := object{"image_errors": errs, "policy_error": nil, "effective": object{
		"imageGCHighThresholdPercent":      config.ImageGCHighThresholdPercent,
		"imageGCLowThresholdPercent":       config.ImageGCLowThresholdPercent,
		"imageMaximumGCAge":                config.ImageMaximumGCAge.Duration.String(),
		"imageMinimumGCAge":                config.ImageMinimumGCAge.Duration.String(),
		"image_maximum_gc_age_nanoseconds": config.ImageMaximumGCAge.Duration.Nanoseconds(),
		"image_minimum_gc_age_nanoseconds": config.ImageMinimumGCAge.Duration.Nanoseconds(),
	}}
	if err != nil {
		out["policy_error"] = err.Error()
	}
	return out
}
