package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapi2 "github.com/google/cadvisor/info/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/oracle/cgroupfiles"
	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
	"k8s.io/kubernetes/pkg/kubelet/stats/pidlimit"
)

type nodeIn struct {
	Configuration object `json:"kubelet_configuration"`
	Machine       struct {
		Cores     int    `json:"num_cores"`
		Memory    uint64 `json:"memory_capacity_bytes"`
		Swap      uint64 `json:"swap_capacity_bytes"`
		HugePages []struct {
			Size  uint64 `json:"page_size_kib"`
			Count uint64 `json:"num_pages"`
		}
		RootFs  uint64   `json:"root_fs_capacity_bytes"`
		MaxPid  *int64   `json:"max_pid"`
		Version int      `json:"cgroup_version"`
		Missing []string `json:"missing_cgroups"`
	}
	Flags struct {
		IgnoreEviction bool `json:"experimental_allocatable_ignore_eviction"`
	}
}

func (in nodeIn) info() (*cadvisorapi.MachineInfo, []string, cpuset.CPUSet) {
	info := &cadvisorapi.MachineInfo{
		NumCores: in.Machine.Cores, MemoryCapacity: in.Machine.Memory, SwapCapacity: in.Machine.Swap, NumSockets: 1,
	}
	sizes, cpus := []string{}, []int{}
	for _, one := range in.Machine.HugePages {
		info.HugePages = append(info.HugePages, cadvisorapi.HugePagesInfo{PageSize: one.Size, NumPages: one.Count})
		size, unit := one.Size, 0
		for size >= 1024 && unit < 2 {
			size, unit = size/1024, unit+1
		}
		sizes = append(sizes, strconv.FormatUint(size, 10)+[]string{"KB", "MB", "GB"}[unit])
	}
	node := cadvisorapi.Node{}
	for id := 0; id < in.Machine.Cores; id++ {
		node.Cores = append(node.Cores, cadvisorapi.Core{Id: id, Threads: []int{id}})
		cpus = append(cpus, id)
	}
	info.Topology = []cadvisorapi.Node{node}
	return info, sizes, cpuset.New(cpus...)
}

// nodeAllocatable goes the way of the kubelet's start (cmd/kubelet/app/server.go, run) with a configuration.
func nodeAllocatable(in nodeIn) any {
	manager := cm.NewOracleManager(in.Machine.Version != 1, "cgroupfs", nil)
	failed := func(err error) any { return object{"error": err.Error()} }
	document := object{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
	for key, value := range in.Configuration {
		document[key] = value
	}
	config, _, fatal, err := load([]byte(vector.Text(document)), true)
	if fatal != "" {
		panic(fatal)
	}
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	if err := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate); err != nil {
		return failed(err)
	}
	if config.CgroupsPerQOS && config.CgroupRoot == "" {
		config.CgroupRoot = "/"
	}
	info, sizes, cpus := in.info()
	manager = cm.NewOracleManager(in.Machine.Version != 1, config.CgroupDriver, sizes)
	manager.Missing = sets.New(in.Machine.Missing...)
	reserved, err := app.OracleReservedCPUs(klog.Background(), info, config.ReservedSystemCPUs)
	if err != nil {
		return failed(err)
	}
	if reserved.Size() > 0 {
		delete(config.KubeReserved, "cpu")
		if config.SystemReserved == nil {
			config.SystemReserved = map[string]string{}
		}
		config.SystemReserved["cpu"] = strconv.Itoa(reserved.Size())
	}
	forKube, err := app.OracleList(config.KubeReserved)
	if err != nil {
		return failed(fmt.Errorf("--kube-reserved value failed to parse: %w", err))
	}
	forSystem, err := app.OracleList(config.SystemReserved)
	if err != nil {
		return failed(fmt.Errorf("--system-reserved value failed to parse: %w", err))
	}
	var hard []evictionapi.Threshold
	if !in.Flags.IgnoreEviction {
		if hard, err = eviction.ParseThresholdConfig([]string{}, config.EvictionHard, nil, nil, nil); err != nil {
			return failed(err)
		}
	}
	if _, err := cm.ParseQOSReserved(config.QOSReserved); err != nil {
		return failed(fmt.Errorf("--qos-reserved value failed to parse: %w", err))
	}
	capacity, internal := cadvisor.CapacityFromMachineInfo(info), cadvisor.CapacityFromMachineInfo(info)
	if in.Machine.MaxPid != nil {
		internal[pidlimit.PIDs] = *resource.NewQuantity(*in.Machine.MaxPid, resource.DecimalSI)
	}
	if config.LocalStorageCapacityIsolation {
		storage := cadvisor.EphemeralStorageCapacityFromFsInfo(cadvisorapi2.FsInfo{Capacity: in.Machine.RootFs})
		for name, amount := range storage {
			capacity[name] = amount
		}
	}
	node := cm.OracleNode{
		Capacity: capacity, Internal: internal, All: cpus,
		Config: cm.NodeConfig{
			CgroupsPerQOS: config.CgroupsPerQOS, CgroupRoot: config.CgroupRoot, CgroupDriver: config.CgroupDriver,
			NodeAllocatableConfig: cm.NodeAllocatableConfig{
				KubeReservedCgroupName: config.KubeReservedCgroup, SystemReservedCgroupName: config.SystemReservedCgroup,
				EnforceNodeAllocatable: sets.New(config.EnforceNodeAllocatable...), KubeReserved: forKube,
				SystemReserved: forSystem, ReservedSystemCPUs: reserved, HardEvictionThresholds: hard,
			},
		},
	}
	if config.CPUManagerPolicy == "static" {
		node.Allocatable = cpus
	}
	amounts, root, err := manager.Node(node)
	over := object{}
	for name, amount := range amounts.Reservation {
		if whole := capacity[name]; whole.Cmp(amount) < 0 {
			over[string(name)] = object{"reservation": amount.String(), "capacity": whole.String()}
		}
	}
	if len(over) > 0 {
		out := object{"error_prefix": "invalid Node Allocatable configuration. ", "over_reserved": over}
		// Several come in the order of a hash map; a large amount prints as an address.
		if len(over) == 1 && !strings.Contains(err.Error(), "0x") {
			out["error"] = err.Error()
		}
		return out
	}
	if err != nil {
		return failed(err)
	}
	of := &v1.Node{}
	setter := nodestatus.MachineInfo("n1", int(config.MaxPods), int(config.PodsPerCore),
		func() (*cadvisorapi.MachineInfo, error) { return info, nil },
		func(bool) v1.ResourceList { return capacity },
		func() (v1.ResourceList, v1.ResourceList, []string) { return nil, nil, nil },
		func() v1.ResourceList { return amounts.Reservation }, func(_, _, _ string) {}, config.LocalStorageCapacityIsolation)
	if err := setter(context.Background(), of); err != nil {
		return failed(err)
	}
	texts := func(of map[string]string) any {
		if of == nil {
			return nil
		}
		return of
	}
	effective := object{
		"enforce_node_allocatable": config.EnforceNodeAllocatable, "eviction_hard": config.EvictionHard,
		"kube_reserved": texts(config.KubeReserved), "system_reserved": texts(config.SystemReserved),
	}
	if config.ReservedSystemCPUs != "" {
		effective["reserved_system_cpus"] = config.ReservedSystemCPUs
	}
	out := object{
		"capacity": kube.List(of.Status.Capacity), "allocatable": kube.List(of.Status.Allocatable),
		"allocatable_reservation": kube.List(amounts.Reservation), "node_allocatable_absolute": kube.List(amounts.Absolute),
		"effective_configuration": effective,
	}
	show := func(name, path string) {
		if made := manager.Applied[path]; made != nil {
			out[name] = cgroupfiles.Cgroup(made, in.Machine.Version != 1, sizes)
		}
	}
	if len(root) > 0 {
		show("kubepods", manager.Name(root))
	}
	enforced := sets.New(config.EnforceNodeAllocatable...)
	if enforced.HasAny("system-reserved", "system-reserved-compressible") {
		show("system_reserved", manager.Name(manager.CgroupName(config.SystemReservedCgroup)))
	}
	if enforced.HasAny("kube-reserved", "kube-reserved-compressible") {
		show("kube_reserved", manager.Name(manager.CgroupName(config.KubeReservedCgroup)))
	}
	return out
}
