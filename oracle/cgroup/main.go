// Program cgroup answers for cgroups: names and paths, conversions, those of pods, containers and QoS classes.
package main

import (
	"math/rand"
	"slices"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"k8s.io/kubernetes/cmd/oracle/cgroupfiles"
	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

type object = vector.Object

func main() {
	vector.Main(map[string]vector.Family{
		"cgroup_path":      {Answer: vector.Of(paths), Panics: true, Random: randomPath},
		"cpu_convert":      {Answer: vector.Of(convert), Panics: true, Random: randomConvert},
		"pod_cgroup":       {Answer: vector.Of(podCgroup), Panics: true, Random: randomPod},
		"container_cgroup": {Answer: vector.Of(containers), Random: randomContainers},
		"qos_cgroup":       {Answer: vector.Of(classes), Random: randomClasses},
	})
}

type pathIn struct {
	Op        string
	Name      []string `json:"cgroup_name"`
	Driver    string   `json:"cgroup_driver"`
	Path      string   `json:"cgroup_path"`
	Base      []string
	Component string
	Root      string `json:"cgroup_root"`
	PerQOS    bool   `json:"cgroups_per_qos"`
}

func paths(in pathIn) any {
	manager := cm.NewOracleManager(true, in.Driver, nil)
	switch in.Op {
	case "name_to_path":
		return object{"cgroup_path": manager.Name(in.Name)}
	case "path_to_name":
		return object{"cgroup_name": manager.CgroupName(in.Path)}
	case "append_component":
		return object{"cgroup_name": cm.NewCgroupName(in.Base, in.Component)}
	case "node_allocatable_root":
		return object{"cgroup_path": cm.NodeAllocatableRoot(in.Root, in.PerQOS, in.Driver)}
	case "is_pod":
		is, uid := manager.IsPod(in.Root, in.Path)
		return object{"is_pod": is, "pod_uid": uid}
	}
	panic(vector.Skip("unknown operation"))
}

func part(r *rand.Rand) string {
	return kube.Pick(r, "kubepods", "burstable", "besteffort", "a", "a-b", "custom", "x.slice", "poda-1", "pod", "",
		"pod3f637313", "podpod1", "system", "a_b", "-", "pod1-2.slice")
}

func randomPath(r *rand.Rand) any {
	in := object{"cgroup_driver": kube.Pick(r, "cgroupfs", "systemd")}
	parts, path := []string{}, kube.Pick(r, "/", "/", "/", "")
	for count := r.Intn(5); count > 0; count-- {
		one := part(r)
		parts = append(parts, one)
		path += one + kube.Pick(r, "/", "/", "/", ".slice/", "-")
	}
	if !kube.OneIn(r, 3) && len(path) > 1 {
		path = path[:len(path)-1]
	}
	switch r.Intn(5) {
	case 0:
		in["op"], in["cgroup_name"] = "name_to_path", parts
	case 1:
		// A part of a name is never empty: the kubelet takes it as it is.
		parts = slices.DeleteFunc(parts, func(one string) bool { return one == "" })
		in["op"], in["base"], in["component"] = "append_component", parts, kube.Pick(r, "a", part(r)+"b")
		delete(in, "cgroup_driver")
	case 2:
		in["op"], in["cgroup_root"], in["cgroups_per_qos"] = "node_allocatable_root", path, kube.OneIn(r, 2)
	case 3:
		in["op"], in["cgroup_path"] = "path_to_name", path
	case 4:
		in["op"], in["cgroup_path"], in["cgroup_root"] = "is_pod", path, kube.Pick(r, "/", "/custom", "/a/b")
	}
	return in
}

type convertIn struct {
	Op     string
	Milli  int64           `json:"milli_cpu"`
	Period int64           `json:"period_us"`
	Quota  int64           `json:"quota_us"`
	Shares uint64          `json:"cpu_shares"`
	Weight uint64          `json:"cpu_weight"`
	Memory int64           `json:"memory_bytes"`
	Gates  map[string]bool `json:"feature_gates"`
}

func convert(in convertIn) any {
	kube.Gates(in.Gates)
	files := func(unified bool, driver string, config cm.ResourceConfig) any {
		made := cm.NewOracleManager(unified, driver, nil).Made(cm.CgroupName{"a"}, &config)
		return cgroupfiles.Cgroup(made, unified, nil)["cgroup_files"]
	}
	switch in.Op {
	case "milli_cpu_to_shares":
		return object{"cpu_shares": cm.MilliCPUToShares(in.Milli)}
	case "milli_cpu_to_quota":
		return object{"cpu_quota_us": cm.MilliCPUToQuota(in.Milli, in.Period)}
	case "shares_to_weight":
		return object{
			"cpu_weight_linear":    cm.OracleWeight(&in.Shares),
			"cpu_weight_quadratic": cgroups.ConvertCPUSharesToCgroupV2Value(in.Shares),
		}
	case "weight_to_shares":
		return object{"cpu_shares": cm.OracleShares(in.Weight)}
	case "shares_to_milli_cpu":
		return object{"milli_cpu": cm.SharesToMilliCPU(int64(in.Shares))}
	case "quota_to_milli_cpu":
		return object{"milli_cpu": cm.QuotaToMilliCPU(in.Quota, in.Period)}
	case "quota_files":
		period := uint64(in.Period)
		config := cm.ResourceConfig{CPUQuota: &in.Quota, CPUPeriod: &period}
		return object{
			"cgroup_v1_cgroupfs": files(false, "cgroupfs", config), "cgroup_v1_systemd": files(false, "systemd", config),
			"cgroup_v2_cgroupfs": files(true, "cgroupfs", config), "cgroup_v2_systemd": files(true, "systemd", config),
		}
	case "memory_files":
		config := cm.ResourceConfig{Memory: &in.Memory}
		return object{"cgroup_v1": files(false, "cgroupfs", config), "cgroup_v2": files(true, "cgroupfs", config)}
	}
	panic(vector.Skip("unknown operation"))
}

func randomConvert(r *rand.Rand) any {
	number := func() int64 { return r.Int63n(int64(kube.Pick(r, 10, 2000, 300000, 1<<40))) }
	period := kube.Pick(r, 1000, 5000, 10000, 50000, 100000, 1000000, 1000+r.Int63n(999000))
	switch r.Intn(6) {
	case 0:
		return object{"op": "milli_cpu_to_shares", "milli_cpu": number()}
	case 1:
		return object{"op": "milli_cpu_to_quota", "milli_cpu": number(), "period_us": period}
	case 2:
		return object{"op": "shares_to_weight", "cpu_shares": 2 + number()}
	case 3:
		return object{"op": "shares_to_milli_cpu", "cpu_shares": number()}
	case 4:
		return object{"op": "quota_to_milli_cpu", "quota_us": number() - 1, "period_us": period}
	}
	return object{"op": "quota_files", "quota_us": kube.Pick(r, -1, 1000+r.Int63n(5000000)), "period_us": period}
}

// node are the settings of a node. Pointers have a default that is not zero.
type node struct {
	Version       int             `json:"cgroup_version"`
	Driver        string          `json:"cgroup_driver"`
	Root          string          `json:"cgroup_root"`
	PerQOS        *bool           `json:"cgroups_per_qos"`
	Quota         *bool           `json:"cpu_cfs_quota"`
	Period        *uint64         `json:"cpu_cfs_quota_period_us"`
	PidsLimit     *int64          `json:"pod_pids_limit"`
	Policy        string          `json:"memory_reservation_policy"`
	Sizes         *[]string       `json:"hugepage_sizes"`
	Memory        uint64          `json:"memory_capacity_bytes"`
	Swap          uint64          `json:"swap_capacity_bytes"`
	Controller    bool            `json:"swap_controller_available"`
	Behavior      string          `json:"swap_behavior"`
	Throttling    *float64        `json:"memory_throttling_factor"`
	SingleProcess *bool           `json:"single_process_oom_kill"`
	Allocatable   v1.ResourceList `json:"node_allocatable"`
	PageSize      *int64          `json:"page_size_bytes"`
}

func given[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func (n node) unified() bool   { return n.Version != 1 }
func (n node) sizes() []string { return given(n.Sizes, []string{"2MB", "1GB"}) }
func (n node) driver() string {
	if n.Driver == "" {
		return "cgroupfs"
	}
	return n.Driver
}
func (n node) root() string {
	if n.Root == "" {
		return "/"
	}
	return n.Root
}
func (n node) policy() kubeletconfig.MemoryReservationPolicy {
	if n.Policy == "" {
		return "None"
	}
	return kubeletconfig.MemoryReservationPolicy(n.Policy)
}

type podIn struct {
	Pod       *v1.Pod
	Node      node
	Gates     map[string]bool `json:"feature_gates"`
	Defaults  bool            `json:"apply_api_defaulting_first"`
	Exclusive []string        `json:"containers_with_exclusive_cpus"`
}

func podCgroup(in podIn) any {
	kube.Gates(in.Gates)
	pod := kube.Defaulted(in.Pod, in.Defaults)
	// The kubelet works with the static pod, which has this UID.
	if uid, ok := pod.Annotations[kubetypes.ConfigMirrorAnnotationKey]; ok {
		pod.UID = types.UID(uid)
	}
	manager := cm.NewOracleManager(in.Node.unified(), in.Node.driver(), in.Node.sizes())
	name, path, err := manager.Pod(pod, cm.OraclePodSettings{
		Root: in.Node.root(), PerQOS: given(in.Node.PerQOS, true), PidsLimit: given(in.Node.PidsLimit, -1),
		Quota: given(in.Node.Quota, true), Period: given(in.Node.Period, 100000), Policy: in.Node.policy(),
		Exclusive: cm.OracleExclusive{Names: sets.New(in.Exclusive...)},
	})
	if err != nil {
		panic(err)
	}
	out := object{"cgroup_name": name, "cgroup_path": path}
	if made := manager.Applied[path]; made != nil {
		out = cgroupfiles.Cgroup(made, in.Node.unified(), in.Node.sizes())
	}
	out["effective_uid"], out["effective_qos_class"] = pod.UID, v1qos.GetPodQOS(pod)
	return out
}

func randomNode(r *rand.Rand) object {
	node := object{"cgroup_version": kube.Pick(r, 1, 2, 2)}
	if kube.OneIn(r, 4) {
		node["cpu_cfs_quota"] = false
	}
	if kube.OneIn(r, 3) {
		node["cpu_cfs_quota_period_us"] = kube.Pick(r, 1000, 5000, 10000, 50000, 200000, 1000000)
	}
	return node
}

func gates(r *rand.Rand, in, node object) object {
	gates := object{}
	if kube.OneIn(r, 3) {
		gates["MemoryQoS"] = true
		node["memory_reservation_policy"] = kube.Pick(r, "None", "TieredReservation", "TieredReservation")
	}
	if kube.OneIn(r, 10) {
		gates["PodLevelResources"], gates["InPlacePodLevelResourcesVerticalScaling"] = false, false
	}
	if kube.OneIn(r, 10) {
		gates["DisableCPUQuotaWithExclusiveCPUs"] = false
	}
	in["node"], in["feature_gates"] = node, gates
	if kube.OneIn(r, 3) {
		in["apply_api_defaulting_first"] = true
	}
	if kube.OneIn(r, 6) {
		in["containers_with_exclusive_cpus"] = []string{kube.Pick(r, "c0", "c1", "i0")}
	}
	return in
}

func randomPod(r *rand.Rand) any {
	node := randomNode(r)
	node["cgroup_driver"] = kube.Pick(r, "cgroupfs", "systemd")
	if kube.OneIn(r, 4) {
		node["cgroup_root"] = kube.Pick(r, "/", "", "/a/b", "/custom", "a", "/x.slice")
	}
	if kube.OneIn(r, 4) {
		node["pod_pids_limit"] = kube.Pick(r, 0, -1, 1, 100, 4096)
	}
	return gates(r, object{"pod": kube.Pod(r)}, node)
}

func randomContainers(r *rand.Rand) any {
	node := randomNode(r)
	node["memory_capacity_bytes"] = kube.Pick(r, 4294967296, 17179745728, 33567170560, 1+r.Int63n(1<<38))
	if kube.OneIn(r, 2) {
		node["hugepage_sizes"] = []string{}
	}
	if kube.OneIn(r, 2) {
		node["node_allocatable"] = object{"cpu": "4", "memory": kube.Memory(r)}
	}
	if kube.OneIn(r, 2) {
		node["swap_capacity_bytes"] = r.Int63n(1 << 34)
		node["swap_controller_available"] = !kube.OneIn(r, 4)
		node["swap_behavior"] = kube.Pick(r, "LimitedSwap", "LimitedSwap", "NoSwap", "")
	}
	if kube.OneIn(r, 4) {
		node["single_process_oom_kill"] = kube.OneIn(r, 2)
	}
	if kube.OneIn(r, 3) {
		node["memory_throttling_factor"] = kube.Pick(r, 0.1, 0.5, 0.8, 0.95, 1)
	}
	return gates(r, object{"pod": kube.Pod(r)}, node)
}

func containers(in podIn) any {
	kube.Gates(in.Gates)
	pod, unified := kube.Defaulted(in.Pod, in.Defaults), in.Node.unified()
	cgroups.OracleHost(unified, in.Node.sizes())
	single := !unified
	manager := kuberuntime.NewOracleManager(kuberuntime.OracleNode{
		Unified: unified, Quota: given(in.Node.Quota, true), SwapController: in.Node.Controller,
		Period: time.Duration(given(in.Node.Period, 100000)) * time.Microsecond, Memory: in.Node.Memory, Swap: in.Node.Swap,
		SwapBehavior: in.Node.Behavior, Throttling: given(in.Node.Throttling, 0.9), Policy: in.Node.policy(),
		SingleProcessOOMKill: func() *bool {
			if in.Node.SingleProcess == nil || !unified {
				return &single
			}
			return in.Node.SingleProcess
		}(),
		Allocatable: in.Node.Allocatable, PageSize: given(in.Node.PageSize, 4096),
		Exclusive: cm.OracleExclusive{Names: sets.New(in.Exclusive...)},
	})
	list := []object{}
	add := func(kind string, container *v1.Container) {
		resources, swap := manager.Container(pod, container)
		shown := linux(resources)
		shown["kind"], shown["name"], shown["swap_behavior_in_effect"] = kind, container.Name, swap
		shown["oom_score_adj"] = resources.OomScoreAdj
		list = append(list, shown)
	}
	for at := range pod.Spec.InitContainers {
		one, kind := &pod.Spec.InitContainers[at], "init_container"
		if one.RestartPolicy != nil && *one.RestartPolicy == v1.ContainerRestartPolicyAlways {
			kind = "sidecar"
		}
		add(kind, one)
	}
	for at := range pod.Spec.Containers {
		add("container", &pod.Spec.Containers[at])
	}
	for _, one := range pod.Spec.EphemeralContainers {
		container := v1.Container(one.EphemeralContainerCommon)
		add("ephemeral_container", &container)
	}
	resources, overhead := manager.Sandbox(pod)
	return object{
		"containers": list, "effective_qos_class": v1qos.GetPodQOS(pod), "is_critical_pod": kubetypes.IsCriticalPod(pod),
		"sandbox_resources": linux(resources), "sandbox_overhead": linux(overhead),
	}
}

func linux(of *runtimeapi.LinuxContainerResources) object {
	shown := object{
		"cpu_shares": of.CpuShares, "cpu_quota_us": of.CpuQuota, "cpu_period_us": of.CpuPeriod,
		"memory_limit_bytes": of.MemoryLimitInBytes,
	}
	if len(of.Unified) > 0 {
		shown["unified"] = of.Unified
	}
	if of.MemorySwapLimitInBytes != 0 {
		shown["memory_swap_limit_bytes"] = of.MemorySwapLimitInBytes
	}
	if len(of.HugepageLimits) > 0 {
		limits := []object{}
		for _, one := range of.HugepageLimits {
			limits = append(limits, object{"page_size": one.PageSize, "limit_bytes": one.Limit})
		}
		shown["hugepage_limits"] = limits
	}
	return shown
}

type classesIn struct {
	Pods        []*v1.Pod
	Node        node
	Reserved    map[string]string `json:"qos_reserved"`
	Allocatable v1.ResourceList   `json:"node_allocatable"`
	Gates       map[string]bool   `json:"feature_gates"`
	Usage       map[string]int64  `json:"memory_usage_bytes"`
	Refuses     bool              `json:"kernel_rejects_limit_below_usage"`
	Defaults    bool              `json:"apply_api_defaulting_first"`
}

func classes(in classesIn) any {
	kube.Gates(in.Gates)
	reserved, err := cm.ParseQOSReserved(in.Reserved)
	if err != nil {
		return object{"error": err.Error()}
	}
	pods := []*v1.Pod{}
	for _, pod := range in.Pods {
		pods = append(pods, kube.Defaulted(pod, in.Defaults))
	}
	manager := cm.NewOracleManager(in.Node.unified(), in.Node.driver(), in.Node.sizes())
	root := cm.OracleRoot(in.Node.root(), true)
	names := cm.OracleClasses(root)
	paths := map[string]string{
		"guaranteed": manager.Name(names.Guaranteed), "burstable": manager.Name(names.Burstable),
		"besteffort": manager.Name(names.BestEffort),
	}
	manager.Usage, manager.Refuses = map[string]int64{}, in.Refuses
	for class, usage := range in.Usage {
		manager.Usage[paths[class]] = usage
	}
	if _, err := manager.Classes(root, pods, given(reserved, nil), in.Allocatable, in.Node.policy()); err != nil {
		panic(vector.Skip(err.Error()))
	}
	out := object{"update_passes": manager.Updates / 3}
	for class, path := range paths {
		out[class] = cgroupfiles.Cgroup(manager.Applied[path], in.Node.unified(), in.Node.sizes())
	}
	return out
}

func randomClasses(r *rand.Rand) any {
	node := object{"cgroup_version": kube.Pick(r, 1, 2, 2), "cgroup_driver": kube.Pick(r, "cgroupfs", "systemd")}
	pods := []object{}
	for count := r.Intn(6); count > 0; count-- {
		pods = append(pods, kube.Pod(r))
	}
	in := object{"pods": pods, "node": node}
	gates := object{}
	if kube.OneIn(r, 2) {
		gates["QOSReserved"] = true
		in["qos_reserved"] = object{"memory": kube.Pick(r, "0%", "25%", "50%", "75%", "100%", "33%", "101%", "x%")}
		in["node_allocatable"] = object{"memory": kube.Pick(r, "16Gi", "64G", "7925Mi", "0"), "cpu": "4"}
	}
	if kube.OneIn(r, 3) {
		gates["MemoryQoS"] = true
		node["memory_reservation_policy"] = kube.Pick(r, "None", "TieredReservation")
	}
	if kube.OneIn(r, 8) {
		gates["PodLevelResources"], gates["InPlacePodLevelResourcesVerticalScaling"] = false, false
	}
	in["feature_gates"] = gates
	return in
}
