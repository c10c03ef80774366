package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"

	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/oracle/vector"
)

type flagsIn struct {
	Args    []string
	File    *string           `json:"config_file"`
	DropIns map[string]string `json:"drop_in_files"`
}

const folder = "/etc/kubernetes"

// flags starts a kubelet in a process of its own: it sets things for the whole process.
func flags(in flagsIn) any {
	root, err := os.MkdirTemp("", "oracle-kubelet-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	write := func(file, text string) {
		file = root + file
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			panic(vector.Skip(err.Error()))
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			panic(vector.Skip(err.Error()))
		}
	}
	if err := os.MkdirAll(root+folder+"/kubelet.conf.d", 0o700); err != nil {
		panic(err)
	}
	if in.File != nil {
		write(path, *in.File)
	}
	for name, text := range in.DropIns {
		write(path+".d/"+name, text)
	}
	args := []string{}
	for _, one := range in.Args {
		args = append(args, strings.ReplaceAll(one, folder, root+folder))
	}
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	stdout, stderr := &bytes.Buffer{}, &bytes.Buffer{}
	command := exec.Command(program, "one-command-line", vector.Text(args))
	command.Stdout, command.Stderr = stdout, stderr
	if err := command.Run(); err != nil {
		panic(vector.Skip(fmt.Sprint(err, ": ", stderr)))
	}
	text := strings.ReplaceAll(stdout.String(), root, "")
	out := vector.Parse([]byte(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:])).(object)
	printed := []string{}
	for _, line := range strings.Split(stderr.String(), "\n") {
		if strings.HasPrefix(line, "Flag --") {
			printed = append(printed, strings.ReplaceAll(line, root, ""))
		}
	}
	if len(printed) > 0 {
		out["printed"] = printed
	}
	return out
}

var stages = map[string]string{
	"failed to parse kubelet flag": "flags", "unknown command": "flags", "failed to set feature gates": "feature_gates",
	"failed to validate kubelet flags": "flag_values", "failed to load kubelet config": "load",
	"failed to merge kubelet configs": "merge", "failed to precedence": "flags", "initialize logging": "logging",
	"failed to validate kubelet configuration": "validate",
}

func child(text string) {
	cgroups.OracleHost(true, nil)
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		panic(err)
	}
	command := app.NewKubeletCommand(context.Background())
	err := command.RunE(command, args)
	var started *app.OracleStarted
	if !errors.As(err, &started) {
		out := object{"stage": "other", "error": fmt.Sprint(err)}
		for start, stage := range stages {
			if strings.HasPrefix(err.Error(), start) {
				out["stage"] = stage
			}
		}
		if out["stage"] == "validate" {
			out["error"] = errors.Unwrap(err).Error()
		}
		fmt.Println("\n" + vector.Text(out))
		return
	}
	s := started.Server
	taints := []v1.Taint(s.RegisterWithTaints)
	shown := object{
		"anonymousAuth": s.Authentication.Anonymous.Enabled, "authorizationMode": s.Authorization.Mode,
		"cgroupDriver": s.CgroupDriver, "clusterDNS": s.ClusterDNS, "containerRuntimeEndpoint": s.ContainerRuntimeEndpoint,
		"enforceNodeAllocatable": s.EnforceNodeAllocatable, "evictionHard": s.EvictionHard, "failSwapOn": s.FailSwapOn,
		"featureGates": s.FeatureGates, "hostnameOverride": s.HostnameOverride, "kubeReserved": s.KubeReserved,
		"maxPods": s.MaxPods, "nodeIP": s.NodeIP, "nodeLabels": s.NodeLabels,
		"nodeStatusReportFrequency": s.NodeStatusReportFrequency.Duration.String(), "podsPerCore": s.PodsPerCore,
		"readOnlyPort": s.ReadOnlyPort, "registerWithTaints": taints, "staticPodPath": s.StaticPodPath,
		"syncFrequency": s.SyncFrequency.Duration.String(), "systemReserved": s.SystemReserved,
		"verbosity": s.Logging.Verbosity,
	}
	out := object{"stage": "ok", "error": nil, "effective": shown}
	if len(started.Skipped) > 0 {
		out["skipped_files"] = started.Skipped
	}
	fmt.Println("\n" + vector.Text(out))
}
