package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type hints = numa.Hints

// node is a kubelet: its managers, and its pods.
type node struct {
	r       *rand.Rand
	seed    int
	cases   []record
	gate    bool
	config  numa.Memory
	dir     string
	policy  string
	scope   string
	options map[string]string

	memory   memorymanager.Manager
	topology topologymanager.Manager
	others   *numa.Provider
	seen     *seen
	alive    map[string]pod
	// current is the pod that is admitted; it counts as active.
	current *pod
	// added are the containers that were created since the start.
	added map[string]bool
}

// seen is the memory manager, and what it was asked while a pod was admitted.
type seen struct {
	memorymanager.Manager
	store topologymanager.Store
	// hints are those of the pod, or of its first container.
	hints    hints
	asked    bool
	affinity object
	steps    []object
}

func (s *seen) begin() { s.hints, s.asked, s.affinity, s.steps = nil, false, object{}, []object{} }

func (s *seen) keep(h hints) hints {
	if !s.asked {
		s.hints, s.asked = h, true
	}
	return h
}

func (s *seen) GetTopologyHints(p *v1.Pod, c *v1.Container) hints {
	return s.keep(s.Manager.GetTopologyHints(p, c))
}

func (s *seen) GetPodTopologyHints(p *v1.Pod) hints { return s.keep(s.Manager.GetPodTopologyHints(p)) }

func (s *seen) Allocate(p *v1.Pod, c *v1.Container) error {
	s.affinity[c.Name] = numa.Hint(s.store.GetAffinity(string(p.UID), c.Name))
	return s.step(object{"container": c.Name}, func() error {
		err := s.Manager.Allocate(p, c)
		s.steps[len(s.steps)-1]["blocks"] = nil
		if blocks := s.GetMemory(string(p.UID), c.Name); blocks != nil {
			s.steps[len(s.steps)-1]["blocks"] = numa.Blocks(blocks)
		}
		return err
	})
}

func (s *seen) AllocatePod(p *v1.Pod) error {
	first := numa.Containers(p)[0].Name
	s.affinity[first] = numa.Hint(s.store.GetAffinity(string(p.UID), first))
	return s.step(object{"pod": true}, func() error { return s.Manager.AllocatePod(p) })
}

// step notes how a step ends; of one that panics, nothing but that.
func (s *seen) step(step object, do func() error) error {
	s.steps = append(s.steps, step)
	defer func() {
		if panicked := recover(); panicked != nil {
			delete(step, "error")
			step["panic"] = fmt.Sprint(panicked)
			s.steps = []object{step}
			panic(panicked)
		}
	}()
	step["error"] = nil
	err := do()
	if err != nil {
		step["error"] = err.Error()
	}
	return err
}

// listedHints returns hints as a list of resources, as the family topology_merge has them.
func listedHints(h hints) []object {
	listed := []object{}
	shown, _ := numa.Shown(h).(object)
	for _, name := range vector.Keys(h) {
		listed = append(listed, object{"resource": name, "hints": shown[name]})
	}
	return listed
}

func (n *node) active() []*v1.Pod {
	var pods []*v1.Pod
	for _, uid := range vector.Keys(n.alive) {
		pods = append(pods, n.alive[uid].Pod)
	}
	if n.current != nil {
		pods = append(pods, n.current.Pod)
	}
	return pods
}

func (n *node) write(family string, number int, in, out object) {
	id := fmt.Sprintf("%s-random-%d-%d", family, n.seed, number)
	n.cases = append(n.cases, record{family, id, vector.Text(in), vector.Text(out)})
}

// input returns what a case about a pod starts from.
func (n *node) input(memory memorymanager.Manager, p pod) object {
	uids := []string{}
	for _, one := range n.active() {
		uids = append(uids, string(one.UID))
	}
	in := object{
		"machine": n.config.Machine, "system_reserved": systemReserved(n.config),
		"machine_state": memory.State().GetMachineState(), "entries": numa.Entries(memory.State()),
		"init_containers_reusable": numa.Reusable(memory), "active_pod_uids": uids, "pod": p.raw,
	}
	if n.gate {
		in["feature_gates"] = object{"PodLevelResourceManagers": true}
		in["pod_entries"] = numa.PodEntries(memory.State())
	}
	return in
}

// with returns an input with more in it.
func with(in object, more object) object {
	result := object{}
	for name, value := range in {
		result[name] = value
	}
	for name, value := range more {
		result[name] = value
	}
	return result
}

// start starts the managers; it returns false where the kubelet would not.
func (n *node) start(number int) bool {
	topology, err := topologymanager.NewManager(n.config.Machine.Info().Topology, n.policy, n.scope, n.options)
	if err != nil {
		panic(err)
	}
	in := startInput(n.config, n.dir, n.gate)
	memory, out := n.config.Start(n.dir, topology, n.active)
	n.write("memory_start", number, in, out)
	if memory == nil {
		return false
	}
	n.memory, n.topology, n.added = memory, topology, map[string]bool{}
	n.others, n.seen = &numa.Provider{}, &seen{Manager: memory, store: topology}
	topology.AddHintProvider(klog.Background(), n.others)
	topology.AddHintProvider(klog.Background(), n.seen)
	return true
}

// sortFile puts the blocks in the state file in order, so that every run has the same file.
func (n *node) sortFile() {
	path := filepath.Join(n.dir, numa.StateFile)
	file, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, inOrder(file, n.gate), 0o600); err != nil {
		panic(err)
	}
}

// copied returns a folder with a copy of the state file.
func (n *node) copied() string {
	dir, err := os.MkdirTemp("", "memory_admit")
	if err != nil {
		panic(err)
	}
	if file, err := os.ReadFile(filepath.Join(n.dir, numa.StateFile)); err == nil {
		if err := os.WriteFile(filepath.Join(dir, numa.StateFile), file, 0o600); err != nil {
			panic(err)
		}
	}
	return dir
}

// otherStart starts a manager with another configuration, or with a state file that something damaged.
func (n *node) otherStart(number int) {
	dir := n.copied()
	defer os.RemoveAll(dir)
	c, path := n.config, filepath.Join(dir, numa.StateFile)
	if kube.OneIn(n.r, 3) {
		c = changed(n.r, c)
	} else if file, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(path, damaged(n.r, file, n.gate), 0o600); err != nil {
			panic(err)
		}
	}
	in := startInput(c, dir, n.gate)
	_, out := c.Start(dir, n.topology, n.active)
	n.write("memory_start", number, in, out)
}

func (n *node) randomMask(beyond bool) bitmask.BitMask {
	mask := bitmask.NewEmptyBitMask()
	for _, one := range n.config.Machine.Nodes {
		if kube.OneIn(n.r, 2) {
			_ = mask.Add(one.ID)
		}
	}
	if mask.IsEmpty() && !kube.OneIn(n.r, 4) {
		_ = mask.Add(n.config.Machine.Nodes[n.r.Intn(len(n.config.Machine.Nodes))].ID)
	}
	if beyond && kube.OneIn(n.r, 60) {
		_ = mask.Add(40)
	}
	return mask
}

// randomHints returns hints such as those of a manager of CPUs or devices.
func (n *node) randomHints() hints {
	if kube.OneIn(n.r, 2) {
		return nil
	}
	name := "example.com/nic"
	switch n.r.Intn(12) {
	case 0:
		return hints{name: nil}
	case 1:
		return hints{name: {}}
	case 2:
		return hints{}
	case 3:
		return hints{name: {{NUMANodeAffinity: nil, Preferred: kube.OneIn(n.r, 2)}}}
	}
	var listed []topologymanager.TopologyHint
	for i := 0; i < 1+n.r.Intn(4); i++ {
		hint := topologymanager.TopologyHint{NUMANodeAffinity: n.randomMask(false), Preferred: !kube.OneIn(n.r, 3)}
		listed = append(listed, hint)
	}
	return hints{name: listed}
}

// askHints asks the memory manager for the hints of a pod and its containers.
func (n *node) askHints(number int, p pod) {
	in := n.input(n.memory, p)
	containers := object{}
	for _, c := range p.containers() {
		containers[c.Name] = numa.Guarded(func() hints { return n.memory.GetTopologyHints(p.Pod, &c) })
	}
	whole := numa.Guarded(func() hints { return n.memory.GetPodTopologyHints(p.Pod) })
	n.write("memory_hints", number, in, object{"container_hints": containers, "pod_hints": whole})
}

func (n *node) isWhole(p pod) bool { return n.gate && resourcehelper.IsPodLevelResourcesSet(p.Pod) }

// allocated returns the output of a case of the family memory_allocate.
func allocated(s *seen, p pod) object {
	out := object{"steps": s.steps}
	if last := len(s.steps) - 1; last >= 0 && s.steps[last]["panic"] != nil {
		return out
	}
	numa.AddState(out, s.Manager.State())
	out["init_containers_reusable_after"] = numa.Reusable(s.Manager)
	if len(s.steps) == 0 || s.steps[0]["pod"] == nil {
		out["memory_numa_nodes"] = numa.NUMANodes(s, p.Pod)
	}
	return out
}

// direct lets a copy of the memory manager allocate with NUMA nodes of no topology manager.
func (n *node) direct(number int, p pod) {
	dir := n.copied()
	defer os.RemoveAll(dir)
	affinity := map[string]topologymanager.TopologyHint{}
	stored := object{}
	for _, c := range p.containers() {
		hint := topologymanager.TopologyHint{Preferred: kube.OneIn(n.r, 2)}
		if !kube.OneIn(n.r, 4) {
			hint.NUMANodeAffinity = n.randomMask(true)
		}
		affinity[c.Name] = hint
		stored[c.Name] = numa.Hint(hint)
	}
	store := numa.Fixed{Store: n.topology, Stored: affinity}
	memory, _ := n.config.Start(dir, store, n.active)
	if memory == nil {
		return
	}
	s := &seen{Manager: memory, store: store}
	s.begin()
	in := with(n.input(memory, p), object{"topology_hints": stored})
	whole := n.isWhole(p) && kube.OneIn(n.r, 2)
	if whole {
		in["scope"] = "pod"
	}
	func() {
		defer func() { _ = recover() }()
		if whole {
			_ = s.AllocatePod(p.Pod)
			return
		}
		for _, c := range p.containers() {
			if s.Allocate(p.Pod, &c) != nil {
				return
			}
		}
	}()
	n.write("memory_allocate", 1000+number, in, allocated(s, p))
}

// admit admits a pod. It returns whether the pod was admitted, and whether the kubelet is alive: false if it panicked.
func (n *node) admit(number int, p pod) (admitted, alive bool) {
	n.others.Containers, n.others.Pod = map[string]hints{}, n.randomHints()
	other := object{"container_hints": object{}, "pod_hints": listedHints(n.others.Pod)}
	before := object{}
	for _, c := range p.containers() {
		n.others.Containers[c.Name] = n.randomHints()
		other["container_hints"].(object)[c.Name] = listedHints(n.others.Containers[c.Name])
		hint := n.topology.GetAffinity(p.uid(), c.Name)
		if hint.NUMANodeAffinity != nil || hint.Preferred {
			before[c.Name] = numa.Hint(hint)
		}
	}
	n.seen.begin()
	in := n.input(n.memory, p)
	var result lifecycle.PodAdmitResult
	panicked := func() (panicked interface{}) {
		defer func() { panicked = recover() }()
		result = n.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: p.Pod})
		return nil
	}()
	more := object{
		"topology_manager": object{"policy": n.policy, "scope": n.scope, "policy_options": n.options},
		"other_hints":      other, "stored_hints": before,
	}
	if panicked != nil {
		more["kubelet_panics"] = fmt.Sprint(panicked)
		n.write("memory_admit", number, with(in, more), object{"not_computed": true})
		if len(n.seen.steps) > 0 && n.seen.steps[0]["panic"] != nil {
			in = with(in, object{"topology_hints": n.seen.affinity})
			if n.seen.steps[0]["pod"] != nil {
				in["scope"] = "pod"
			}
			n.write("memory_allocate", number, in, allocated(n.seen, p))
		}
		return false, false
	}
	n.write("memory_admit", number, with(in, more), n.admission(p, result))
	n.merge(number)
	n.writeAllocation(number, p, in, result)
	return result.Admit, true
}

func (n *node) admission(p pod, result lifecycle.PodAdmitResult) object {
	containers := []object{}
	for _, c := range p.containers() {
		containers = append(containers, object{
			"name": c.Name, "affinity": numa.Hint(n.topology.GetAffinity(p.uid(), c.Name)),
		})
	}
	out := numa.Admission(object{"containers": containers, "init_containers_reusable_after": numa.Reusable(n.memory)}, result)
	numa.AddState(out, n.memory.State())
	return out
}

// writeAllocation writes the allocation of an admitted pod, or of one for which there was not enough memory, and goes on
// with what happens to its containers. What the topology manager refuses is no case of its own.
func (n *node) writeAllocation(number int, p pod, in object, result lifecycle.PodAdmitResult) {
	steps := n.seen.steps
	if !result.Admit && (len(steps) == 0 || steps[len(steps)-1]["error"] == nil) {
		return
	}
	in = with(in, object{"topology_hints": n.seen.affinity})
	if len(steps) > 0 && steps[0]["pod"] != nil {
		in["scope"] = "pod"
	}
	out := allocated(n.seen, p)
	if result.Admit && kube.OneIn(n.r, 2) {
		if operations, after := n.operate(p); len(operations) > 0 {
			in["then"], out["then"] = operations, after
			delete(out, "memory_numa_nodes")
		}
	}
	n.write("memory_allocate", number, in, out)
}

// operate lets containers of a pod be created and removed, and other pods go.
func (n *node) operate(p pod) (operations, after []object) {
	note := func(operation object) {
		out := object{"op": operation}
		numa.AddState(out, n.memory.State())
		operations, after = append(operations, operation), append(after, out)
	}
	for _, c := range p.containers() {
		if kube.OneIn(n.r, 4) {
			break
		}
		id := p.uid() + "/" + c.Name
		n.memory.AddContainer(logr.Discard(), p.Pod, &c, id)
		n.added[id] = true
		note(object{"op": "add_container", "container": c.Name})
		if kube.OneIn(n.r, 5) {
			_ = n.memory.RemoveContainer(logr.Discard(), id)
			delete(n.added, id)
			note(object{"op": "remove_container", "pod_uid": p.uid(), "container": c.Name})
		}
	}
	for _, uid := range vector.Keys(n.alive) {
		if kube.OneIn(n.r, 6) {
			delete(n.alive, uid)
			// The removal comes with the next question, whatever it is.
			n.memory.GetPodTopologyHints(&v1.Pod{})
			note(object{"op": "pod_gone", "pod_uid": uid})
		}
	}
	return operations, after
}

// merge writes how the policy merges the hints that were given first.
func (n *node) merge(number int) {
	if n.policy == "none" || !n.seen.asked {
		return
	}
	given := []hints{n.others.Pod, n.seen.hints}
	best, admit := n.topology.GetPolicy().Merge(klog.Background(), given)
	providers := [][]object{}
	for _, one := range given {
		providers = append(providers, listedHints(one))
	}
	in := object{
		"policy": n.policy, "policy_options": n.options, "numa_nodes": n.config.Machine.Nodes, "providers": providers,
	}
	n.write("topology_merge", number, in, object{"best_hint": numa.Hint(best), "admit": admit})
}

func hasGaps(m numa.MemoryMachine) bool { return m.Nodes[len(m.Nodes)-1].ID != len(m.Nodes)-1 }

func run(seed int) []record {
	r := rand.New(rand.NewSource(int64(seed)))
	m := randomMachine(r)
	dir, err := os.MkdirTemp("", "memory_admit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	n := &node{
		r: r, seed: seed, gate: kube.OneIn(r, 4), config: randomConfig(r, m), dir: dir, alive: map[string]pod{},
		policy: kube.Pick(r, "none", "best-effort", "best-effort", "restricted", "restricted", "single-numa-node"),
		scope:  kube.Pick(r, "container", "container", "pod"), options: map[string]string{},
	}
	// With gaps in the numbers of the nodes, the kubelet looks up distances that are not there.
	if kube.OneIn(r, 3) && !hasGaps(m) {
		n.options["prefer-closest-numa-nodes"] = "true"
	}
	setGate(n.gate)
	if !n.start(0) {
		return n.cases
	}
	for number := 1; number <= 10; number++ {
		if !n.step(number) {
			break
		}
	}
	return n.cases
}

// step is one pod, and what happens before it. It returns false if the kubelet panicked.
func (n *node) step(number int) bool {
	r := n.r
	for _, uid := range vector.Keys(n.alive) {
		if kube.OneIn(r, 6) {
			delete(n.alive, uid)
		}
	}
	n.sortFile()
	if kube.OneIn(r, 8) {
		n.otherStart(2000 + number)
	}
	if kube.OneIn(r, 10) && !n.start(3000+number) {
		// An operator removes the pods and the file.
		n.alive = map[string]pod{}
		_ = os.Remove(filepath.Join(n.dir, numa.StateFile))
		if !n.start(4000 + number) {
			return false
		}
	}
	d := demand{r, n.config.Machine, n.memory.State().GetMachineState()}
	p := d.pod(fmt.Sprintf("pod-%d", number), n.gate)
	if uids := vector.Keys(n.alive); len(uids) > 0 && kube.OneIn(r, 10) {
		p = n.alive[uids[r.Intn(len(uids))]]
		delete(n.alive, p.uid())
	}
	n.current = &p
	defer func() { n.current = nil }()
	if kube.OneIn(r, 3) {
		n.direct(number, p)
	}
	n.askHints(number, p)
	admitted, alive := n.admit(number, p)
	if admitted || kube.OneIn(r, 5) {
		n.alive[p.uid()] = p
	}
	return alive
}
