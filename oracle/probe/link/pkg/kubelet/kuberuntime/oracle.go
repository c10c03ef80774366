package kuberuntime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	internalapi "k8s.io/cri-api/pkg/apis"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// What the oracle's programs need of this package.

func OracleRunner(service internalapi.RuntimeService) kubecontainer.CommandRunner {
	return &kubeGenericRuntimeManager{runtimeService: service}
}

type oracleStop struct {
	internalapi.RuntimeService
	timeout int64
}

func (s *oracleStop) StopContainer(_ context.Context, _ string, timeout int64) error {
	s.timeout = timeout
	return nil
}

// OracleKill kills the only container of a pod, and returns its grace period and what the runtime is given.
func OracleKill(pod *v1.Pod, reason string) (grace, given int64) {
	ctx, id, stop := context.Background(), kubecontainer.ContainerID{Type: "test", ID: "abc123"}, &oracleStop{}
	container := &pod.Spec.Containers[0]
	of := map[string]containerKillReason{
		"liveness_probe_failed": reasonLivenessProbe, "startup_probe_failed": reasonStartupProbe,
		"failed_post_start_hook": reasonFailedPostStartHook, "other": reasonUnknown,
	}[reason]
	manager := &kubeGenericRuntimeManager{runtimeService: stop, recorder: &record.FakeRecorder{}}
	if err := manager.killContainer(ctx, pod, id, container.Name, "", of, nil, nil); err != nil {
		panic(err)
	}
	return setTerminationGracePeriod(ctx, pod, container, container.Name, id, of), stop.timeout
}

var _ = time.Second
