package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/dump"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	allocation "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum"
	checkpointerrors "k8s.io/kubernetes/pkg/kubelet/checkpointmanager/errors"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
	drastate "k8s.io/kubernetes/pkg/kubelet/cm/dra/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

func statusError(text string) error { return status.Error(codes.Unavailable, text) }

type entryIn struct {
	Pod       string               `json:"pod_uid"`
	Container string               `json:"container_name"`
	Resource  string               `json:"resource_name"`
	IDs       *map[string][]string `json:"device_ids_by_numa_node"`
	Answer    *string              `json:"allocate_response_bytes_base64"`
}

type checkpointIn struct {
	Operation  string
	Text       *string              `json:"file_text"`
	Base64     *string              `json:"file_base64"`
	Entries    *[]entryIn           `json:"pod_device_entries"`
	Registered *map[string][]string `json:"registered_devices"`
}

func file(text, encoded *string) []byte {
	if text != nil {
		return []byte(*text)
	}
	if encoded == nil {
		panic(vector.Skip("no file"))
	}
	bytes, err := base64.StdEncoding.DecodeString(*encoded)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	return bytes
}

// preimage adds the text that is hashed, or what is said of a long one.
func preimage(out object, of any) {
	text := dump.ForHash(of)
	if len(text) < 2700 {
		out["checksum_preimage"] = text
		return
	}
	out["checksum_preimage_sha256"] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	out["checksum_preimage_length_bytes"] = len(text)
	out["checksum_preimage_first_400_characters"] = string([]rune(text)[:400])
}

func checkpointFile(in checkpointIn) any {
	if in.Operation == "encode" {
		return encode(in)
	}
	dir := folder(devicemanager.OracleFile, file(in.Text, in.Base64))
	defer os.RemoveAll(dir)
	cp, manager, err := devicemanager.OracleLoad(dir)
	if err != nil && !errors.Is(err, checkpointerrors.CorruptCheckpointError{}) && err.Error() != "checkpoint is corrupted" {
		return object{"load": "parse_error", "error": err.Error()}
	}
	data := cp.(*checkpoint.Data)
	computed := checksum.New(data.Data)
	out := object{
		"load": "ok", "checksum_in_file": data.Checksum, "checksum_computed": computed,
		"checksum_valid": data.Checksum == computed,
	}
	preimage(out, data.Data)
	rows := any(nil)
	list, registered := cp.GetData()
	if list != nil {
		shown := []object{}
		for _, one := range list {
			shown = append(shown, entry(one))
		}
		rows = shown
	}
	out["pod_device_entries"], out["registered_devices"] = rows, registered
	if err != nil {
		out["load"], out["error"] = "checksum_mismatch", err.Error()
		return out
	}
	_, healthy, _ := manager.Left()
	stopped, with := []string{}, []string{}
	for name, ids := range healthy {
		stopped = append(stopped, name)
		if len(ids) > 0 {
			with = append(with, name)
		}
	}
	sort.Strings(stopped)
	out["kubelet_state_after_load"] = object{
		"pod_devices": entries(manager.All()), "allocated_devices": manager.Allocated(),
		"resources_with_stopped_plugin": stopped, "resources_with_healthy_devices": with,
	}
	return out
}

func entry(one checkpoint.PodDevicesEntry) object {
	ids := any(nil)
	if one.DeviceIDs != nil {
		shown := object{}
		for node, list := range one.DeviceIDs {
			shown[strconv.FormatInt(node, 10)] = list
		}
		ids = shown
	}
	encoded := any(nil)
	if one.AllocResp != nil {
		encoded = base64.StdEncoding.EncodeToString(one.AllocResp)
	}
	row := object{
		"pod_uid": one.PodUID, "container_name": one.ContainerName, "resource_name": one.ResourceName,
		"device_ids_by_numa_node": ids, "allocate_response_bytes_base64": encoded,
	}
	answer := &pluginapi.ContainerAllocateResponse{}
	if err := proto.Unmarshal(one.AllocResp, answer); err != nil {
		row["allocate_response"] = "undecodable"
		return row
	}
	mounts, devices, cdi := []object{}, []object{}, []string{}
	for _, mount := range answer.Mounts {
		mounts = append(mounts, object{
			"container_path": mount.ContainerPath, "host_path": mount.HostPath, "read_only": mount.ReadOnly,
		})
	}
	for _, device := range answer.Devices {
		devices = append(devices, object{
			"container_path": device.ContainerPath, "host_path": device.HostPath, "permissions": device.Permissions,
		})
	}
	for _, device := range answer.CdiDevices {
		cdi = append(cdi, device.Name)
	}
	some := func(of map[string]string) map[string]string {
		if of == nil {
			return map[string]string{}
		}
		return of
	}
	row["allocate_response"] = object{
		"envs": some(answer.Envs), "annotations": some(answer.Annotations), "mounts": mounts, "devices": devices, "cdi_devices": cdi,
	}
	return row
}

func encode(in checkpointIn) any {
	var list []checkpoint.PodDevicesEntry
	if in.Entries != nil {
		list = []checkpoint.PodDevicesEntry{}
		for _, one := range *in.Entries {
			made := checkpoint.PodDevicesEntry{PodUID: one.Pod, ContainerName: one.Container, ResourceName: one.Resource}
			if one.IDs != nil {
				made.DeviceIDs = checkpoint.DevicesPerNUMA{}
				for node, ids := range *one.IDs {
					number, err := strconv.ParseInt(node, 10, 64)
					if err != nil {
						panic(vector.Skip(err.Error()))
					}
					made.DeviceIDs[number] = ids
				}
			}
			if one.Answer != nil {
				made.AllocResp = file(nil, one.Answer)
			}
			list = append(list, made)
		}
	}
	var registered map[string][]string
	if in.Registered != nil {
		registered = *in.Registered
		if registered == nil {
			registered = map[string][]string{}
		}
	}
	cp := checkpoint.New(list, registered)
	text, err := cp.MarshalCheckpoint()
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	data := cp.(*checkpoint.Data)
	out := object{"file_text": string(text), "checksum_computed": data.Checksum}
	preimage(out, data.Data)
	return out
}

// folder is a folder with a file.
func folder(name string, text []byte) string {
	dir, err := os.MkdirTemp("", "oracle-state-")
	if err != nil {
		panic(err)
	}
	if text != nil {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			panic(err)
		}
	}
	return dir
}

type stateIn struct {
	Kind, Operation string
	Gates           map[string]bool `json:"feature_gates"`
	Policy          string          `json:"configured_policy"`
	Text            *string         `json:"file_text"`
	Base64          *string         `json:"file_base64"`
	Seen            []struct {
		ID        string `json:"container_id"`
		Pod       string `json:"pod_uid"`
		Container string `json:"container_name"`
	} `json:"containers_seen_at_kubelet_start"`
	Default   string                                 `json:"default_cpu_set"`
	CPUs      map[string]map[string]string           `json:"container_cpu_sets"`
	PodCPUs   map[string]string                      `json:"pod_cpu_sets"`
	Machine   memorystate.NUMANodeMap                `json:"machine_state"`
	Blocks    memorystate.ContainerMemoryAssignments `json:"container_memory_blocks"`
	PodBlocks memorystate.PodMemoryAssignments       `json:"pod_memory_blocks"`
	Pods      map[types.UID]podIn
	Claims    *[]claimIn
}

type podIn struct {
	Containers map[string]v1.ResourceRequirements `json:"container_resources"`
	Level      *v1.ResourceRequirements           `json:"pod_level_resources"`
}

type claimIn struct {
	Name    string   `json:"claim_name"`
	UID     string   `json:"claim_uid"`
	Space   string   `json:"namespace"`
	Pods    []string `json:"pod_uids"`
	Drivers map[string][]struct {
		Pool     string   `json:"pool_name"`
		Device   string   `json:"device_name"`
		Share    *string  `json:"share_id"`
		Requests []string `json:"request_names"`
		CDI      []string `json:"cdi_device_ids"`
	} `json:"driver_devices"`
}

func stateFile(in stateIn) (out any) {
	kube.Gates(in.Gates)
	var text []byte
	if in.Operation != "encode" {
		text = file(in.Text, in.Base64)
	}
	dir := folder(in.Kind, text)
	defer os.RemoveAll(dir)
	if in.Operation == "start" {
		return started(in.Kind, dir)
	}
	failed := func(err error) object {
		return object{"load": "error", "error": strings.ReplaceAll(err.Error(), dir, "{kubelet_root}")}
	}
	written := func() object {
		text, err := os.ReadFile(filepath.Join(dir, in.Kind))
		if err != nil {
			return object{"file_text": nil}
		}
		return object{"file_text": string(text)}
	}
	set := func(text string) cpuset.CPUSet {
		cpus, err := cpuset.Parse(text)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		return cpus
	}
	switch in.Kind {
	case "cpu_manager_state":
		known := containermap.NewContainerMap()
		for _, one := range in.Seen {
			known.Add(one.Pod, one.Container, one.ID)
		}
		state, err := cpustate.NewCheckpointState(klog.Background(), dir, in.Kind, in.Policy, known)
		if err != nil {
			return failed(err)
		}
		if in.Operation == "encode" {
			containers := cpustate.ContainerCPUAssignments{}
			for pod, sets := range in.CPUs {
				containers[pod] = map[string]cpuset.CPUSet{}
				for name, text := range sets {
					containers[pod][name] = set(text)
				}
			}
			state.SetDefaultCPUSet(set(in.Default))
			state.SetCPUAssignments(containers)
			if in.PodCPUs != nil {
				setPodCPUs(state, in.PodCPUs, set)
			}
			return written()
		}
		containers := object{}
		for pod, sets := range state.GetCPUAssignments() {
			shown := object{}
			for name, cpus := range sets {
				shown[name] = cpus.String()
			}
			containers[pod] = shown
		}
		content := object{"default_cpu_set": state.GetDefaultCPUSet().String(), "container_cpu_sets": containers}
		if pods := podCPUs(state); len(pods) > 0 {
			content["pod_cpu_sets"] = pods
		}
		return object{"load": "ok", "content": content}
	case "memory_manager_state":
		state, err := memorystate.NewCheckpointState(klog.Background(), dir, in.Kind, in.Policy)
		if err != nil {
			return failed(err)
		}
		if in.Operation == "encode" {
			state.SetMachineState(in.Machine)
			state.SetMemoryAssignments(in.Blocks)
			if in.PodBlocks != nil {
				setPodBlocks(state, in.PodBlocks)
			}
			return written()
		}
		content := object{"machine_state": state.GetMachineState(), "container_memory_blocks": state.GetMemoryAssignments()}
		if pods := podBlocks(state); pods != nil {
			content["pod_memory_blocks"] = pods
		}
		return object{"load": "ok", "content": content}
	case "dra_manager_state":
		return claims(in, dir, failed)
	}
	state, err := allocation.NewStateCheckpoint(dir, in.Kind)
	if err != nil {
		return failed(err)
	}
	if in.Operation == "encode" {
		for _, uid := range vector.Keys(in.Pods) {
			info := allocation.PodResourceInfo{ContainerResources: in.Pods[types.UID(uid)].Containers}
			setLevel(&info, in.Pods[types.UID(uid)].Level)
			if err := setInfo(state, types.UID(uid), info); err != nil {
				panic(vector.Skip(err.Error()))
			}
		}
		return written()
	}
	content := object{}
	for uid, info := range state.GetPodResourceInfoMap() {
		shown := object{"container_resources": info.ContainerResources}
		if given := level(info); vector.Text(given) != "null" {
			shown["pod_level_resources"] = given
		}
		content[string(uid)] = shown
	}
	return object{"load": "ok", "content": content}
}

// started is how a start of the kubelet ends that finds a file of pods.
func started(kind, dir string) (out object) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case vector.Skip:
			panic(cause)
		default:
			out = object{"start": "panic", "error": strings.ReplaceAll(fmt.Sprint(cause), dir, "{kubelet_root}")}
		}
	}()
	readPods(kind, dir)
	return object{"start": "goes on"}
}

func claims(in stateIn, dir string, failed func(error) object) any {
	if in.Operation == "encode" {
		var list drastate.ClaimInfoStateList
		if in.Claims != nil {
			list = drastate.ClaimInfoStateList{}
			for _, one := range *in.Claims {
				list = append(list, claim(one))
			}
		}
		cp, err := drastate.NewCheckpoint(list)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		text, err := cp.MarshalCheckpoint()
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		return object{"file_text": string(bytes.TrimSpace(text)), "checksum_computed": cp.Checksum}
	}
	files, err := drastate.NewCheckpointer(dir, in.Kind)
	if err != nil {
		return failed(err)
	}
	cp, err := files.GetOrCreate()
	if err != nil {
		return failed(err)
	}
	list, err := cp.GetClaimInfoStateList()
	if err != nil {
		out := failed(err)
		out["stage"] = "decode of Data"
		return out
	}
	if list == nil {
		return object{"load": "ok", "content": nil}
	}
	rows := []object{}
	for _, one := range list {
		drivers := object{}
		for name, driver := range one.DriverState {
			devices := []object{}
			for _, device := range driver.Devices {
				devices = append(devices, shownDevice(device))
			}
			drivers[name] = devices
		}
		pods := append([]string{}, one.PodUIDs.UnsortedList()...)
		sort.Strings(pods)
		rows = append(rows, object{
			"claim_uid": one.ClaimUID, "claim_name": one.ClaimName, "namespace": one.Namespace, "pod_uids": pods,
			"driver_devices": drivers,
		})
	}
	return object{"load": "ok", "content": rows}
}
