// Program gc answers for garbage collection: of images, and of containers, sandboxes and log directories.
package main

import (
	"k8s.io/kubernetes/cmd/oracle/vector"
)

type object = vector.Object

func main() {
	images := vector.Family{Answer: vector.Of(imageGC), Runs: 6, Partial: true, Order: inOrder}
	vector.Main(map[string]vector.Family{
		"image_gc":        images,
		"image_gc_cycles": images,
		"container_gc":    {Answer: vector.Of(containerGC), Runs: 6, Partial: true},
	})
}
