package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/admission"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

func parsed(text string) cpuset.CPUSet {
	set, err := cpuset.Parse(text)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	return set
}

type cpuState struct {
	Default string                       `json:"default_cpu_set"`
	Entries map[string]map[string]string `json:"entries"`
}

func (s cpuState) state() state.State {
	result := state.NewMemoryState(logr.Discard())
	entries := state.ContainerCPUAssignments{}
	for pod, containers := range s.Entries {
		entries[pod] = map[string]cpuset.CPUSet{}
		for name, text := range containers {
			entries[pod][name] = parsed(text)
		}
	}
	result.SetDefaultCPUSet(parsed(s.Default))
	result.SetCPUAssignments(entries)
	return result
}

type cpuIn struct {
	Machine     numa.CPUMachine
	Gates       map[string]bool   `json:"feature_gates"`
	Options     map[string]string `json:"policy_options"`
	Count       int               `json:"num_reserved_cpus"`
	Reserved    string            `json:"reserved_cpus"`
	State       cpuState
	Reuse       map[string]string `json:"cpus_to_reuse"`
	Hints       map[string]hintIn `json:"topology_hints"`
	Pod         *v1.Pod
	Policy      string
	Reservation *string    `json:"node_allocatable_reservation_cpu"`
	Topology    topologyIn `json:"topology_manager"`
	Initial     map[string]struct {
		Pod       string `json:"pod_uid"`
		Container string
	} `json:"initial_containers"`
	File           *string           `json:"state_file_text"`
	ManagerPolicy  string            `json:"cpu_manager_policy"`
	ManagerOptions map[string]string `json:"cpu_manager_policy_options"`
	Ready          bool              `json:"sources_ready"`
	Others         []struct {
		UID        string
		Containers []string
	} `json:"other_active_pods"`
}

// policy makes the static policy with what the case says of it.
func (in cpuIn) policy() (cpumanager.Policy, *topology.CPUTopology, error) {
	info := in.Machine.Info()
	topo, err := topology.Discover(logr.Discard(), info)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	manager, err := topologymanager.NewManager(info.Topology, "best-effort", "container", nil)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	store := numa.Fixed{Store: manager, Stored: stored(in.Hints)}
	policy, err := cpumanager.NewStaticPolicy(logr.Discard(), topo, in.Count, parsed(in.Reserved), store, in.Options)
	if err != nil {
		return nil, nil, err
	}
	for pod, text := range in.Reuse {
		cpumanager.OracleReuse(policy)[pod] = parsed(text)
	}
	return policy, topo, nil
}

func cpuAllocate(in cpuIn) any {
	kube.Gates(in.Gates)
	policy, topo, err := in.policy()
	if err != nil {
		return object{"new_policy_error": err.Error()}
	}
	memory, rows := in.State.state(), []object{}
	for _, one := range numa.Containers(in.Pod) {
		err := policy.Allocate(logr.Discard(), memory, in.Pod, &one)
		row := object{"name": one.Name, "exclusive_cpus": nil, "default_cpu_set": memory.GetDefaultCPUSet().String()}
		if cpus, ok := memory.GetCPUSet(string(in.Pod.UID), one.Name); ok {
			row["exclusive_cpus"] = cpus.String()
		}
		if err != nil {
			result := admission.GetPodAdmitResult(err)
			row["error"] = object{
				"text": err.Error(), "admission_reason": result.Reason, "admission_message": result.Message,
			}
		}
		rows = append(rows, row)
		if err != nil {
			break
		}
	}
	reserved, physical := cpumanager.OracleReserved(policy)
	reuse := object{}
	for pod, cpus := range cpumanager.OracleReuse(policy) {
		reuse[pod] = cpus.String()
	}
	return object{
		"containers": rows, "reserved_cpus": reserved.String(), "reserved_physical_cpus": physical.String(),
		"cpus_per_core": topo.CPUsPerCore(), "state": numa.CPUs(memory), "cpus_to_reuse": reuse,
	}
}

func cpuHints(in cpuIn) any {
	kube.Gates(in.Gates)
	policy, _, err := in.policy()
	if err != nil {
		return object{"new_policy_error": err.Error()}
	}
	memory, rows := in.State.state(), []object{}
	for _, one := range numa.Containers(in.Pod) {
		rows = append(rows, object{
			"name": one.Name, "hints": numa.Shown(policy.GetTopologyHints(logr.Discard(), memory, in.Pod, &one)),
		})
	}
	reserved, _ := cpumanager.OracleReserved(policy)
	return object{
		"containers": rows, "pod_hints": numa.Shown(policy.GetPodTopologyHints(logr.Discard(), memory, in.Pod)),
		"reserved_cpus": reserved.String(),
	}
}

func (in cpuIn) reservation() v1.ResourceList {
	if in.Reservation == nil {
		return v1.ResourceList{}
	}
	return v1.ResourceList{v1.ResourceCPU: kube.Quantity(*in.Reservation)}
}

type never struct{}

func (never) AddSource(string) {}
func (never) AllReady() bool   { return false }

func cpuStart(in cpuIn) any {
	kube.Gates(in.Gates)
	dir, err := os.MkdirTemp("", "oracle-cpu-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cpu_manager_state")
	if in.File != nil {
		if err := os.WriteFile(file, []byte(*in.File), 0o600); err != nil {
			panic(err)
		}
	}
	info := in.Machine.Info()
	store, err := topologymanager.NewManager(info.Topology, in.Topology.Policy, in.Topology.Scope, in.Topology.Options)
	if err != nil {
		return object{"new_topology_manager_error": err.Error()}
	}
	manager, err := cpumanager.NewManager(
		logr.Discard(), in.Policy, in.Options, time.Hour, info, parsed(in.Reserved), in.reservation(), dir, store)
	if err != nil {
		return object{"new_manager_error": err.Error()}
	}
	known := containermap.NewContainerMap()
	for id, one := range in.Initial {
		known.Add(one.Pod, one.Container, id)
	}
	reserved, _ := cpumanager.OracleReserved(cpumanager.OraclePolicy(manager))
	out := object{"reserved_cpus": reserved.String()}
	none := func() []*v1.Pod { return nil }
	if err := manager.Start(context.Background(), none, never{}, nil, nil, known); err != nil {
		out["start_error"] = strings.ReplaceAll(err.Error(), dir, "{state_dir}")
	} else {
		out["state"] = numa.CPUs(cpumanager.OracleState(manager))
		out["allocatable_cpus"] = manager.GetAllocatableCPUs().String()
	}
	out["state_file_text"] = nil
	if text, err := os.ReadFile(file); err == nil {
		out["state_file_text"] = string(text)
	}
	return out
}

func cpuAdmit(in cpuIn) any {
	kube.Gates(in.Gates)
	info := in.Machine.Info()
	store, err := topologymanager.NewManager(info.Topology, in.Topology.Policy, in.Topology.Scope, in.Topology.Options)
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	manager, err := cpumanager.NewManager(
		logr.Discard(), in.ManagerPolicy, in.ManagerOptions, time.Hour, info, parsed(in.Reserved), in.reservation(), "", store)
	if err != nil {
		return object{"new_cpu_manager_error": err.Error()}
	}
	memory, active := in.State.state(), []*v1.Pod{in.Pod}
	for _, one := range in.Others {
		pod := &v1.Pod{}
		pod.UID = types.UID(one.UID)
		for _, name := range one.Containers {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name})
		}
		active = append(active, pod)
	}
	cpumanager.OracleWith(manager, memory, func() []*v1.Pod { return active }, in.Ready)
	store.AddHintProvider(klog.Background(), manager)
	result := store.Admit(&lifecycle.PodAdmitAttributes{Pod: in.Pod})
	reserved, _ := cpumanager.OracleReserved(cpumanager.OraclePolicy(manager))
	return numa.Admission(object{
		"containers": numa.CPUContainers(in.Pod, store, memory), "state": numa.CPUs(memory), "reserved_cpus": reserved.String(),
	}, result)
}
