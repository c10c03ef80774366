// Program versions lists the feature gates, the flags or the configuration's fields of one version, or compares them with a
// table of tests/vectors/versions: oracle/record --run versions gates|flags|fields MINOR [TABLE].
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	v1beta1 "k8s.io/kubelet/config/v1beta1"

	_ "k8s.io/component-base/logs/json/register"

	_ "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
)

type object = vector.Object

// row is a gate, a flag or a field.
type row struct {
	name string
	is   object
	// needs are the gates that a gate depends on.
	needs []string
}

func gates() []row {
	gate := feature.DefaultMutableFeatureGate
	needs := map[featuregate.Feature][]featuregate.Feature{}
	if newer, ok := any(gate).(interface {
		Dependencies() map[featuregate.Feature][]featuregate.Feature
	}); ok {
		needs = newer.Dependencies()
	}
	rows := []row{}
	for name, spec := range gate.GetAll() {
		stage := string(spec.PreRelease)
		if stage == "" {
			stage = "GA"
		}
		one := row{name: string(name), is: object{
			"exists": true, "stage": strings.Replace(strings.ToLower(stage), "ga", "GA", 1), "default": spec.Default,
			"lockedToDefault": spec.LockToDefault,
		}}
		for _, other := range needs[name] {
			one.needs = append(one.needs, string(other))
		}
		sort.Strings(one.needs)
		rows = append(rows, one)
	}
	return rows
}

func flags() []row {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	options.NewKubeletFlags().AddFlags(set)
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		panic(err)
	}
	options.AddKubeletConfigFlags(set, config)
	options.AddGlobalFlags(set)
	set.BoolP("help", "h", false, "")
	rows := []row{}
	set.VisitAll(func(flag *pflag.Flag) {
		is := object{"exists": true, "type": flag.Value.Type()}
		if flag.Deprecated != "" {
			is["deprecated_text"] = flag.Deprecated
		}
		rows = append(rows, row{name: "--" + flag.Name, is: is})
	})
	return rows
}

func fields() []row {
	config := &v1beta1.KubeletConfiguration{}
	s, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		panic(err)
	}
	s.Default(config)
	rows := []row{}
	collect(&rows, "", reflect.TypeOf(*config), reflect.ValueOf(*config))
	return rows
}

var marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

// collect adds the fields of a struct, and those below them.
func collect(rows *[]row, path string, of reflect.Type, value reflect.Value) {
	for at := 0; at < of.NumField(); at++ {
		field := of.Field(at)
		tag := strings.Split(field.Tag.Get("json"), ",")
		var given reflect.Value
		if value.IsValid() {
			given = value.Field(at)
		}
		if field.Anonymous {
			if field.Type.Name() != "TypeMeta" {
				collect(rows, path, field.Type, given)
			}
			continue
		}
		name, standard := path+tag[0], any(nil)
		if given.IsValid() {
			standard = vector.Parse([]byte(vector.Text(given.Interface())))
		}
		*rows = append(*rows, row{name: name, is: object{"exists": true, "type": field.Type.String(), "default": standard}})
		below := field.Type
		switch below.Kind() {
		case reflect.Pointer:
			below = below.Elem()
			if given.IsValid() {
				given = given.Elem()
			}
		case reflect.Slice:
			below, given, name = below.Elem(), reflect.Value{}, name+"[]"
		}
		if below.Kind() == reflect.Struct && !below.Implements(marshaler) && !reflect.PointerTo(below).Implements(marshaler) {
			collect(rows, name+".", below, given)
		}
	}
}

func main() {
	tables := map[string]func() []row{"gates": gates, "flags": flags, "fields": fields}
	if len(os.Args) < 3 || tables[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "gates|flags|fields MINOR [TABLE]")
		os.Exit(2)
	}
	table, minor := os.Args[1], os.Args[2]
	rows := tables[table]()
	sort.Slice(rows, func(i, j int) bool { return rows[i].name < rows[j].name })
	key := strings.TrimSuffix(table, "s")
	if len(os.Args) > 3 {
		if differ := check(rows, key, minor, os.Args[3]); differ > 0 {
			os.Exit(1)
		}
		return
	}
	for _, one := range rows {
		line := object{key: one.name, "versions": object{minor: one.is}}
		if one.needs != nil {
			line["depends_on"] = object{minor: one.needs}
		}
		fmt.Println(vector.Text(line))
	}
}

func asObject(value any) object {
	of, _ := value.(object)
	return of
}

// check compares with the column of a table.
func check(rows []row, key, minor, file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	recorded, needs := map[string]any{}, map[string]any{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		one := vector.Parse([]byte(line)).(object)
		name := one[key].(string)
		if is, _ := one["versions"].(object)[minor].(object); is["exists"] == true {
			recorded[name] = is
			if of, ok := asObject(one["depends_on"])[minor]; ok {
				needs[name] = of
			}
		}
	}
	differ := 0
	report := func(at string) {
		if at != "" {
			differ++
			fmt.Println(at)
		}
	}
	for _, one := range rows {
		if is, ok := recorded[one.name]; ok {
			report(vector.Difference(vector.Parse([]byte(vector.Text(one.is))), is, false, one.name))
			if one.needs != nil || needs[one.name] != nil {
				of, _ := needs[one.name].([]any)
				report(vector.Difference(vector.Parse([]byte(vector.Text(one.needs))), any(of), false, one.name+" needs"))
			}
			delete(recorded, one.name)
		} else {
			report(one.name + ": not in the table")
		}
	}
	for _, name := range vector.Keys(recorded) {
		report(name + ": in the table only")
	}
	fmt.Printf("%d rows, %d differ\n", len(rows), differ)
	return differ
}
