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
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/utils/cpuset"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type object = vector.Object

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

func randomMachine(r *rand.Rand, seed int) numa.CPUMachine {
	sockets, threads := kube.Pick(r, 1, 1, 2, 2, 4), kube.Pick(r, 1, 2, 2, 2, 4)
	nodesPerSocket, socketsPerNode := kube.Pick(r, 1, 1, 2, 4), 1
	if sockets > 1 && r.Intn(5) == 0 {
		nodesPerSocket, socketsPerNode = 1, 2
	}
	for sockets*nodesPerSocket > 8 {
		nodesPerSocket /= 2
	}
	coresPerPart := kube.Pick(r, 1, 2, 3, 4, 4, 6, 8)
	cachesPerPart := kube.Pick(r, 0, 1, 1, 2, 3)
	parts := sockets * nodesPerSocket
	cores := parts * coresPerPart
	compact, uneven, gaps := r.Intn(2) == 0, r.Intn(6) == 0, r.Intn(8) == 0
	m := numa.CPUMachine{Name: fmt.Sprintf("random-%d", seed)}
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
			m.CPUs = append(m.CPUs, numa.CPU{CPU: id, Core: core, Socket: socket, Node: node, Cache: cache})
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
		node := numa.CPUNode{ID: id}
		for other := 0; other < count; other++ {
			distance := kube.Pick(r, 11, 12, 16, 20, 21, 32)
			if other == id {
				distance = 10
			}
			node.Distances = append(node.Distances, uint64(distance))
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
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
		amount := strconv.Itoa(1 + r.Intn(1+cpus/kube.Pick(r, 1, 2, 3, 4, 8)))
		if r.Intn(10) == 0 {
			amount = kube.Pick(r, "500m", "1500m", "2000m", "999m")
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
	for i := 0; i < kube.Pick(r, 0, 0, 0, 1, 2, 3); i++ {
		c := container(fmt.Sprintf("i%d", i))
		if r.Intn(3) == 0 {
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	for i := 0; i < kube.Pick(r, 1, 1, 1, 2, 3); i++ {
		pod.Spec.Containers = append(pod.Spec.Containers, container(fmt.Sprintf("c%d", i)))
	}
	return pod
}

func run(seed int, out *json.Encoder) {
	r := rand.New(rand.NewSource(int64(seed)))
	m := randomMachine(r, seed)
	if len(m.CPUs) == 0 {
		return
	}
	logger := logr.Discard()
	topologyPolicy := kube.Pick(r, "none", "best-effort", "restricted", "single-numa-node")
	scope := kube.Pick(r, "container", "pod")
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
	machineInfo := m.Info()
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
		for _, uid := range vector.Keys(alive) {
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
		for _, other := range vector.Keys(alive) {
			names := []string{}
			for name := range memory.GetCPUAssignments()[other] {
				names = append(names, name)
			}
			sort.Strings(names)
			others = append(others, object{"uid": other, "containers": names})
		}
		in := object{"state": numa.CPUs(memory), "other_active_pods": others, "pod": pod.DeepCopy()}
		admitted := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
		result := numa.Admission(object{
			"containers": numa.CPUContainers(pod, manager, memory), "state": numa.CPUs(memory), "reserved_cpus": reservedCPUs,
		}, admitted)
		write(number, in, result)
		alive[uid] = pod
	}
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
