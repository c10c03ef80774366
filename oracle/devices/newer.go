package main

// What versions have differently.

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/cmd/oracle/vector"
	podallocation "k8s.io/kubernetes/pkg/kubelet/allocation"
	allocation "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	drastate "k8s.io/kubernetes/pkg/kubelet/cm/dra/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

func setPodCPUs(state cpustate.State, of map[string]string, set func(string) cpuset.CPUSet) {
	pods := cpustate.PodCPUAssignments{}
	for uid, text := range of {
		pods[uid] = cpustate.PodEntry{CPUSet: set(text)}
	}
	state.SetPodCPUAssignments(pods)
}

func podCPUs(state cpustate.State) map[string]any {
	shown := map[string]any{}
	for uid, one := range state.GetPodCPUAssignments() {
		shown[uid] = one.CPUSet.String()
	}
	return shown
}

func setPodBlocks(state memorystate.State, of memorystate.PodMemoryAssignments) {
	state.SetPodMemoryAssignments(of)
}

func podBlocks(state memorystate.State) any {
	if pods := state.GetPodMemoryAssignments(); len(pods) > 0 {
		return pods
	}
	return nil
}

func setLevel(info *allocation.PodResourceInfo, level *v1.ResourceRequirements) {
	info.PodLevelResources = level
}

func level(info allocation.PodResourceInfo) any { return info.PodLevelResources }

func setInfo(state allocation.State, uid types.UID, info allocation.PodResourceInfo) error {
	return state.SetPodResourceInfo(klog.Background(), uid, info)
}

// readPods reads the resources of pods as the start of the kubelet does.
func readPods(kind, dir string) {
	if kind == "actuated_pods_state" {
		panic(vector.Skip("the manager of the runtime reads it"))
	}
	podallocation.OracleStart(dir)
}

func claim(one claimIn) drastate.ClaimInfoState {
	made := drastate.ClaimInfoState{
		ClaimUID: types.UID(one.UID), ClaimName: one.Name, Namespace: one.Space, PodUIDs: sets.New(one.Pods...),
		DriverState: map[string]drastate.DriverState{},
	}
	for name, devices := range one.Drivers {
		state := drastate.DriverState{}
		for _, device := range devices {
			shown := drastate.Device{
				PoolName: device.Pool, DeviceName: device.Device, RequestNames: device.Requests, CDIDeviceIDs: device.CDI,
			}
			if device.Share != nil {
				share := types.UID(*device.Share)
				shown.ShareID = &share
			}
			state.Devices = append(state.Devices, shown)
		}
		made.DriverState[name] = state
	}
	return made
}

func shownDevice(device drastate.Device) object {
	return object{
		"pool_name": device.PoolName, "device_name": device.DeviceName, "share_id": device.ShareID,
		"request_names": device.RequestNames, "cdi_device_ids": device.CDIDeviceIDs,
	}
}
