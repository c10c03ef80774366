package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	nodeInfo      = framework.NodeInfo
	runtimeObject = runtime.Object
)

var newNodeInfo = framework.NewNodeInfo

func noUpdate(*nodeInfo, *lifecycle.PodAdmitAttributes) error { return nil }

// amounts shows what the scheduler's framework counts; a negative number of pods is left out.
func amounts(of *framework.Resource, pods int) object {
	shown := object{
		"cpu_millis": of.MilliCPU, "memory_bytes": of.Memory, "ephemeral_storage_bytes": of.EphemeralStorage,
	}
	if pods >= 0 {
		shown["pods"] = pods
	}
	if len(of.ScalarResources) > 0 {
		shown["other"] = of.ScalarResources
	}
	return shown
}
