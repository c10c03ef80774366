// Program sysctl answers for the sysctls of pods.
package main

import (
	"context"
	"errors"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"
)

type object = vector.Object

func main() {
	klog.SetLogger(logr.Discard())
	vector.Main(map[string]vector.Family{"sysctl_admit": {Answer: vector.Of(answer)}})
}

type in struct {
	Kernel  *string  `json:"kernel_version"`
	Allowed []string `json:"allowed_unsafe_sysctls"`
	Pod     *v1.Pod
}

func answer(in in) any {
	safe := sysctl.OracleSafe(context.Background(), func() (*version.Version, error) {
		if in.Kernel == nil {
			return nil, errors.New("cannot be read")
		}
		// As pkg/util/kernel reads osrelease.
		return version.ParseGeneric(strings.TrimSpace(*in.Kernel))
	})
	out := object{"safe_sysctls": safe, "allowlist_error": nil}
	list, err := sysctl.NewAllowlist(append(append([]string{}, safe...), in.Allowed...))
	if err != nil {
		out["allowlist_error"] = err.Error()
		return out
	}
	if in.Pod == nil {
		return out
	}
	result := list.Admit(&lifecycle.PodAdmitAttributes{Pod: in.Pod.DeepCopy()})
	out["admit"], out["reason"], out["message"] = result.Admit, result.Reason, result.Message
	names := []string{}
	if in.Pod.Spec.SecurityContext != nil {
		sysctl.ConvertPodSysctlsVariableToDotsSeparator(in.Pod.Spec.SecurityContext)
		for _, one := range in.Pod.Spec.SecurityContext.Sysctls {
			names = append(names, one.Name)
		}
	}
	out["names_for_runtime"] = names
	return out
}
