package kuberuntime

import (
	"context"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	internalapi "k8s.io/cri-api/pkg/apis"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
)

// What the oracle's programs need of this package. The garbage collector takes its time from OracleNow.
var OracleNow = time.Now

// OraclePods says of which pods the runtime's part, and the content, should be removed.
type OraclePods struct{ Runtime, Content map[types.UID]bool }

func (p OraclePods) IsPodTerminationRequested(types.UID) bool     { return false }
func (p OraclePods) ShouldPodRuntimeBeRemoved(uid types.UID) bool { return p.Runtime[uid] }
func (p OraclePods) ShouldPodContentBeRemoved(uid types.UID) bool { return p.Content[uid] }

// OracleGarbageCollect runs one garbage collection of containers.
func OracleGarbageCollect(
	service internalapi.RuntimeService, system kubecontainer.OSInterface, pods OraclePods,
	policy kubecontainer.GCPolicy, ready, all bool,
) error {
	ctx, tracer := context.Background(), noop.NewTracerProvider().Tracer("")
	manager, err := newFakeKubeRuntimeManager(
		ctx, service, nil, &cadvisorapi.MachineInfo{}, system, &containertest.FakeRuntimeHelper{}, tracer)
	if err != nil {
		return err
	}
	return newContainerGC(service, pods, manager, tracer).GarbageCollect(ctx, policy, ready, all)
}
