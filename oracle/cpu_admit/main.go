// Program cpu_admit admits random pods on random machines with the kubelet's own CPU manager (static policy) and
// topology manager, and writes each admission as a case of kq's family cpu_admit.
//
//	KUBERNETES=CHECKOUT oracle/record --run cpu_admit FIRST_SEED LAST_SEED > cpu_admit.jsonl
//
// Some inputs make the kubelet loop forever: the program then ends with status 3, without the cases of that seed, and names
// the seed on standard error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type cpu struct {
	CPU    int  `json:"cpu"`
	Core   int  `json:"core"`
	Socket int  `json:"socket"`
	Node   int  `json:"numa_node"`
	Cache  *int `json:"uncore_cache"`
}

type numaNode struct {
	ID        int      `json:"id"`
	Distances []uint64 `json:"distances"`
}

type machine struct {
	Name  string     `json:"name"`
	CPUs  []cpu      `json:"cpus"`
	Nodes []numaNode `json:"numa_nodes"`
}

type object map[string]interface{}

// provider is the CPU manager without its files: the policy and a state in memory.
type provider struct {
	policy cpumanager.Policy
	state  state.State
	logger logr.Logger
}

func (p *provider) GetTopologyHints(pod *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(p.logger, p.state, pod, c)
}

func (p *provider) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(p.logger, p.state, pod)
}

func (p *provider) AllocatePod(pod *v1.Pod) error {
	return p.policy.AllocatePod(p.logger, p.state, pod)
}

func (p *provider) Allocate(pod *v1.Pod, c *v1.Container) error {
	return p.policy.Allocate(p.logger, p.state, pod, c)
}

func pick(r *rand.Rand, from ...int) int { return from[r.Intn(len(from))] }

func randomMachine(r *rand.Rand, seed int) machine {
	sockets, threads := pick(r, 1, 1, 2, 2, 4), pick(r, 1, 2, 2, 2, 4)
	nodesPerSocket, socketsPerNode := pick(r, 1, 1, 2, 4), 1
	if sockets > 1 && r.Intn(5) == 0 {
		nodesPerSocket, socketsPerNode = 1, 2
	}
	for sockets*nodesPerSocket > 8 {
		nodesPerSocket /= 2
	}
	coresPerPart := pick(r, 1, 2, 3, 4, 4, 6, 8)
	cachesPerPart := pick(r, 0, 1, 1, 2, 3)
	parts := sockets * nodesPerSocket
	cores := parts * coresPerPart
	compact, uneven, gaps := r.Intn(2) == 0, r.Intn(6) == 0, r.Intn(8) == 0
	m := machine{Name: fmt.Sprintf("random-%d", seed)}
	nodes := map[int]bool{}
	for c := 0; c < cores; c++ {
		part := c / coresPerPart
		if !compact {
			part = c % parts
		}
		socket := part / nodesPerSocket
		node := part
		if socketsPerNode == 2 {
			node = socket / 2
		}
		var cache *int
		if cachesPerPart > 0 {
			id := part*cachesPerPart + (c/parts)%cachesPerPart
			cache = &id
		}
		core := -1
		for t := 0; t < threads; t++ {
			id := c + t*cores
			if compact {
				id = c*threads + t
			}
			if gaps && id > 4 {
				id += 7
			}
			if uneven && r.Intn(7) == 0 {
				continue
			}
			if core < 0 {
				core = id
			}
			nodes[node] = true
			m.CPUs = append(m.CPUs, cpu{id, core, socket, node, cache})
		}
	}
	sort.Slice(m.CPUs, func(i, j int) bool { return m.CPUs[i].CPU < m.CPUs[j].CPU })
	count := 0
	for node := range nodes {
		if node+1 > count {
			count = node + 1
		}
	}
	if r.Intn(10) == 0 && count < 8 {
		count++
	}
	for id := 0; id < count; id++ {
		node := numaNode{ID: id}
		for other := 0; other < count; other++ {
			distance := pick(r, 11, 12, 16, 20, 21, 32)
			if other == id {
				distance = 10
			}
			node.Distances = append(node.Distances, uint64(distance))
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

func info(m machine) *cadvisorapi.MachineInfo {
	sockets := map[int]bool{}
	result := &cadvisorapi.MachineInfo{NumCores: len(m.CPUs)}
	for _, n := range m.Nodes {
		node := cadvisorapi.Node{Id: n.ID, Distances: n.Distances}
		at := map[int]int{}
		for _, c := range m.CPUs {
			if c.Node != n.ID {
				continue
			}
			sockets[c.Socket] = true
			if _, ok := at[c.Core]; !ok {
				at[c.Core] = len(node.Cores)
				core := cadvisorapi.Core{Id: c.Core, SocketID: c.Socket}
				if c.Cache != nil {
					core.UncoreCaches = []cadvisorapi.Cache{{Id: *c.Cache}}
				}
				node.Cores = append(node.Cores, core)
			}
			node.Cores[at[c.Core]].Threads = append(node.Cores[at[c.Core]].Threads, c.CPU)
		}
		result.Topology = append(result.Topology, node)
	}
	result.NumSockets = len(sockets)
	return result
}

var optionSets = []map[string]string{
	{}, {}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"},
	{"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"}, {"align-by-socket": "true"},
	{"distribute-cpus-across-cores": "true"}, {"prefer-align-cpus-by-uncorecache": "true"},
	{"prefer-align-cpus-by-uncorecache": "true", "full-pcpus-only": "true"},
	{"align-by-socket": "true", "distribute-cpus-across-numa": "true"},
	{"align-by-socket": "true", "distribute-cpus-across-cores": "true"},
	{"align-by-socket": "true", "prefer-align-cpus-by-uncorecache": "true"},
	{"strict-cpu-reservation": "true"},
	{"strict-cpu-reservation": "true", "distribute-cpus-across-numa": "true"},
}

func randomPod(r *rand.Rand, uid string, cpus int) *v1.Pod {
	container := func(name string) v1.Container {
		amount := strconv.Itoa(1 + r.Intn(1+cpus/pick(r, 1, 2, 3, 4, 8)))
		if r.Intn(10) == 0 {
			amount = pickText(r, "500m", "1500m", "2000m", "999m")
		}
		list := v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(amount), v1.ResourceMemory: resource.MustParse("128Mi"),
		}
		limits := list.DeepCopy()
		if r.Intn(25) == 0 {
			limits[v1.ResourceCPU] = resource.MustParse("900")
		}
		return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: list, Limits: limits}}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "default", UID: types.UID(uid)}}
	always := v1.ContainerRestartPolicyAlways
	for i := 0; i < pick(r, 0, 0, 0, 1, 2, 3); i++ {
		c := container(fmt.Sprintf("i%d", i))
		if r.Intn(3) == 0 {
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	for i := 0; i < pick(r, 1, 1, 1, 2, 3); i++ {
		pod.Spec.Containers = append(pod.Spec.Containers, container(fmt.Sprintf("c%d", i)))
	}
	return pod
}

func pickText(r *rand.Rand, from ...string) string { return from[r.Intn(len(from))] }

func shownState(s state.State) object {
	entries := object{}
	for uid, containers := range s.GetCPUAssignments() {
		shown := object{}
		for name, cpus := range containers {
			shown[name] = cpus.String()
		}
		entries[uid] = shown
	}
	return object{"default_cpu_set": s.GetDefaultCPUSet().String(), "entries": entries}
}

func shownHint(hint topologymanager.TopologyHint) object {
	var nodes []int
	if hint.NUMANodeAffinity != nil {
		nodes = append([]int{}, hint.NUMANodeAffinity.GetBits()...)
	}
	return object{"numa_nodes": nodes, "preferred": hint.Preferred}
}

func run(seed int, out *json.Encoder) {
	r := rand.New(rand.NewSource(int64(seed)))
	m := randomMachine(r, seed)
	if len(m.CPUs) == 0 {
		return
	}
	logger := logr.Discard()
	topologyPolicy := pickText(r, "none", "best-effort", "restricted", "single-numa-node")
	scope := pickText(r, "container", "pod")
	topologyOptions := map[string]string{}
	if r.Intn(3) == 0 {
		topologyOptions["prefer-closest-numa-nodes"] = "true"
	}
	options := optionSets[r.Intn(len(optionSets))]
	reserved := 1 + r.Intn(1+len(m.CPUs)/6)
	explicit := cpuset.New()
	if r.Intn(3) == 0 {
		for explicit.Size() < reserved {
			explicit = explicit.Union(cpuset.New(m.CPUs[r.Intn(len(m.CPUs))].CPU))
		}
	}
	common := object{
		"machine": m, "cpu_manager_policy": "static", "cpu_manager_policy_options": options,
		"topology_manager":                 object{"policy": topologyPolicy, "scope": scope, "policy_options": topologyOptions},
		"feature_gates":                    object{"CPUManagerPolicyAlphaOptions": true, "CPUManagerPolicyBetaOptions": true},
		"node_allocatable_reservation_cpu": strconv.Itoa(reserved), "reserved_cpus": explicit.String(),
		"sources_ready": true,
	}
	write := func(number int, in, result object) {
		for name, value := range common {
			in[name] = value
		}
		id := fmt.Sprintf("cpu_admit-random-%d-%d", seed, number)
		if err := out.Encode(object{"id": id, "source": "generated", "in": in, "out": result}); err != nil {
			panic(err)
		}
	}
	machineInfo := info(m)
	manager, err := topologymanager.NewManager(machineInfo.Topology, topologyPolicy, scope, topologyOptions)
	if err != nil {
		panic(err)
	}
	topo, err := topology.Discover(logger, machineInfo)
	if err != nil {
		panic(err)
	}
	memory := state.NewMemoryState(logger)
	policy, err := cpumanager.NewStaticPolicy(logger, topo, reserved, explicit, manager, options)
	if err != nil {
		empty := object{"default_cpu_set": "", "entries": object{}}
		in := object{"state": empty, "other_active_pods": []object{}, "pod": randomPod(r, "pod-0", 4)}
		write(0, in, object{"new_cpu_manager_error": "new static policy error: " + err.Error()})
		return
	}
	if err := policy.Start(logger, memory); err != nil {
		panic(err)
	}
	reservedCPUs := topo.CPUDetails.CPUs().Difference(policy.GetAllocatableCPUs(memory)).String()
	cpuProvider := &provider{policy, memory, logger}
	manager.AddHintProvider(klog.Background(), cpuProvider)
	alive := map[string]*v1.Pod{}
	for number := 0; number < 8; number++ {
		for _, uid := range sortedKeys(alive) {
			if r.Intn(4) == 0 {
				for name := range memory.GetCPUAssignments()[uid] {
					_ = policy.RemoveContainer(logger, memory, uid, name)
				}
				delete(alive, uid)
			}
		}
		uid := fmt.Sprintf("pod-%d", number)
		pod := randomPod(r, uid, len(m.CPUs))
		others := []object{}
		for _, other := range sortedKeys(alive) {
			names := []string{}
			for name := range memory.GetCPUAssignments()[other] {
				names = append(names, name)
			}
			sort.Strings(names)
			others = append(others, object{"uid": other, "containers": names})
		}
		in := object{"state": shownState(memory), "other_active_pods": others, "pod": pod.DeepCopy()}
		admitted := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
		containers := []object{}
		all := append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
		for _, c := range all {
			var exclusive interface{}
			if cpus, ok := memory.GetCPUSet(uid, c.Name); ok {
				exclusive = cpus.String()
			}
			containers = append(containers, object{
				"name": c.Name, "affinity": shownHint(manager.GetAffinity(uid, c.Name)), "exclusive_cpus": exclusive,
			})
		}
		result := object{
			"admitted": admitted.Admit, "reason": admitted.Reason, "message": admitted.Message,
			"containers": containers, "state": shownState(memory), "reserved_cpus": reservedCPUs,
		}
		if !admitted.Admit {
			result["pod_status"] = object{
				"phase": "Failed", "reason": admitted.Reason, "message": "Pod was rejected: " + admitted.Message,
			}
		}
		write(number, in, result)
		alive[uid] = pod
	}
}

func sortedKeys(pods map[string]*v1.Pod) []string {
	keys := []string{}
	for key := range pods {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func main() {
	klog.SetLogger(logr.Discard())
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		panic(err)
	}
	first, _ := strconv.Atoi(os.Args[1])
	last, _ := strconv.Atoi(os.Args[2])
	buffered := bufio.NewWriterSize(os.Stdout, 1<<24)
	out := json.NewEncoder(buffered)
	out.SetEscapeHTML(false)
	for seed := first; seed <= last; seed++ {
		done := make(chan bool)
		go func() {
			run(seed, out)
			close(done)
		}()
		select {
		case <-done:
			_ = buffered.Flush()
		case <-time.After(5 * time.Second):
			fmt.Fprintf(os.Stderr, "the kubelet hangs with seed %d\n", seed)
			os.Exit(3)
		}
	}
}
