// Lists the messages that a kubelet can write, with the file and the function of each: what it logs, and the texts of its
// errors and events. It reads the sources and runs nothing.
//
//	go run oracle/places/main.go 1.32=TREE 1.36=TREE > crates/core/src/explain/messages/places.txt
//
// A message has the versions in which the trees have it, each place apart. Where a message of the tables in that folder is made
// and since when is read there as well.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// The folders that are read, and the domain of what is below.
var folders = []struct{ path, domain string }{
	{"cmd/kubelet/app", "start"},
	{"pkg/kubelet/kubeletconfig", "start"},
	{"pkg/kubelet/certificate", "start"},
	{"pkg/kubelet/cm", "managers"},
	{"pkg/kubelet/pluginmanager", "managers"},
	{"pkg/kubelet/allocation", "admission"},
	{"pkg/kubelet/lifecycle", "admission"},
	{"pkg/kubelet/preemption", "admission"},
	{"pkg/kubelet/sysctl", "admission"},
	{"pkg/kubelet/eviction", "eviction"},
	{"pkg/kubelet/oom", "eviction"},
	{"pkg/kubelet/images", "images"},
	{"pkg/kubelet/prober", "probes"},
	{"pkg/probe", "probes"},
	{"pkg/kubelet/volumemanager", "volumes"},
	{"pkg/kubelet/kubelet_volumes.go", "volumes"},
	{"pkg/kubelet/volume_host.go", "volumes"},
	{"pkg/kubelet/kuberuntime", "pods"},
	{"pkg/kubelet/container", "pods"},
	{"pkg/kubelet/pleg", "pods"},
	{"pkg/kubelet/pod", "pods"},
	{"pkg/kubelet/kubelet_pods.go", "pods"},
	{"pkg/kubelet/pod_workers.go", "pods"},
	{"pkg/kubelet/status", "pods"},
	{"pkg/kubelet/config", "pods"},
	{"pkg/kubelet/logs", "pods"},
	{"pkg/kubelet/userns", "pods"},
	{"staging/src/k8s.io/cri-client/pkg", "pods"},
	{"pkg/kubelet", "node"},
	{"pkg/volume", "volumes"},
	{"staging/src/k8s.io/mount-utils", "volumes"},
	{"pkg/credentialprovider", "images"},
	{"pkg/util", "node"},
	{"staging/src/k8s.io/client-go/util/certificate", "start"},
	{"staging/src/k8s.io/component-helpers", "node"},
	{"staging/src/k8s.io/dynamic-resource-allocation/resourceclaim", "managers"},
	{"vendor/github.com/google/cadvisor", "node"},
}

// Files that a kubelet on Linux does not have, or that say nothing.
var left = []string{"_test.go", "/testing/", "/fake", "windows", "_others.go", "_unsupported.go", "_darwin.go", "zz_generated",
	"/apis/", "winstats", "/metrics/collectors", "example_"}

// A message of the sources.
type message struct {
	domain, file, function string
	template               string
	kind                   string
	versions               []int
}

const (
	step    = "step"
	failure = "failure"
	text    = "text"
)

func main() {
	found := map[string]*message{}
	var names []string
	for at, arg := range os.Args[1:] {
		name, tree, ok := strings.Cut(arg, "=")
		if !ok {
			fail("usage: VERSION=TREE ...")
		}
		names = append(names, name)
		read(tree, at, found)
	}
	if len(names) == 0 {
		fail("usage: VERSION=TREE ...")
	}
	var all []*message
	for _, it := range found {
		all = append(all, it)
	}
	sort.Slice(all, func(i, j int) bool {
		one, other := all[i], all[j]
		return one.file+"\x00"+one.function+"\x00"+one.template < other.file+"\x00"+other.function+"\x00"+other.template
	})
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "# Messages of the kubelet: where its sources have them.")
	fmt.Fprintln(out, "# Written by oracle/places; not edited.")
	domain, file, function := "", "", ""
	for _, it := range all {
		if it.domain != domain {
			fmt.Fprintf(out, "@domain %s\n", it.domain)
			domain, file, function = it.domain, "", ""
		}
		if it.file != file {
			fmt.Fprintf(out, "@file %s\n", it.file)
			file, function = it.file, ""
		}
		if it.function != function {
			fmt.Fprintf(out, "[%s]\n", it.function)
			function = it.function
		}
		fmt.Fprintln(out, it.template)
		notes := []string{it.kind}
		if first := it.versions[0]; first > 0 {
			notes = append(notes, "since "+names[first])
		}
		if last := it.versions[len(it.versions)-1]; last < len(names)-1 {
			notes = append(notes, "until "+names[last])
		}
		fmt.Fprintf(out, "\t* %s\n", strings.Join(notes, ", "))
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}

// Reads a tree; what it has counts for the version.
func read(tree string, version int, found map[string]*message) {
	seen := map[string]bool{}
	for _, folder := range folders {
		root := filepath.Join(tree, folder.path)
		filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() || !strings.HasSuffix(path, ".go") || seen[path] {
				return nil
			}
			for _, part := range left {
				if strings.Contains(path, part) {
					return nil
				}
			}
			seen[path] = true
			file, _ := filepath.Rel(tree, path)
			for _, it := range inFile(path, file, folder.domain) {
				key := strings.Join([]string{it.kind, it.template, it.file, it.function}, "\x00")
				known := found[key]
				if known == nil {
					known = &message{}
					found[key] = known
				}
				versions := known.versions
				if len(versions) == 0 || versions[len(versions)-1] != version {
					versions = append(versions, version)
				}
				*known = it
				known.versions = versions
			}
			return nil
		})
	}
}

func inFile(path, file, domain string) []message {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		fail(err.Error())
	}
	constants := map[string]string{}
	for _, decl := range parsed.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			value := spec.(*ast.ValueSpec)
			for at, name := range value.Names {
				if at < len(value.Values) {
					if text, ok := literal(value.Values[at], nil); ok {
						constants[name.Name] = text
					}
				}
			}
		}
	}
	var all []message
	for _, decl := range parsed.Decls {
		name := ""
		if function, ok := decl.(*ast.FuncDecl); ok {
			name = functionName(function)
		}
		ast.Inspect(decl, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if template, kind, ok := said(call, constants); ok {
				all = append(all, message{domain: domain, file: file, function: name, template: template, kind: kind})
			}
			return true
		})
	}
	return all
}

func functionName(function *ast.FuncDecl) string {
	name := function.Name.Name
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return name
	}
	of := function.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if ident, ok := of.(*ast.Ident); ok {
		return ident.Name + "." + name
	}
	return name
}

// Returns the template of what a call says.
func said(call *ast.CallExpr, constants map[string]string) (string, string, bool) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	of := ""
	if ident, ok := selector.X.(*ast.Ident); ok {
		of = ident.Name
	}
	first := 0
	kind := text
	isLog := false
	switch selector.Sel.Name {
	case "Info", "InfoS":
		kind, isLog = step, true
	case "Error", "ErrorS", "logErr":
		kind, isLog, first = failure, true, 1
	case "log":
		// Those of the client of the runtime.
		kind, isLog, first = step, true, 1
	case "Infof":
		kind = step
	case "Errorf", "Warningf", "New", "Sprintf", "NewMsg":
		if selector.Sel.Name == "New" && of != "errors" {
			return "", "", false
		}
	case "Eventf", "Event":
		first = len(call.Args)
		for at, arg := range call.Args {
			if _, ok := literal(arg, constants); ok {
				first = at
				break
			}
		}
	default:
		return "", "", false
	}
	if first >= len(call.Args) {
		return "", "", false
	}
	said, ok := literal(call.Args[first], constants)
	if !ok {
		return "", "", false
	}
	var template string
	if isLog {
		template, ok = strconv.Quote(said), !strings.ContainsAny(said, "{}\n\"\\")
	} else {
		template, ok = ofFormat(said, call.Args[first+1:])
	}
	letters := 0
	for _, c := range said {
		if unicode.IsLetter(c) {
			letters++
		}
	}
	// What has no words is a path or a key.
	isSentence := selector.Sel.Name != "Sprintf" || strings.Count(said, " ") >= 2
	return template, kind, ok && letters >= 12 && isSentence
}

func literal(of ast.Expr, constants map[string]string) (string, bool) {
	switch it := of.(type) {
	case *ast.BasicLit:
		if it.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(it.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		one, ok := literal(it.X, constants)
		other, also := literal(it.Y, constants)
		return one + other, ok && also
	case *ast.Ident:
		text, ok := constants[it.Name]
		return text, ok
	}
	return "", false
}

// Returns the template of a format: its verbs are fields, named as what is put there.
func ofFormat(format string, args []ast.Expr) (string, bool) {
	var out strings.Builder
	used := map[string]int{}
	isField, head := false, 0
	for at := 0; at < len(format); at++ {
		c := format[at]
		if c != '%' {
			switch c {
			case '{', '}':
				out.WriteByte(c)
			case '\n':
				c = ' '
			}
			out.WriteByte(c)
			isField = false
			if len(used) == 0 && c != ' ' {
				head++
			}
			continue
		}
		at++
		for at < len(format) && strings.IndexByte("+-# 0123456789.", format[at]) >= 0 {
			at++
		}
		if at >= len(format) {
			return "", false
		}
		if format[at] == '%' {
			out.WriteByte('%')
			continue
		}
		name := "value"
		if len(args) > 0 {
			name, args = nameOf(args[0]), args[1:]
		}
		verb := ""
		switch format[at] {
		case 'q':
			verb = ":q"
		case 'd':
			verb = ":d"
		case 'w':
			name = "err"
		}
		if isField {
			return "", false
		}
		isField = verb == ""
		used[name]++
		if used[name] > 1 {
			name += strconv.Itoa(used[name])
		}
		fmt.Fprintf(&out, "{%s%s}", name, verb)
	}
	// Only a beginning of its own is looked up.
	return strings.TrimSpace(out.String()), head >= 4
}

func nameOf(arg ast.Expr) string {
	name := "value"
	switch it := arg.(type) {
	case *ast.Ident:
		name = it.Name
	case *ast.SelectorExpr:
		name = it.Sel.Name
	case *ast.CallExpr:
		if selector, ok := it.Fun.(*ast.SelectorExpr); ok && len(it.Args) == 0 {
			name = selector.Sel.Name
		} else if len(it.Args) == 1 {
			return nameOf(it.Args[0])
		}
	case *ast.IndexExpr:
		return nameOf(it.X)
	case *ast.StarExpr:
		return nameOf(it.X)
	case *ast.UnaryExpr:
		return nameOf(it.X)
	}
	letters := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) && c < 128 {
			return c
		}
		return -1
	}, name)
	if letters == "" {
		return "value"
	}
	return strings.ToLower(letters[:1]) + letters[1:]
}
