package vector

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"regexp"
	"strconv"
)

// parts are the recorded inputs and all that is in them, by place. New inputs are recorded ones with some parts taken from other
// inputs, left out, repeated or changed: they keep the form that the family's program reads.
type parts struct {
	inputs []any
	at     map[string][]any
	// repeats has the lists in which two elements of one name have been seen.
	repeats map[string]bool
	// lacks has, for fields that were asked for, whether some recorded object is without them.
	lacks map[string]bool
}

func newParts(records []record) *parts {
	p := &parts{at: map[string][]any{}, repeats: map[string]bool{}, lacks: map[string]bool{}}
	for _, one := range records {
		in := Parse(one.In)
		p.inputs = append(p.inputs, in)
		p.add(in, kind(in))
	}
	return p
}

// kind is the operation of an input, or what an element is: parts are not taken from another one.
func kind(in any) string {
	object, _ := in.(Object)
	for _, key := range []string{"op", "operation", "kind", "path", "probe_type"} {
		if text, ok := object[key].(string); ok {
			return text
		}
	}
	return ""
}

func fixed(key string) bool {
	switch key {
	case "op", "operation", "kind", "apiVersion", "uid", "name", "feature_gates", "cgroup_version":
		return true
	}
	return false
}

// atom is a field that is changed as a whole: a machine that is put together by chance does not exist.
func atom(key string) bool { return key == "machine" || key == "machine_state" || key == "numa_nodes" }

func name(value any) string {
	object, _ := value.(Object)
	if metadata, ok := object["metadata"].(Object); ok {
		return fmt.Sprint(metadata["name"], metadata["uid"])
	}
	for _, key := range []string{"id", "name", "uid", "cpu", "podRef"} {
		if value, ok := object[key]; ok {
			return fmt.Sprint(value)
		}
	}
	return ""
}

func (p *parts) add(value any, at string) {
	p.at[at] = append(p.at[at], value)
	switch v := value.(type) {
	case Object:
		for _, key := range Keys(v) {
			p.add(v[key], at+"."+key)
		}
	case []any:
		seen := map[string]bool{}
		for _, one := range v {
			p.add(one, at+"[]"+kind(one))
			if id := name(one); id != "" {
				p.repeats[at] = p.repeats[at] || seen[id]
				seen[id] = true
			}
		}
	}
}

func (p *parts) input(r *rand.Rand) any {
	in := p.inputs[r.Intn(len(p.inputs))]
	place := kind(in)
	for changes := 1 + r.Intn(4); changes > 0; changes-- {
		count := size(in)
		at := r.Intn(count)
		in = p.change(r, in, place, &at)
	}
	return p.tidy(in, place)
}

// optional is true for a field that a recorded object lacks.
func (p *parts) optional(place, key string) bool {
	at := place + "." + key
	known, ok := p.lacks[at]
	if !ok {
		for _, one := range p.at[place] {
			if object, is := one.(Object); is {
				if _, has := object[key]; !has {
					known = true
				}
			}
		}
		p.lacks[at] = known
	}
	return known
}

// size counts the values in a value that may be changed.
func size(value any) int {
	count := 1
	switch v := value.(type) {
	case Object:
		for key, one := range v {
			if atom(key) {
				count++
			} else if !fixed(key) {
				count += size(one)
			}
		}
	case []any:
		for _, one := range v {
			count += size(one)
		}
	}
	return count
}

// change returns a value with its part number at changed; nothing that it shares with others is written to.
func (p *parts) change(r *rand.Rand, value any, place string, at *int) any {
	if *at == 0 {
		*at = -1
		return p.changed(r, value, place)
	}
	*at--
	switch v := value.(type) {
	case Object:
		result := Object{}
		for _, key := range Keys(v) {
			result[key] = v[key]
			if !fixed(key) && *at >= 0 {
				if atom(key) && *at > 0 {
					*at--
				} else if atom(key) {
					*at = -1
					others := p.at[place+"."+key]
					result[key] = others[r.Intn(len(others))]
				} else {
					result[key] = p.change(r, v[key], place+"."+key, at)
				}
			}
		}
		return result
	case []any:
		result := make([]any, 0, len(v))
		for _, one := range v {
			if *at >= 0 {
				one = p.change(r, one, place+"[]"+kind(one), at)
			}
			result = append(result, one)
		}
		return result
	}
	return value
}

var amount = regexp.MustCompile(`^[0-9.]+(m|k|M|G|Ki|Mi|Gi)?$`)

func (p *parts) changed(r *rand.Rand, value any, place string) any {
	others := p.at[place]
	other := others[r.Intn(len(others))]
	switch v := value.(type) {
	case Object:
		from, ok := other.(Object)
		if !ok || r.Intn(3) == 0 {
			return other
		}
		result := Object{}
		for _, key := range Keys(v) {
			if fixed(key) || r.Intn(4) > 0 || !p.optional(place, key) {
				result[key] = v[key]
			}
		}
		for _, key := range Keys(from) {
			if _, ok := result[key]; !ok && r.Intn(2) == 0 {
				result[key] = from[key]
			}
		}
		return result
	case []any:
		from, ok := other.([]any)
		if !ok || r.Intn(3) == 0 {
			return other
		}
		result := append(append([]any{}, v...), from...)
		r.Shuffle(len(result), func(i, j int) { result[i], result[j] = result[j], result[i] })
		return result[:min(len(result), 1+r.Intn(len(v)+2))]
	case json.Number:
		number, err := strconv.ParseInt(string(v), 10, 32)
		if err == nil && r.Intn(3) == 0 {
			return json.Number(strconv.FormatInt(max(number+int64(r.Intn(5))-2, min(number, 0)), 10))
		}
	case string:
		if amount.MatchString(v) && r.Intn(3) == 0 {
			suffixes := []string{"", "", "m", "k", "Ki", "Mi", "Mi", "Gi", "M", "G"}
			return strconv.Itoa(r.Intn(3000)) + suffixes[r.Intn(len(suffixes))]
		}
	}
	return other
}

// tidy leaves out elements with the name of an earlier one, in lists where no recorded input has such.
func (p *parts) tidy(value any, place string) any {
	switch v := value.(type) {
	case Object:
		result := Object{}
		for _, key := range Keys(v) {
			result[key] = p.tidy(v[key], place+"."+key)
		}
		return result
	case []any:
		seen, result := map[string]bool{}, []any{}
		for _, one := range v {
			id := name(one)
			if id != "" && seen[id] && !p.repeats[place] {
				continue
			}
			seen[id] = true
			result = append(result, p.tidy(one, place+"[]"+kind(one)))
		}
		return result
	}
	return value
}
