// Program devices answers for the device manager, and for the kubelet's files of state.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/admission"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

type object = vector.Object

func main() {
	optional := []string{
		"checksum_preimage", "checksum_preimage_sha256", "checksum_preimage_length_bytes",
		"checksum_preimage_first_400_characters", "kubelet_state_after_load",
	}
	vector.Main(map[string]vector.Family{
		"device_allocate": {
			Answer: vector.Of(allocate), Runs: 300, Merge: choice, Random: randomAllocation, Alone: true, Most: 12,
		},
		"device_capacity":    {Answer: vector.Of(capacity)},
		"device_register":    {Answer: vector.Of(register), Random: randomPlugin, Alone: true},
		"device_run_options": {Answer: vector.Of(runOptions), Runs: 30},
		"topology_hints":     {Answer: vector.Of(hints), Partial: true},
		"checkpoint":         {Answer: vector.Of(checkpointFile), Optional: optional},
		"state_files":        {Answer: vector.Of(stateFile), Partial: true},
	})
}

type resourceIn struct {
	Registered bool
	Endpoint   any
	Devices    []devicemanager.OracleDevice
	Stopped    *int64 `json:"plugin_stopped_seconds_ago"`
	Only       string `json:"only_known_in"`
}

type allocateIn struct {
	Gates     map[string]bool `json:"feature_gates"`
	Resources map[string]resourceIn
	Entries   []devicemanager.OracleEntry `json:"pod_devices"`
	Active    []string                    `json:"active_pod_uids"`
	Ready     *bool                       `json:"sources_ready"`
	Seen      []struct {
		Pod       string `json:"pod_uid"`
		Container string `json:"container_name"`
		ID        string `json:"container_id"`
		Running   bool
	} `json:"containers_seen_at_kubelet_start"`
	Affinity  map[string][]int `json:"topology_affinity_numa_nodes"`
	Pod       *v1.Pod
	Machine   []int               `json:"numa_nodes_of_machine"`
	Reusable  map[string][]string `json:"reusable_devices_of_pod"`
	Container string
}

func texts(value any) []string {
	result := []string{}
	list, _ := value.([]any)
	for _, one := range list {
		result = append(result, one.(string))
	}
	return result
}

func sorted(list []string) []string {
	result := append([]string{}, list...)
	sort.Strings(result)
	return result
}

func (in allocateIn) manager(calls *[]object) devicemanager.OracleManager {
	manager := devicemanager.NewOracleManager(in.Machine, in.Affinity, in.Ready == nil || *in.Ready, in.Active)
	for name, one := range in.Resources {
		var of *devicemanager.OraclePlugin
		if endpoint, ok := one.Endpoint.(object); ok {
			of = &devicemanager.OraclePlugin{}
			of.HasPrefers, _ = endpoint["get_preferred_allocation_available"].(bool)
			if stopped, _ := endpoint["stopped"].(bool); stopped {
				ago := time.Second
				of.StoppedAgo = &ago
			}
			of.Prefers = func(request *pluginapi.ContainerPreferredAllocationRequest) ([]string, bool, error) {
				*calls = append(*calls, object{
					"call": "GetPreferredAllocation", "resource": name, "allocation_size": request.AllocationSize,
					"available_device_ids":    sorted(request.AvailableDeviceIDs),
					"must_include_device_ids": sorted(request.MustIncludeDeviceIDs),
				})
				if text, ok := endpoint["preferred_allocation_error"].(string); ok {
					return nil, false, errors.New(text)
				}
				ids, ok := endpoint["preferred_allocation_returns"]
				return texts(ids), ok, nil
			}
			of.Allocates = func(ids []string) (bool, error) {
				*calls = append(*calls, object{"call": "Allocate", "resource": name, "device_ids": sorted(ids)})
				if text, ok := endpoint["allocate_error"].(string); ok {
					return false, errors.New(text)
				}
				lacks, _ := endpoint["allocate_returns_no_container_response"].(bool)
				return !lacks, nil
			}
		}
		manager.Resource(name, one.Registered, one.Devices, of, one.Only)
	}
	manager.Entries(in.Entries)
	for _, one := range in.Seen {
		manager.Seen(one.Pod, one.Container, one.ID, one.Running)
	}
	return manager
}

var stopped = regexp.MustCompile(`(?s)endpoint .* has been stopped`)

func allocate(in allocateIn) any {
	kube.Gates(in.Gates)
	calls := []object{}
	manager := in.manager(&calls)
	steps := []object{}
	uid := string(in.Pod.UID)
	var failed error
	all := append(append([]v1.Container{}, in.Pod.Spec.InitContainers...), in.Pod.Spec.Containers...)
	for at := range all {
		calls = []object{}
		failed = manager.M.Allocate(in.Pod, &all[at])
		sort.SliceStable(calls, func(i, j int) bool {
			return fmt.Sprint(calls[i]["resource"]) < fmt.Sprint(calls[j]["resource"])
		})
		step := object{
			"container": all[at].Name, "plugin_calls": calls, "devices_of_container": manager.Of(uid, all[at].Name),
			"reusable_devices_after": manager.ReusableNow(uid), "error": nil,
		}
		if failed != nil {
			failed = errors.New(stopped.ReplaceAllString(failed.Error(), "endpoint {...} has been stopped"))
			step["error"] = failed.Error()
		}
		steps = append(steps, step)
		if failed != nil {
			break
		}
	}
	shown := object{"admitted": true}
	if failed != nil {
		result := admission.GetPodAdmitResult(failed)
		shown = object{"admitted": false, "reason": result.Reason, "message": result.Message}
	}
	writes, _ := manager.Written()
	return object{
		"steps": steps, "admission": shown, "allocated_devices_after": manager.Allocated(),
		"pod_devices_after": entries(manager.All()), "checkpoint_writes": writes,
	}
}

// choice says what is the same in all answers, where the kubelet chooses some devices of one resource for one container.
func choice(answers []any) any {
	var chosen map[string]int
	var said object
	for _, one := range answers {
		answer := one.(object)
		steps, _ := answer["steps"].([]any)
		if len(steps) != 1 || answer["admission"].(object)["admitted"] != true {
			return nil
		}
		step := steps[0].(object)
		of := step["devices_of_container"].(object)
		if len(of) != 1 {
			return nil
		}
		if chosen == nil {
			chosen = map[string]int{}
		}
		for resource, list := range of {
			for _, id := range list.([]any) {
				chosen[id.(string)]++
			}
			said = object{"resource": resource, "device_count": len(list.([]any)), "container": step["container"], "error": nil}
		}
	}
	always, from := []any{}, []any{}
	for _, id := range vector.Keys(chosen) {
		if chosen[id] == len(answers) {
			always = append(always, id)
		} else {
			from = append(from, id)
		}
	}
	said["always_includes"], said["remaining_chosen_from"] = always, from
	said["remaining_count"] = said["device_count"].(int) - len(always)
	return vector.Parse([]byte(vector.Text(object{"admission": answers[0].(object)["admission"], "constraint": said})))
}

func entries(list []devicemanager.OracleEntry) []object {
	result := []object{}
	for _, one := range list {
		result = append(result, object{
			"pod_uid": one.Pod, "container_name": one.Container, "resource_name": one.Resource,
			"device_ids_by_numa_node": one.IDs,
		})
	}
	return result
}

type capacityIn struct{ Resources map[string]resourceIn }

func capacity(in capacityIn) any {
	manager := devicemanager.NewOracleManager(nil, nil, true, nil)
	for name, one := range in.Resources {
		var of *devicemanager.OraclePlugin
		if one.Endpoint != "none" && one.Endpoint != nil {
			of = &devicemanager.OraclePlugin{}
			if one.Endpoint == "stopped" {
				ago := time.Duration(0)
				if one.Stopped != nil {
					ago = time.Duration(*one.Stopped) * time.Second
				}
				of.StoppedAgo = &ago
			}
		}
		manager.Resource(name, one.Registered, one.Devices, of, one.Only)
	}
	all, free, deleted := manager.M.GetCapacity()
	endpoints, healthy, unhealthy := manager.Left()
	writes, last := manager.Written()
	out := object{
		"capacity": kube.List(all), "allocatable": kube.List(free), "deleted_resources": sorted(deleted),
		"endpoints_left": endpoints, "healthy_devices_left": healthy, "unhealthy_devices_left": unhealthy,
		"checkpoint_written": writes > 0,
	}
	if writes > 0 {
		out["checkpoint_registered_devices"] = last
	}
	return out
}

type registerIn struct {
	Path     string
	Name     string `json:"resource_name"`
	Version  string
	Versions []string
	Options  string `json:"get_device_plugin_options_error"`
	Socket   string `json:"plugin_socket"`
}

// served is a plugin on a socket.
type served struct {
	pluginapi.UnimplementedDevicePluginServer
	failure string
}

func (s served) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	if s.failure != "" {
		return nil, asStatus(s.failure)
	}
	return &pluginapi.DevicePluginOptions{}, nil
}

func (s served) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	<-stream.Context().Done()
	return nil
}

func register(in registerIn) any {
	dir, err := os.MkdirTemp("", "oracle-plugin-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if in.Socket == "" && in.Path == "Register" {
		listener, err := net.Listen("unix", filepath.Join(dir, "plugin.sock"))
		if err != nil {
			panic(err)
		}
		server := grpc.NewServer()
		pluginapi.RegisterDevicePluginServer(server, served{failure: in.Options})
		go server.Serve(listener)
		defer server.Stop()
	}
	manager := devicemanager.NewOracleManager(nil, nil, true, nil)
	of, err := plugin.NewServer(klog.Background(), filepath.Join(dir, "kubelet.sock"), manager.M, manager.M)
	if err != nil {
		panic(err)
	}
	begin := time.Now()
	if in.Path == "Register" {
		_, err = of.(pluginapi.RegistrationServer).Register(context.Background(), &pluginapi.RegisterRequest{
			Version: in.Version, ResourceName: in.Name, Endpoint: "plugin.sock",
		})
	} else {
		err = of.ValidatePlugin(in.Name, "plugin.sock", in.Versions)
	}
	out := object{"accepted": err == nil, "error": nil}
	if err != nil {
		out["error"] = err.Error()
	}
	if seconds := time.Since(begin).Round(time.Second) / time.Second; seconds >= 1 {
		out["gives_up_after_seconds"] = int(seconds)
	}
	return out
}

type optionsIn struct {
	Answers map[string]struct {
		Annotations, Envs map[string]string
		CDI               []string `json:"cdi_devices"`
		Devices           []struct {
			Container   string `json:"container_path"`
			Host        string `json:"host_path"`
			Permissions string
		}
		Mounts []struct {
			Container string `json:"container_path"`
			Host      string `json:"host_path"`
			ReadOnly  bool   `json:"read_only"`
		}
	} `json:"allocate_responses_by_resource"`
}

func runOptions(in optionsIn) any {
	answers := map[string]*pluginapi.ContainerAllocateResponse{}
	for name, one := range in.Answers {
		answer := &pluginapi.ContainerAllocateResponse{Envs: one.Envs, Annotations: one.Annotations}
		for _, device := range one.Devices {
			answer.Devices = append(answer.Devices, &pluginapi.DeviceSpec{
				ContainerPath: device.Container, HostPath: device.Host, Permissions: device.Permissions,
			})
		}
		for _, mount := range one.Mounts {
			answer.Mounts = append(answer.Mounts, &pluginapi.Mount{
				ContainerPath: mount.Container, HostPath: mount.Host, ReadOnly: mount.ReadOnly,
			})
		}
		for _, device := range one.CDI {
			answer.CdiDevices = append(answer.CdiDevices, &pluginapi.CDIDevice{Name: device})
		}
		answers[name] = answer
	}
	options := devicemanager.OracleOptions(answers)
	if options == nil {
		return object{"options": nil}
	}
	envs, annotations, devices, mounts, cdi := object{}, object{}, []object{}, []object{}, []string{}
	for _, one := range options.Envs {
		envs[one.Name] = one.Value
	}
	for _, one := range options.Annotations {
		annotations[one.Name] = one.Value
	}
	for _, one := range options.Devices {
		devices = append(devices, object{
			"path_in_container": one.PathInContainer, "path_on_host": one.PathOnHost, "permissions": one.Permissions,
		})
	}
	for _, one := range options.Mounts {
		mounts = append(mounts, object{
			"name": one.Name, "container_path": one.ContainerPath, "host_path": one.HostPath, "read_only": one.ReadOnly,
			"selinux_relabel": one.SELinuxRelabel,
		})
	}
	for _, one := range options.CDIDevices {
		cdi = append(cdi, one.Name)
	}
	by := func(list []object, key string) {
		sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i][key]) < fmt.Sprint(list[j][key]) })
	}
	by(devices, "path_in_container")
	by(mounts, "container_path")
	if len(in.Answers) > 1 {
		sort.Strings(cdi)
	}
	return object{
		"envs": envs, "annotations": annotations, "devices_by_container_path": devices, "mounts_by_container_path": mounts,
		"cdi_devices": cdi,
	}
}

func hints(in allocateIn) (out any) {
	kube.Gates(in.Gates)
	calls := []object{}
	manager := in.manager(&calls)
	if in.Reusable != nil {
		manager.Reusable(string(in.Pod.UID), in.Reusable)
	}
	defer func() {
		if cause := recover(); cause != nil {
			if skip, ok := cause.(vector.Skip); ok {
				panic(skip)
			}
			out = object{"panics": true, "panic_text": fmt.Sprint(cause)}
		}
	}()
	var of map[string][]topologymanager.TopologyHint
	if in.Container == "" {
		of = manager.M.GetPodTopologyHints(in.Pod)
	} else {
		all := append(append([]v1.Container{}, in.Pod.Spec.InitContainers...), in.Pod.Spec.Containers...)
		for at := range all {
			if all[at].Name == in.Container {
				of = manager.M.GetTopologyHints(in.Pod, &all[at])
			}
		}
	}
	shown := object{}
	for name, list := range of {
		if list == nil {
			shown[name] = nil
			continue
		}
		rows := []object{}
		for _, one := range list {
			rows = append(rows, object{"numa_nodes": append([]int{}, one.NUMANodeAffinity.GetBits()...), "preferred": one.Preferred})
		}
		shown[name] = rows
	}
	return object{"hints": shown}
}

// asStatus makes an error of a plugin of its text.
func asStatus(text string) error {
	const start = "rpc error: code = Unavailable desc = "
	return statusError(strings.TrimPrefix(text, start))
}
