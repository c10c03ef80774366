package main

import (
	"fmt"
	"math/rand"
	"strconv"

	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/numa"
)

const (
	mi = uint64(1) << 20
	gi = uint64(1) << 30
)

func pageName(kib uint64) string {
	return map[uint64]string{64: "hugepages-64Ki", 2048: "hugepages-2Mi", 1 << 20: "hugepages-1Gi"}[kib]
}

func randomMachine(r *rand.Rand) numa.MemoryMachine {
	count := kube.Pick(r, 1, 2, 2, 2, 2, 3, 4, 4, 4, 6, 8)
	var sizes []uint64
	switch r.Intn(6) {
	case 0, 1:
		sizes = []uint64{2048}
	case 2:
		sizes = []uint64{1 << 20}
	case 3:
		sizes = []uint64{2048, 1 << 20}
		if count > 4 {
			sizes = sizes[:1]
		}
		if kube.OneIn(r, 4) && count <= 3 {
			sizes = append([]uint64{64}, sizes...)
		}
	}
	// The nodes are alike, or each is another.
	uneven, lacks, gaps, wraps := kube.OneIn(r, 3), kube.OneIn(r, 25), kube.OneIn(r, 16), kube.OneIn(r, 40)
	memory := uint64(kube.Pick(r, 1, 2, 4, 4, 8, 16, 64)) * gi
	pages := map[uint64]uint64{}
	m := numa.MemoryMachine{}
	for at := 0; at < count; at++ {
		node := numa.MemoryNode{ID: at, HugePages: []numa.HugePages{}}
		if gaps {
			node.ID = 2*at + at/2
		}
		if at > 0 && uneven {
			memory = uint64(kube.Pick(r, 1, 2, 4, 8))*gi + uint64(r.Intn(3))*uint64(r.Intn(1<<30))
			if kube.OneIn(r, 12) {
				memory = 0
			}
		}
		node.Memory = memory
		for _, size := range sizes {
			most := memory / 2 / uint64(len(sizes)) / (size * 1024)
			if _, ok := pages[size]; !ok || uneven {
				pages[size] = uint64(r.Int63n(int64(most) + 1))
			}
			if wraps {
				pages[size] = memory/(size*1024) + 1
			}
			if lacks && kube.OneIn(r, 3) {
				continue
			}
			node.HugePages = append(node.HugePages, numa.HugePages{size, pages[size]})
		}
		for other := 0; other < count; other++ {
			distance := kube.Pick(r, uint64(11), 12, 16, 20, 21, 32)
			if other == at {
				distance = 10
			}
			node.Distances = append(node.Distances, distance)
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

func randomConfig(r *rand.Rand, m numa.MemoryMachine) numa.Memory {
	c := numa.Memory{Policy: "Static", Machine: m, Reservation: map[string]string{}, Reserved: []numa.Reservation{}}
	sums := map[string]uint64{}
	add := func(node int, name string, amount uint64) {
		sums[name] += amount
		shown := strconv.FormatUint(amount, 10)
		if amount%mi == 0 && kube.OneIn(r, 2) {
			shown = fmt.Sprintf("%dMi", amount/mi)
		}
		c.Reserved = append(c.Reserved, numa.Reservation{node, map[string]string{name: shown}})
	}
	for at, node := range m.Nodes {
		if at == 0 || !kube.OneIn(r, 4) {
			amount := uint64(kube.Pick(r, 1, 64, 100, 512)) * mi
			if kube.OneIn(r, 6) {
				amount = uint64(1 + r.Intn(1<<28))
			}
			add(node.ID, "memory", amount)
			if kube.OneIn(r, 30) {
				add(node.ID, "memory", uint64(r.Intn(100))*mi)
			}
		}
		for _, pages := range node.HugePages {
			if pages.Count > 0 && kube.OneIn(r, 6) {
				name := pageName(pages.SizeKiB)
				add(node.ID, name, pages.SizeKiB*1024*uint64(r.Int63n(int64(pages.Count)+1)))
			}
		}
	}
	for name, sum := range sums {
		c.Reservation[name] = strconv.FormatUint(sum, 10)
	}
	c.Reservation["cpu"] = "1"
	return c
}

// changed returns a configuration that is wrong, or of another machine.
func changed(r *rand.Rand, c numa.Memory) numa.Memory {
	nodes := append([]numa.MemoryNode{}, c.Machine.Nodes...)
	reserved := append([]numa.Reservation{}, c.Reserved...)
	totals := map[string]string{}
	for name, amount := range c.Reservation {
		totals[name] = amount
	}
	c.Machine, c.Reserved, c.Reservation = numa.MemoryMachine{nodes}, reserved, totals
	at := r.Intn(len(nodes))
	switch r.Intn(13) {
	case 0:
		c.Policy = kube.Pick(r, "None", "BestEffort", "static", "")
	case 1:
		c.Reserved[0].Node = kube.Pick(r, 99, -1, len(nodes))
	case 2:
		c.Reservation["memory"] = kube.Pick(r, "1Gi", "0", "1500m", "64Mi")
	case 3:
		delete(c.Reservation, "memory")
	case 4:
		c.Reservation["hugepages-2Mi"] = kube.Pick(r, "0", "2Mi", "1Gi")
	case 5:
		limits := map[string]string{"hugepages-1Gi": "1Gi"}
		c.Reserved = append(c.Reserved, numa.Reservation{nodes[at].ID, limits})
		if kube.OneIn(r, 2) {
			c.Reservation["hugepages-1Gi"] = "1Gi"
		}
	case 12:
		// Equal, but no whole number.
		c.Reserved = []numa.Reservation{{nodes[at].ID, map[string]string{"memory": kube.Pick(r, "1500m", "1e20")}}}
		c.Reservation["memory"] = c.Reserved[0].Limits["memory"]
	case 6:
		c.Reserved, c.Reservation = []numa.Reservation{}, map[string]string{"cpu": "1"}
	case 7, 8:
		nodes[at].Memory += uint64(kube.Pick(r, 1, 4096, 1<<30))
	case 9:
		if len(nodes) > 1 {
			c.Machine.Nodes = nodes[:len(nodes)-1]
		}
	case 10:
		nodes[at].HugePages = append([]numa.HugePages{}, nodes[at].HugePages...)
		if len(nodes[at].HugePages) > 0 {
			nodes[at].HugePages[0].Count++
		} else {
			nodes[at].HugePages = []numa.HugePages{{2048, 16}}
		}
	case 11:
		// The same sum on other nodes.
		for i := range c.Reserved {
			c.Reserved[i].Node = nodes[r.Intn(len(nodes))].ID
		}
	}
	return c
}

// systemReserved returns the amounts that count: the last ones of each node.
func systemReserved(c numa.Memory) map[int]map[string]int64 {
	result := map[int]map[string]int64{}
	for _, node := range c.Machine.Nodes {
		result[node.ID] = map[string]int64{}
	}
	for _, one := range c.ReservedMemory() {
		for name, amount := range one.Limits {
			result[int(one.NumaNode)][string(name)] = amount.Value()
		}
	}
	return result
}
