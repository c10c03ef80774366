package kubelet

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/images"
)

// OracleUntil stands for wait.Until in StartGarbageCollection, for the oracle's programs.
var OracleUntil func(run func(), period time.Duration, stop <-chan struct{})

// OracleGC starts the loops of garbage collection.
func OracleGC(
	high int32, age time.Duration, containers kubecontainer.GC, manager images.ImageGCManager, recorder record.EventRecorderLogger,
) {
	kl := &Kubelet{
		containerGC: containers, imageManager: manager, recorder: recorder, nodeRef: &v1.ObjectReference{Kind: "Node", Name: "n1"},
		kubeletConfiguration: kubeletconfig.KubeletConfiguration{
			ImageGCHighThresholdPercent: high, ImageMaximumGCAge: metav1.Duration{Duration: age},
		},
	}
	kl.StartGarbageCollection(context.Background())
}
