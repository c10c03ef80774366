package main

import (
	"math/rand"
	"reflect"

	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/resource"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
)

type sumsIn struct {
	Pod     *v1.Pod
	Options struct {
		ExcludeOverhead bool            `json:"exclude_overhead"`
		SkipPod         bool            `json:"skip_pod_level_resources"`
		SkipContainers  bool            `json:"skip_container_level_resources"`
		Status          bool            `json:"use_status_resources"`
		PodStatus       bool            `json:"in_place_pod_level_resources_vertical_scaling_enabled"`
		Claims          bool            `json:"use_dra_node_allocatable_resource_claim_status"`
		NonMissing      v1.ResourceList `json:"non_missing_container_requests"`
	}
}

func podResources() vector.Family {
	return vector.Family{Answer: vector.Of(sums), Random: func(r *rand.Rand) any { return object{"pod": kube.Pod(r)} }}
}

// set sets an option that not all versions have.
func set(options *helpers.PodResourcesOptions, name string, on bool) {
	if field := reflect.ValueOf(options).Elem().FieldByName(name); field.IsValid() {
		field.SetBool(on)
	} else if on {
		panic(vector.Skip("this version has no " + name))
	}
}

func sums(in sumsIn) any {
	options := helpers.PodResourcesOptions{
		ExcludeOverhead: in.Options.ExcludeOverhead, UseStatusResources: in.Options.Status,
		SkipPodLevelResources: in.Options.SkipPod, NonMissingContainerRequests: in.Options.NonMissing,
	}
	set(&options, "SkipContainerLevelResources", in.Options.SkipContainers)
	set(&options, "InPlacePodLevelResourcesVerticalScalingEnabled", in.Options.PodStatus)
	set(&options, "UseDRANodeAllocatableResourceClaimStatus", in.Options.Claims)
	seen := []object{}
	options.ContainerFn = func(list v1.ResourceList, kind helpers.ContainerType) {
		name := "container"
		if kind == helpers.InitContainers {
			name = "init_container"
		}
		seen = append(seen, object{"kind": name, "resources": kube.List(list)})
	}
	out := object{"requests": kube.List(helpers.PodRequests(in.Pod, options))}
	requests := seen
	seen = []object{}
	// These options are for requests only.
	set(&options, "SkipContainerLevelResources", false)
	set(&options, "UseDRANodeAllocatableResourceClaimStatus", false)
	options.NonMissingContainerRequests = nil
	out["limits"] = kube.List(helpers.PodLimits(in.Pod, options))
	if len(in.Pod.Spec.InitContainers) > 0 || in.Options.Status {
		out["container_requests_seen"], out["container_limits_seen"] = requests, seen
	}
	return out
}
