package main

import (
	"fmt"
	"math/bits"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type hints = map[string][]topologymanager.TopologyHint

// node is a kubelet: its managers, and its pods.
type node struct {
	r       *rand.Rand
	seed    int
	cases   []record
	gate    bool
	config  config
	dir     string
	policy  string
	scope   string
	options map[string]string

	memory   memorymanager.Manager
	topology topologymanager.Manager
	others   *others
	seen     *seen
	alive    map[string]pod
	// current is the pod that is admitted; it counts as active.
	current *pod
	// added are the containers that were created since the start.
	added map[string]bool
}

// others stands in for the managers of CPUs and devices.
type others struct {
	containers map[string]hints
	pod        hints
}

func (o *others) GetTopologyHints(_ *v1.Pod, c *v1.Container) hints { return o.containers[c.Name] }
func (o *others) GetPodTopologyHints(*v1.Pod) hints                 { return o.pod }
func (o *others) AllocatePod(*v1.Pod) error                         { return nil }
func (o *others) Allocate(*v1.Pod, *v1.Container) error             { return nil }

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
	s.affinity[c.Name] = shownHint(s.store.GetAffinity(string(p.UID), c.Name))
	return s.step(object{"container": c.Name}, func() error {
		err := s.Manager.Allocate(p, c)
		s.steps[len(s.steps)-1]["blocks"] = nil
		if blocks := s.GetMemory(string(p.UID), c.Name); blocks != nil {
			s.steps[len(s.steps)-1]["blocks"] = shownBlocks(blocks)
		}
		return err
	})
}

func (s *seen) AllocatePod(p *v1.Pod) error {
	first := append(append([]v1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...)[0].Name
	s.affinity[first] = shownHint(s.store.GetAffinity(string(p.UID), first))
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

// fixed is a topology manager that stored NUMA nodes by container, whatever the pod.
type fixed struct {
	topologymanager.Store
	affinity map[string]topologymanager.TopologyHint
}

func (f fixed) GetAffinity(_, name string) topologymanager.TopologyHint { return f.affinity[name] }

func shownHint(hint topologymanager.TopologyHint) object {
	var nodes []int
	if hint.NUMANodeAffinity != nil {
		nodes = append([]int{}, hint.NUMANodeAffinity.GetBits()...)
	}
	return object{"numa_nodes": nodes, "preferred": hint.Preferred}
}

// shownHints returns hints by resource; nil where there are none.
func shownHints(h hints) object {
	if h == nil {
		return nil
	}
	shown := object{}
	for name, list := range h {
		shown[name] = nil
		if list != nil {
			one := []object{}
			for _, hint := range list {
				one = append(one, shownHint(hint))
			}
			shown[name] = one
		}
	}
	return shown
}

// listedHints returns hints as a list of resources, as the family topology_merge has them.
func listedHints(h hints) []object {
	listed := []object{}
	for _, name := range sortedKeys(h) {
		listed = append(listed, object{"resource": name, "hints": shownHints(h)[name]})
	}
	return listed
}

func (n *node) active() []*v1.Pod {
	var pods []*v1.Pod
	for _, uid := range sortedKeys(n.alive) {
		pods = append(pods, n.alive[uid].Pod)
	}
	if n.current != nil {
		pods = append(pods, n.current.Pod)
	}
	return pods
}

func (n *node) write(family string, number int, in, out object) {
	id := fmt.Sprintf("%s-random-%d-%d", family, n.seed, number)
	n.cases = append(n.cases, record{family, id, text(in), text(out)})
}

// reusable returns what the policy remembers of init containers, which is in none of its public fields.
func reusable(memory memorymanager.Manager) []object {
	policy := reflect.ValueOf(memory).Elem().FieldByName("policy").Elem().Elem()
	rows := []object{}
	for pods := policy.FieldByName("initContainersReusableMemory").MapRange(); pods.Next(); {
		for sets := pods.Value().MapRange(); sets.Next(); {
			mask, err := strconv.ParseUint(sets.Key().String(), 2, 64)
			if err != nil {
				panic(err)
			}
			nodes := []int{}
			for ; mask != 0; mask &= mask - 1 {
				nodes = append(nodes, bits.TrailingZeros64(mask))
			}
			for amounts := sets.Value().MapRange(); amounts.Next(); {
				rows = append(rows, object{
					"pod_uid": pods.Key().String(), "numa_nodes": nodes,
					"resource": amounts.Key().String(), "bytes": amounts.Value().Uint(),
				})
			}
		}
	}
	sort.Slice(rows, func(i, j int) bool {
		one, other := rows[i], rows[j]
		if one["pod_uid"] != other["pod_uid"] {
			return one["pod_uid"].(string) < other["pod_uid"].(string)
		}
		left, right := one["numa_nodes"].([]int), other["numa_nodes"].([]int)
		for at := 0; at < len(left) && at < len(right); at++ {
			if left[at] != right[at] {
				return left[at] < right[at]
			}
		}
		if len(left) != len(right) {
			return len(left) < len(right)
		}
		return one["resource"].(string) < other["resource"].(string)
	})
	return rows
}

// input returns what a case about a pod starts from.
func (n *node) input(memory memorymanager.Manager, p pod) object {
	uids := []string{}
	for _, one := range n.active() {
		uids = append(uids, string(one.UID))
	}
	in := object{
		"machine": n.config.Machine, "system_reserved": n.config.systemReserved(),
		"machine_state": memory.State().GetMachineState(), "entries": shownEntries(memory.State()),
		"init_containers_reusable": reusable(memory), "active_pod_uids": uids, "pod": p.raw,
	}
	if n.gate {
		in["feature_gates"] = object{"PodLevelResourceManagers": true}
		in["pod_entries"] = shownPodEntries(memory.State())
	}
	return in
}

func addState(out object, memory memorymanager.Manager) {
	out["machine_state_after"] = memory.State().GetMachineState()
	out["entries_after"] = shownEntries(memory.State())
	if pods := shownPodEntries(memory.State()); len(pods) > 0 {
		out["pod_entries_after"] = pods
	}
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
	topology, err := topologymanager.NewManager(n.config.info().Topology, n.policy, n.scope, n.options)
	if err != nil {
		panic(err)
	}
	in := startInput(n.config, n.dir, n.gate)
	memory, out := started(n.config, n.dir, topology, n.active)
	n.write("memory_start", number, in, out)
	if memory == nil {
		return false
	}
	n.memory, n.topology, n.added = memory, topology, map[string]bool{}
	n.others, n.seen = &others{}, &seen{Manager: memory, store: topology}
	topology.AddHintProvider(klog.Background(), n.others)
	topology.AddHintProvider(klog.Background(), n.seen)
	return true
}

// sortFile puts the blocks in the state file in order, so that every run has the same file.
func (n *node) sortFile() {
	path := filepath.Join(n.dir, stateFile)
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
	if file, err := os.ReadFile(filepath.Join(n.dir, stateFile)); err == nil {
		if err := os.WriteFile(filepath.Join(dir, stateFile), file, 0o600); err != nil {
			panic(err)
		}
	}
	return dir
}

// otherStart starts a manager with another configuration, or with a state file that something damaged.
func (n *node) otherStart(number int) {
	dir := n.copied()
	defer os.RemoveAll(dir)
	c, path := n.config, filepath.Join(dir, stateFile)
	if oneIn(n.r, 3) {
		c = changed(n.r, c)
	} else if file, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(path, damaged(n.r, file, n.gate), 0o600); err != nil {
			panic(err)
		}
	}
	in := startInput(c, dir, n.gate)
	_, out := started(c, dir, n.topology, n.active)
	n.write("memory_start", number, in, out)
}

func (n *node) randomMask(beyond bool) bitmask.BitMask {
	mask := bitmask.NewEmptyBitMask()
	for _, one := range n.config.Machine.Nodes {
		if oneIn(n.r, 2) {
			_ = mask.Add(one.ID)
		}
	}
	if mask.IsEmpty() && !oneIn(n.r, 4) {
		_ = mask.Add(n.config.Machine.Nodes[n.r.Intn(len(n.config.Machine.Nodes))].ID)
	}
	if beyond && oneIn(n.r, 60) {
		_ = mask.Add(40)
	}
	return mask
}

// randomHints returns hints such as those of a manager of CPUs or devices.
func (n *node) randomHints() hints {
	if oneIn(n.r, 2) {
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
		return hints{name: {{NUMANodeAffinity: nil, Preferred: oneIn(n.r, 2)}}}
	}
	var listed []topologymanager.TopologyHint
	for i := 0; i < 1+n.r.Intn(4); i++ {
		hint := topologymanager.TopologyHint{NUMANodeAffinity: n.randomMask(false), Preferred: !oneIn(n.r, 3)}
		listed = append(listed, hint)
	}
	return hints{name: listed}
}

// askHints asks the memory manager for the hints of a pod and its containers.
func (n *node) askHints(number int, p pod) {
	in := n.input(n.memory, p)
	guarded := func(ask func() hints) (shown interface{}) {
		defer func() {
			if panicked := recover(); panicked != nil {
				shown = object{"panic": fmt.Sprint(panicked)}
			}
		}()
		if shown := shownHints(ask()); shown != nil {
			return shown
		}
		return nil
	}
	containers := object{}
	for _, c := range p.containers() {
		containers[c.Name] = guarded(func() hints { return n.memory.GetTopologyHints(p.Pod, &c) })
	}
	whole := guarded(func() hints { return n.memory.GetPodTopologyHints(p.Pod) })
	n.write("memory_hints", number, in, object{"container_hints": containers, "pod_hints": whole})
}

func (n *node) isWhole(p pod) bool { return n.gate && resourcehelper.IsPodLevelResourcesSet(p.Pod) }

// allocated returns the output of a case of the family memory_allocate.
func allocated(s *seen, p pod) object {
	out := object{"steps": s.steps}
	if last := len(s.steps) - 1; last >= 0 && s.steps[last]["panic"] != nil {
		return out
	}
	addState(out, s.Manager)
	out["init_containers_reusable_after"] = reusable(s.Manager)
	if len(s.steps) == 0 || s.steps[0]["pod"] == nil {
		nodes := object{}
		for _, c := range p.containers() {
			nodes[c.Name] = nil
			if set := s.GetMemoryNUMANodes(logr.Discard(), p.Pod, &c); set != nil {
				sorted := set.UnsortedList()
				sort.Ints(sorted)
				nodes[c.Name] = sorted
			}
		}
		out["memory_numa_nodes"] = nodes
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
		hint := topologymanager.TopologyHint{Preferred: oneIn(n.r, 2)}
		if !oneIn(n.r, 4) {
			hint.NUMANodeAffinity = n.randomMask(true)
		}
		affinity[c.Name] = hint
		stored[c.Name] = shownHint(hint)
	}
	store := fixed{n.topology, affinity}
	memory, _ := started(n.config, dir, store, n.active)
	if memory == nil {
		return
	}
	s := &seen{Manager: memory, store: store}
	s.begin()
	in := with(n.input(memory, p), object{"topology_hints": stored})
	whole := n.isWhole(p) && oneIn(n.r, 2)
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
	n.others.containers, n.others.pod = map[string]hints{}, n.randomHints()
	other := object{"container_hints": object{}, "pod_hints": listedHints(n.others.pod)}
	before := object{}
	for _, c := range p.containers() {
		n.others.containers[c.Name] = n.randomHints()
		other["container_hints"].(object)[c.Name] = listedHints(n.others.containers[c.Name])
		hint := n.topology.GetAffinity(p.uid(), c.Name)
		if hint.NUMANodeAffinity != nil || hint.Preferred {
			before[c.Name] = shownHint(hint)
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
			"name": c.Name, "affinity": shownHint(n.topology.GetAffinity(p.uid(), c.Name)),
		})
	}
	out := object{
		"admitted": result.Admit, "reason": result.Reason, "message": result.Message, "containers": containers,
		"init_containers_reusable_after": reusable(n.memory),
	}
	addState(out, n.memory)
	if !result.Admit {
		out["pod_status"] = object{
			"phase": "Failed", "reason": result.Reason, "message": "Pod was rejected: " + result.Message,
		}
	}
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
	if result.Admit && oneIn(n.r, 2) {
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
		addState(out, n.memory)
		operations, after = append(operations, operation), append(after, out)
	}
	for _, c := range p.containers() {
		if oneIn(n.r, 4) {
			break
		}
		id := p.uid() + "/" + c.Name
		n.memory.AddContainer(logr.Discard(), p.Pod, &c, id)
		n.added[id] = true
		note(object{"op": "add_container", "container": c.Name})
		if oneIn(n.r, 5) {
			_ = n.memory.RemoveContainer(logr.Discard(), id)
			delete(n.added, id)
			note(object{"op": "remove_container", "pod_uid": p.uid(), "container": c.Name})
		}
	}
	for _, uid := range sortedKeys(n.alive) {
		if oneIn(n.r, 6) {
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
	given := []hints{n.others.pod, n.seen.hints}
	best, admit := n.topology.GetPolicy().Merge(klog.Background(), given)
	providers := [][]object{}
	for _, one := range given {
		providers = append(providers, listedHints(one))
	}
	in := object{
		"policy": n.policy, "policy_options": n.options, "numa_nodes": n.config.Machine.Nodes, "providers": providers,
	}
	n.write("topology_merge", number, in, object{"best_hint": shownHint(best), "admit": admit})
}

func hasGaps(m machine) bool { return m.Nodes[len(m.Nodes)-1].ID != len(m.Nodes)-1 }

func run(seed int) []record {
	r := rand.New(rand.NewSource(int64(seed)))
	m := randomMachine(r)
	dir, err := os.MkdirTemp("", "memory_admit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	n := &node{
		r: r, seed: seed, gate: oneIn(r, 4), config: randomConfig(r, m), dir: dir, alive: map[string]pod{},
		policy: pick(r, "none", "best-effort", "best-effort", "restricted", "restricted", "single-numa-node"),
		scope:  pick(r, "container", "container", "pod"), options: map[string]string{},
	}
	// With gaps in the numbers of the nodes, the kubelet looks up distances that are not there.
	if oneIn(r, 3) && !hasGaps(m) {
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
	for _, uid := range sortedKeys(n.alive) {
		if oneIn(r, 6) {
			delete(n.alive, uid)
		}
	}
	n.sortFile()
	if oneIn(r, 8) {
		n.otherStart(2000 + number)
	}
	if oneIn(r, 10) && !n.start(3000+number) {
		// An operator removes the pods and the file.
		n.alive = map[string]pod{}
		_ = os.Remove(filepath.Join(n.dir, stateFile))
		if !n.start(4000 + number) {
			return false
		}
	}
	d := demand{r, n.config.Machine, n.memory.State().GetMachineState()}
	p := d.pod(fmt.Sprintf("pod-%d", number), n.gate)
	if uids := sortedKeys(n.alive); len(uids) > 0 && oneIn(r, 10) {
		p = n.alive[uids[r.Intn(len(uids))]]
		delete(n.alive, p.uid())
	}
	n.current = &p
	defer func() { n.current = nil }()
	if oneIn(r, 3) {
		n.direct(number, p)
	}
	n.askHints(number, p)
	admitted, alive := n.admit(number, p)
	if admitted || oneIn(r, 5) {
		n.alive[p.uid()] = p
	}
	return alive
}
