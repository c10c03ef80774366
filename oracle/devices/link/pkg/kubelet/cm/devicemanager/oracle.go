package devicemanager

import (
	"context"
	"sort"
	"strconv"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
)

// What the oracle's programs need of this package.

// OracleDevice is a device of a plugin.
type OracleDevice struct {
	ID, Health string
	Nodes      *[]int64 `json:"numa_nodes"`
}

// OracleEntry are the devices of a container.
type OracleEntry struct {
	Pod       string              `json:"pod_uid"`
	Container string              `json:"container_name"`
	Resource  string              `json:"resource_name"`
	IDs       map[string][]string `json:"device_ids_by_numa_node"`
}

// OraclePlugin is a plugin that notes its calls.
type OraclePlugin struct {
	pluginapi.DevicePluginClient
	Prefers    func(*pluginapi.ContainerPreferredAllocationRequest) ([]string, bool, error)
	Allocates  func(ids []string) (bool, error)
	HasPrefers bool
	StoppedAgo *time.Duration
}

func (p *OraclePlugin) GetPreferredAllocation(
	_ context.Context, request *pluginapi.PreferredAllocationRequest, _ ...grpc.CallOption,
) (*pluginapi.PreferredAllocationResponse, error) {
	ids, has, err := p.Prefers(request.ContainerRequests[0])
	if err != nil {
		return nil, err
	}
	response := &pluginapi.PreferredAllocationResponse{}
	if has {
		response.ContainerResponses = []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: ids}}
	}
	return response, nil
}

func (p *OraclePlugin) Allocate(
	_ context.Context, request *pluginapi.AllocateRequest, _ ...grpc.CallOption,
) (*pluginapi.AllocateResponse, error) {
	has, err := p.Allocates(request.ContainerRequests[0].DevicesIds)
	if err != nil {
		return nil, err
	}
	response := &pluginapi.AllocateResponse{}
	if has {
		response.ContainerResponses = []*pluginapi.ContainerAllocateResponse{{}}
	}
	return response, nil
}

type oracleAffinity struct {
	topologymanager.Store
	nodes map[string][]int
}

func (a oracleAffinity) GetAffinity(_, container string) topologymanager.TopologyHint {
	nodes, ok := a.nodes[container]
	if !ok {
		return topologymanager.TopologyHint{}
	}
	mask, _ := bitmask.NewBitMask(nodes...)
	return topologymanager.TopologyHint{NUMANodeAffinity: mask}
}

func (a oracleAffinity) GetPolicy() topologymanager.Policy { return topologymanager.NewNonePolicy() }

type oracleReady bool

func (oracleReady) AddSource(string) {}
func (r oracleReady) AllReady() bool { return bool(r) }

type oracleCheckpoints struct {
	checkpointmanager.CheckpointManager
	writes int
	last   map[string][]string
}

func (c *oracleCheckpoints) CreateCheckpoint(_ string, cp checkpointmanager.Checkpoint) error {
	c.writes++
	_, c.last = cp.(checkpoint.DeviceManagerCheckpoint).GetData()
	return nil
}

// OracleManager is a device manager without files and sockets.
type OracleManager struct {
	M     *ManagerImpl
	files *oracleCheckpoints
}

func NewOracleManager(nodes []int, affinity map[string][]int, ready bool, active []string) OracleManager {
	files := &oracleCheckpoints{}
	pods := []*v1.Pod{}
	for _, uid := range active {
		pod := &v1.Pod{}
		pod.UID = types.UID(uid)
		pods = append(pods, pod)
	}
	return OracleManager{&ManagerImpl{
		endpoints: map[string]endpointInfo{}, allDevices: NewResourceDeviceInstances(),
		healthyDevices: map[string]sets.Set[string]{}, unhealthyDevices: map[string]sets.Set[string]{},
		allocatedDevices: map[string]sets.Set[string]{}, podDevices: newPodDevices(), numaNodes: nodes,
		topologyAffinityStore: oracleAffinity{nodes: affinity}, devicesToReuse: PodReusableDevices{},
		activePods: func() []*v1.Pod { return pods }, sourcesReady: oracleReady(ready), checkpointManager: files,
		containerMap: containermap.NewContainerMap(), containerRunningSet: sets.New[string](),
	}, files}
}

// Resource adds a resource with its devices.
func (o OracleManager) Resource(name string, registered bool, devices []OracleDevice, plugin *OraclePlugin, only string) {
	m := o.M
	if registered {
		m.allDevices[name] = map[string]*pluginapi.Device{}
		healthy, unhealthy := sets.New[string](), sets.New[string]()
		for _, one := range devices {
			device := &pluginapi.Device{ID: one.ID, Health: one.Health}
			if one.Nodes != nil {
				device.Topology = &pluginapi.TopologyInfo{}
				for _, node := range *one.Nodes {
					device.Topology.Nodes = append(device.Topology.Nodes, &pluginapi.NUMANode{ID: node})
				}
			}
			m.allDevices[name][one.ID] = device
			if one.Health == pluginapi.Healthy {
				healthy.Insert(one.ID)
			} else {
				unhealthy.Insert(one.ID)
			}
		}
		if only != "unhealthy" {
			m.healthyDevices[name] = healthy
		}
		if only != "healthy" {
			m.unhealthyDevices[name] = unhealthy
		}
	}
	if plugin != nil {
		endpoint := &endpointImpl{resourceName: name, api: plugin}
		if plugin.StoppedAgo != nil {
			endpoint.stopTime = time.Now().Add(-*plugin.StoppedAgo)
		}
		options := &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: plugin.HasPrefers}
		m.endpoints[name] = endpointInfo{e: endpoint, opts: options}
	}
}

// Entries adds what containers have.
func (o OracleManager) Entries(entries []OracleEntry) {
	for _, one := range entries {
		ids := checkpoint.NewDevicesPerNUMA()
		for node, list := range one.IDs {
			number, _ := strconv.ParseInt(node, 10, 64)
			ids[number] = list
		}
		o.M.podDevices.insert(one.Pod, one.Container, one.Resource, ids, &pluginapi.ContainerAllocateResponse{})
	}
	o.M.allocatedDevices = o.M.podDevices.devices()
}

func (o OracleManager) Seen(pod, container, id string, running bool) {
	o.M.containerMap.Add(pod, container, id)
	if running {
		o.M.containerRunningSet.Insert(id)
	}
}

func (o OracleManager) Reusable(pod string, of map[string][]string) {
	o.M.devicesToReuse[pod] = map[string]sets.Set[string]{}
	for resource, ids := range of {
		o.M.devicesToReuse[pod][resource] = sets.New(ids...)
	}
}

func oracleSorted(of map[string]sets.Set[string], empty bool) map[string][]string {
	result := map[string][]string{}
	for name, ids := range of {
		if empty || len(ids) > 0 {
			result[name] = sets.List(ids)
		}
	}
	return result
}

func (o OracleManager) ReusableNow(pod string) map[string][]string {
	return oracleSorted(o.M.devicesToReuse[pod], false)
}

func (o OracleManager) Allocated() map[string][]string {
	return oracleSorted(o.M.allocatedDevices, true)
}

func (o OracleManager) Of(pod, container string) map[string][]string {
	result := map[string][]string{}
	for _, one := range o.All() {
		if one.Pod == pod && one.Container == container {
			ids := sets.New[string]()
			for _, list := range one.IDs {
				ids.Insert(list...)
			}
			result[one.Resource] = sets.List(ids)
		}
	}
	return result
}

// All are all entries, in order.
func (o OracleManager) All() []OracleEntry {
	result := []OracleEntry{}
	for pod, containers := range o.M.podDevices.devs {
		for container, resources := range containers {
			for resource, devices := range resources {
				ids := map[string][]string{}
				for node, list := range devices.deviceIds {
					list = append([]string{}, list...)
					sort.Strings(list)
					ids[strconv.FormatInt(node, 10)] = list
				}
				result = append(result, OracleEntry{pod, container, resource, ids})
			}
		}
	}
	sort.Slice(result, func(i, j int) bool {
		a, b := result[i], result[j]
		if a.Pod != b.Pod {
			return a.Pod < b.Pod
		}
		if a.Container != b.Container {
			return a.Container < b.Container
		}
		return a.Resource < b.Resource
	})
	return result
}

func (o OracleManager) Written() (int, map[string][]string) {
	last := map[string][]string{}
	for name, ids := range o.files.last {
		last[name] = sets.List(sets.New(ids...))
	}
	return o.files.writes, last
}

func (o OracleManager) Left() (endpoints []string, healthy, unhealthy map[string][]string) {
	endpoints = []string{}
	for name := range o.M.endpoints {
		endpoints = append(endpoints, name)
	}
	sort.Strings(endpoints)
	return endpoints, oracleSorted(o.M.healthyDevices, true), oracleSorted(o.M.unhealthyDevices, true)
}

// OracleOptions is what a container gets of the answers of its plugins.
func OracleOptions(answers map[string]*pluginapi.ContainerAllocateResponse) *DeviceRunContainerOptions {
	devices := newPodDevices()
	for resource, answer := range answers {
		devices.insert("pod", "container", resource, checkpoint.NewDevicesPerNUMA(), answer)
	}
	return devices.deviceRunContainerOptions(klog.Background(), "pod", "container")
}

// OracleLoad reads a checkpoint of a folder; what it holds is there without a manager's opinion of it, too.
func OracleLoad(folder string) (checkpoint.DeviceManagerCheckpoint, OracleManager, error) {
	files, err := checkpointmanager.NewCheckpointManager(folder)
	if err != nil {
		panic(err)
	}
	o := NewOracleManager(nil, nil, true, nil)
	o.M.checkpointManager = files
	cp, err := o.M.getCheckpoint()
	if err == nil {
		err = o.M.readCheckpoint(klog.Background())
	}
	return cp, o, err
}

const OracleFile = kubeletDeviceManagerCheckpoint
