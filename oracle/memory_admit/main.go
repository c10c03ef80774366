// Program memory_admit admits random pods on random machines with the kubelet's own memory manager (static policy) and
// topology manager, and writes what they do as cases of kq's families memory_start, memory_hints, memory_allocate,
// topology_merge and memory_admit.
//
//	TMPDIR=/dev/shm KUBERNETES=CHECKOUT oracle/record --run memory_admit FIRST_SEED LAST_SEED DIR
//
// The kubelet syncs its state files to the disk, so a TMPDIR in memory makes it fast.
//
// Every seed is run several times. What differs between the runs follows the order of a hash map: the case then lists the
// answers in `one_of`. Where the runs go different ways, the cases of the seed end.
//
// Where the kubelet panics, the case says so, and its seed ends. Where it takes longer than a minute, the program ends with
// status 3, without the cases of that seed, and names the seed on standard error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/vector"
)

const runs = 3

type object = vector.Object

// record is a case, with its input and its output as JSON.
type record struct{ family, id, in, out string }

// merged returns the cases of a seed that all runs agree on but for their output.
func merged(all [][]record) []record {
	var result []record
	for at, first := range all[0] {
		answers, differ := []string{first.out}, false
		for _, other := range all[1:] {
			if at >= len(other) || other[at].in != first.in || other[at].id != first.id {
				return result
			}
			known := false
			for _, answer := range answers {
				known = known || answer == other[at].out
			}
			if !known {
				answers = append(answers, other[at].out)
				differ = true
			}
		}
		if differ {
			list := []json.RawMessage{}
			for _, answer := range answers {
				list = append(list, json.RawMessage(answer))
			}
			first.out = vector.Text(object{"one_of": list})
		}
		result = append(result, first)
	}
	return result
}

// files are the files of the families.
type files struct {
	dir  string
	open map[string]*bufio.Writer
}

func (f *files) write(r record) {
	if f.open[r.family] == nil {
		file, err := os.Create(filepath.Join(f.dir, r.family+".jsonl"))
		if err != nil {
			panic(err)
		}
		f.open[r.family] = bufio.NewWriterSize(file, 1<<20)
	}
	line := object{"id": r.id, "source": "generated", "in": json.RawMessage(r.in), "out": json.RawMessage(r.out)}
	if _, err := fmt.Fprintln(f.open[r.family], vector.Text(line)); err != nil {
		panic(err)
	}
}

func (f *files) flush() {
	for _, file := range f.open {
		if err := file.Flush(); err != nil {
			panic(err)
		}
	}
}

func setGate(on bool) {
	value := "PodLevelResourceManagers=" + strconv.FormatBool(on)
	if err := utilfeature.DefaultMutableFeatureGate.Set(value); err != nil {
		panic(err)
	}
}

func main() {
	klog.SetLogger(logr.Discard())
	first, _ := strconv.Atoi(os.Args[1])
	last, _ := strconv.Atoi(os.Args[2])
	out := &files{os.Args[3], map[string]*bufio.Writer{}}
	for seed := first; seed <= last; seed++ {
		done := make(chan []record)
		go func() {
			var all [][]record
			for i := 0; i < runs; i++ {
				all = append(all, run(seed))
			}
			done <- merged(all)
		}()
		select {
		case cases := <-done:
			for _, one := range cases {
				out.write(one)
			}
		case <-time.After(time.Minute):
			out.flush()
			fmt.Fprintf(os.Stderr, "the kubelet hangs with seed %d\n", seed)
			os.Exit(3)
		}
	}
	out.flush()
}
