// Program gc answers for garbage collection: of images, and of containers, sandboxes and log directories.
package main

import (
	"math/rand"

	"k8s.io/kubernetes/cmd/oracle/vector"
)

type object = vector.Object

func main() {
	images := func(random func(*rand.Rand) any) vector.Family {
		return vector.Family{
			Answer: vector.Of(imageGC), Runs: 6, Partial: true, Order: inOrder, Random: random, Alone: true,
		}
	}
	vector.Main(map[string]vector.Family{
		"image_gc":        images(oneCollection),
		"image_gc_cycles": images(cycles),
		"container_gc":    {Answer: vector.Of(containerGC), Runs: 6, Partial: true, Random: deadContainers, Alone: true},
	})
}
