// Package vector is what all programs of the oracle share: it reads cases, has them answered, compares, and writes.
//
// A case is a line {"id", "source", "in", "out"}. A family is a function from in to out; the kubelet's own code answers.
package vector

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Object is a JSON object.
type Object = map[string]any

// Family answers the inputs of one family.
type Family struct {
	// Answer asks the kubelet. A panic of Skip means that the input has no answer, any other one is the kubelet's.
	Answer func(in json.RawMessage) any
	// Runs is how often a case is asked, where the answer follows the order of a hash map.
	Runs int
	// Partial is set where the recorded answers say more than the kubelet does; what it says is compared.
	Partial bool
	// Optional are the fields that not every recorded answer has.
	Optional []string
	// Panics is set where a panic of the kubelet is an answer: {"error": "panic: ...", "panic": true}.
	Panics bool
	// Random makes an input; without it, inputs are recombined from the recorded ones.
	Random func(r *rand.Rand) any
	// Alone is set where only Random makes inputs: recombined ones would be of no node that there can be.
	Alone bool
	// Most is how many answers a new case may have: of many, some would not be seen.
	Most int
	// Merge says in one answer what several have in common, or returns nil.
	Merge func(answers []any) any
	// Order brings an answer into one order, where several are right.
	Order func(out any) any
}

// Making is true while new cases are made.
var Making bool

// Skip is the panic of an input that has no answer.
type Skip string

// Of makes an answer of a function with a typed input.
func Of[T any](answer func(in T) any) func(json.RawMessage) any {
	return func(raw json.RawMessage) any {
		var in T
		if err := json.Unmarshal(raw, &in); err != nil {
			panic(Skip(err.Error()))
		}
		return answer(in)
	}
}

type record struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	Kubernetes string          `json:"kubernetes,omitempty"`
	Partial    bool            `json:"partial,omitempty"`
	In         json.RawMessage `json:"in"`
	Out        json.RawMessage `json:"out"`
}

// Text returns a value as JSON, without escapes for HTML.
func Text(value any) string {
	buffer := &bytes.Buffer{}
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

// hangs is what is done when the kubelet does not answer.
var hangs = func(in json.RawMessage) {
	fmt.Fprintf(os.Stderr, "the kubelet hangs with %s\n", in)
	os.Exit(3)
}

// deadline is how long the kubelet may take for one case. Some inputs make it loop forever.
const deadline = 30 * time.Second

// ask returns the distinct answers to an input, or why there is none.
func (f Family) ask(in json.RawMessage) (answers []any, skipped string) {
	done := make(chan bool)
	go func() {
		defer close(done)
		known := map[string]bool{}
		for run := 0; run < max(1, f.Runs) && skipped == ""; run++ {
			var answer any
			func() {
				defer func() {
					switch cause := recover().(type) {
					case nil:
					case Skip:
						skipped = string(cause)
					default:
						if f.Panics {
							answer = Object{"error": fmt.Sprintf("panic: %v", cause), "panic": true}
						} else {
							skipped = fmt.Sprintf("the kubelet panics: %v", cause)
						}
					}
				}()
				answer = f.Answer(in)
			}()
			if skipped != "" {
				continue
			}
			answer = Parse([]byte(Text(answer)))
			if text := Text(f.order(answer)); !known[text] {
				known[text] = true
				answers = append(answers, answer)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(deadline):
		hangs(in)
	}
	return answers, skipped
}

func (f Family) order(out any) any {
	if f.Order == nil {
		return out
	}
	return f.Order(out)
}

func (f Family) merge(answers []any) any {
	if f.Merge == nil || len(answers) < 2 {
		return nil
	}
	return f.Merge(answers)
}

// of are the cases of a version, and those without one: they were recorded with 1.36.
func of(records []record, version string) (kept []record) {
	for _, one := range records {
		if one.Kubernetes == "" || one.Kubernetes == version {
			kept = append(kept, one)
		}
	}
	return kept
}

// check compares the answers to the recorded inputs with the recorded answers, and returns how many differ.
func (f Family) check(records []record) int {
	start, differ := time.Now(), 0
	for _, one := range records {
		answers, skipped := f.ask(one.In)
		expected := Parse(one.Out)
		if skipped != "" {
			differ++
			fmt.Printf("%s\n  has no answer: %s\n", one.ID, skipped)
			continue
		}
		if merged := f.merge(answers); merged != nil && Difference(merged, expected, false, "out") == "" {
			continue
		}
		for _, got := range answers {
			if at := f.differs(got, expected); at != "" {
				differ++
				fmt.Printf("%s\n  at %s\n", one.ID, at)
				break
			}
		}
	}
	fmt.Printf("%d cases, %d differ, %.1f s\n", len(records), differ, time.Since(start).Seconds())
	return differ
}

// differs returns where an answer is none of the recorded ones.
func (f Family) differs(got, expected any) string {
	if object, ok := expected.(Object); ok {
		for key, value := range object {
			list, ok := value.([]any)
			if !ok || key == "one_of" && len(object) > 1 || !strings.HasSuffix(key, "one_of") {
				continue
			}
			at := ""
			for _, one := range list {
				if key != "one_of" {
					other := Object{}
					for name, value := range object {
						other[name] = value
					}
					delete(other, key)
					short := strings.TrimSuffix(key, "_one_of")
					if short == "message" {
						short = "message_text"
					}
					other[short] = one
					one = other
				}
				if at = Difference(f.order(got), f.order(one), f.Partial, "out"); at == "" {
					return ""
				}
			}
			return at
		}
	}
	if recorded, ok := expected.(Object); ok && len(f.Optional) > 0 {
		kept := Object{}
		for key, value := range got.(Object) {
			if _, ok := recorded[key]; ok || !slices.Contains(f.Optional, key) {
				kept[key] = value
			}
		}
		got = kept
	}
	return Difference(f.order(got), f.order(expected), f.Partial, "out")
}

func (f Family) write(out *bufio.Writer, one record) bool {
	answers, skipped := f.ask(one.In)
	if skipped != "" {
		return false
	}
	answer := answers[0]
	if len(answers) > 1 {
		if answer = f.merge(answers); answer == nil {
			if Making && f.Most > 0 && len(answers) > f.Most {
				return false
			}
			answer = Object{"one_of": answers}
		}
	}
	one.Out, one.Partial = json.RawMessage(Text(answer)), f.Partial
	fmt.Fprintln(out, Text(one))
	return true
}

func read(file string) []record {
	text, err := os.ReadFile(file)
	if err != nil {
		fail(err)
	}
	var records []record
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var one record
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
		records = append(records, one)
	}
	return records
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Main runs a program of the oracle.
func Main(families map[string]Family) {
	name := flag.String("family", "", "the family")
	file := flag.String("cases", "", "the recorded cases of the family")
	version := flag.String("kubernetes", "", "the version of Kubernetes, written into each case")
	check := flag.Bool("check", false, "compare with the recorded answers")
	random := flag.Int("random", 0, "how many new cases to write")
	seed := flag.Int64("seed", 1, "the seed of the first new case")
	flag.Parse()
	family, ok := families[*name]
	if !ok {
		fail(fmt.Errorf("unknown family %q", *name))
	}
	records := read(*file)
	if *check {
		if family.check(of(records, *version)) > 0 {
			os.Exit(1)
		}
		return
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	if *random == 0 {
		for _, one := range of(records, *version) {
			one.Kubernetes = *version
			if !family.write(out, one) {
				fmt.Fprintf(os.Stderr, "%s has no answer\n", one.ID)
			}
		}
		return
	}
	Making = true
	parts := newParts(records)
	written := 0
	at := *seed
	// Its thread cannot be ended: the next case is for a new process.
	hangs = func(in json.RawMessage) {
		fmt.Fprintf(os.Stderr, "the kubelet hangs with %s\n", in)
		out.Flush()
		arguments := append(append([]string{}, os.Args...),
			"-random", strconv.Itoa(*random-written), "-seed", strconv.FormatInt(at+1, 10))
		fail(syscall.Exec(arguments[0], arguments, os.Environ()))
	}
	for ; written < *random && at < *seed+int64(*random)*20; at++ {
		r := rand.New(rand.NewSource(at))
		var in any
		if family.Random != nil && (family.Alone || r.Intn(2) == 0) {
			in = family.Random(r)
		} else {
			in = parts.input(r)
		}
		one := record{fmt.Sprintf("%s-random-%d", *name, at), "generated", *version, false, json.RawMessage(Text(in)), nil}
		if family.write(out, one) {
			written++
		}
	}
	fmt.Fprintf(os.Stderr, "%d cases\n", written)
}
