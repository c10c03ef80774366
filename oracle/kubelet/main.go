// Program kubelet answers for the start of the kubelet: its configuration and flags, the amounts of the node, the loops of
// garbage collection.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr/funcr"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/klog/v2"

	"github.com/opencontainers/cgroups"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
)

type object = vector.Object

func main() {
	if len(os.Args) == 3 && os.Args[1] == "one-command-line" {
		child(os.Args[2])
		return
	}
	vector.Main(map[string]vector.Family{
		"kubelet_config_validate": {Answer: vector.Of(validate), Runs: 6, Random: randomConfiguration, Alone: true},
		"kubelet_flags":           {Answer: vector.Of(flags), Runs: 2, Random: randomFlags, Alone: true},
		"node_allocatable":        {Answer: vector.Of(nodeAllocatable), Panics: true, Runs: 2, Random: randomNode},
		"gc_loop":                 {Answer: vector.Of(gcLoop)},
	})
}

const path = "/etc/kubernetes/kubelet.conf"

// load reads a configuration as the kubelet does, from a file that stands for the one above. What it panics with is the answer.
func load(text []byte, gates bool) (config *kubeletconfig.KubeletConfiguration, strict, fatal string, err error) {
	kube.Gates(nil)
	root, err := os.MkdirTemp("", "oracle-kubelet-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	file := root + path
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		panic(err)
	}
	real := func(text string) string { return strings.ReplaceAll(text, root, "") }
	logger := funcr.New(func(_, _ string) {}, funcr.Options{RenderArgsHook: func(list []any) []any {
		for at := 0; at+1 < len(list); at += 2 {
			if problem, ok := list[at+1].(error); ok && list[at] == "err" {
				strict = problem.Error()
			}
		}
		return list
	}})
	defer func() {
		if cause := recover(); cause != nil {
			fatal = real(fmt.Sprint(cause))
		}
	}()
	config, err = app.OracleLoad(klog.NewContext(context.Background(), logger), file)
	if err != nil {
		err = errors.New(real(err.Error()))
		return nil, strict, "", err
	}
	moved(config, root)
	if gates {
		kube.Gates(config.FeatureGates)
	}
	return config, strict, "", nil
}

// moved takes the folder of the file out of paths.
func moved(config *kubeletconfig.KubeletConfiguration, root string) {
	for _, one := range kubeletconfig.KubeletConfigurationPathRefs(config) {
		*one = strings.TrimPrefix(*one, root)
	}
}

type validateIn struct {
	YAML    string  `json:"yaml"`
	Base64  *string `json:"yaml_base64"`
	Version int     `json:"cgroup_version"`
}

func validate(in validateIn) any {
	cgroups.OracleHost(in.Version != 1, nil)
	text := []byte(in.YAML)
	if in.Base64 != nil {
		text, _ = base64.StdEncoding.DecodeString(*in.Base64)
	}
	config, strict, fatal, err := load(text, true)
	out := object{"stage": "ok", "fatal": false, "error": nil}
	if strict != "" && err == nil && fatal == "" {
		out["strict_error_only_logged"] = strict
	}
	if fatal != "" {
		return object{"stage": "defaults", "fatal": true, "panic": fatal}
	}
	if err != nil {
		inner := strings.TrimPrefix(err.Error(), "failed to load Kubelet config file "+path+", error ")
		return object{"stage": "load", "fatal": true, "error": inner}
	}
	err = validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate)
	list := []string{}
	if several, ok := err.(utilerrors.Aggregate); ok {
		for _, one := range utilerrors.Flatten(several).Errors() {
			list = append(list, one.Error())
		}
	} else if err != nil {
		list = append(list, err.Error())
	}
	if err != nil {
		out["stage"], out["fatal"], out["error"], out["validation_errors"] = "validate", true, err.Error(), list
	}
	errs := logsapi.Validate(&config.Logging, utilfeature.DefaultFeatureGate, field.NewPath("logging"))
	if problem := errs.ToAggregate(); problem != nil {
		out["stage"], out["fatal"], out["error"] = "logging", true, problem.Error()
		if err != nil {
			out["validation_error"] = err.Error()
		}
	}
	return out
}
