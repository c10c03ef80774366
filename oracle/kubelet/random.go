package main

import (
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/cmd/oracle/kube"
	"k8s.io/kubernetes/cmd/oracle/vector"
)

// texts are what is worth a try in fields that hold texts, by the field's name. The last one is often wrong.
var texts = map[string][]string{
	"staticPodPath": {"/etc/kubernetes/manifests", "manifests", ""}, "podLogsDir": {"/var/log/pods", "/var/log/pods/", "logs", "/ü"},
	"address": {"0.0.0.0", "::", "x"}, "healthzBindAddress": {"127.0.0.1", "x"},
	"tlsMinVersion": {"VersionTLS12", "VersionTLS13", "x"}, "tlsCipherSuites": {"TLS_AES_128_GCM_SHA256", "x"},
	"mode":                                   {"AlwaysAllow", "Webhook", "x"},
	"imagePullCredentialsVerificationPolicy": {"NeverVerify", "AlwaysVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "x"},
	"preloadedImagesVerificationAllowlist":   {"registry.example/a", "registry.example/*", "*", "a:b", ""},
	"clusterDNS":                             {"10.0.0.10", "10.96.0.10"}, "cgroupRoot": {"/", "/a", "/kubepods.slice"},
	"systemCgroups": {"/system", "/system.slice"}, "kubeletCgroups": {"/kubelet", "/system.slice/kubelet.service"},
	"cgroupDriver": {"systemd", "cgroupfs", "x"}, "cpuManagerPolicy": {"none", "static", "x"},
	"memoryManagerPolicy":   {"None", "Static", "BestEffort", "x"},
	"topologyManagerPolicy": {"none", "best-effort", "restricted", "single-numa-node", "x"},
	"topologyManagerScope":  {"container", "pod", "x"}, "hairpinMode": {"promiscuous-bridge", "hairpin-veth", "none", "x"},
	"podCIDR": {"10.0.0.0/24", "x"}, "resolvConf": {"/etc/resolv.conf", ""}, "contentType": {"application/json", "x"},
	"swapBehavior": {"NoSwap", "LimitedSwap", "UnlimitedSwap"}, "containerLogMaxSize": {"10Mi", "x"},
	"configMapAndSecretChangeDetectionStrategy": {"Get", "Cache", "Watch", "x"},
	"reservedSystemCPUs":                        {"0", "0-1", "1,3", "0-", "3-1"}, "showHiddenMetricsForVersion": {"1.35", "1.36", "1.34", "x"},
	"systemReservedCgroup": {"/system.slice", "/system"}, "kubeReservedCgroup": {"/kube.slice", "/kube"},
	"enforceNodeAllocatable": {
		"pods", "pods", "system-reserved", "kube-reserved", "none", "system-reserved-compressible", "kube-reserved-compressible", "x",
	},
	"allowedUnsafeSysctls": {"kernel.msg*", "net.core.somaxconn", "vm.swappiness"}, "format": {"text", "json", "x"},
	"containerRuntimeEndpoint": {"unix:///run/containerd/containerd.sock", ""}, "memoryReservationPolicy": {"None", "TieredReservation", "x"},
	"effect": {"NoSchedule", "NoExecute", "PreferNoSchedule", "x"}, "key": {"a", "example.com/a", "a b", ""}, "value": {"", "b", "b c"},
	"endpoint": {"localhost:4317", "http://collector:4317", "a b"}, "vmodule": {"a=1"},
}

// keys are those of fields that hold maps, and what is worth a try as their values.
var keys = map[string][2][]string{
	"qosReserved":                  {{"memory"}, {"50%", "0%", "150%"}},
	"evictionHard":                 {{"memory.available", "nodefs.available", "pid.available", "imagefs.available", "x"}, {"100Mi", "5%", "0%", "x"}},
	"evictionSoft":                 {{"memory.available", "nodefs.available"}, {"1Gi", "10%", "x"}},
	"evictionSoftGracePeriod":      {{"memory.available", "nodefs.available"}, {"1m", "30s", "x"}},
	"evictionMinimumReclaim":       {{"memory.available", "nodefs.available"}, {"100Mi", "5%"}},
	"systemReserved":               {{"cpu", "memory", "pid", "ephemeral-storage"}, {"500m", "1Gi", "1000", "x"}},
	"kubeReserved":                 {{"cpu", "memory", "pid", "ephemeral-storage"}, {"500m", "1Gi", "1000", "x"}},
	"cpuManagerPolicyOptions":      {{"full-pcpus-only", "align-by-socket", "x"}, {"true", "false", "x"}},
	"topologyManagerPolicyOptions": {{"prefer-closest-numa-nodes", "max-allowable-numa-nodes", "x"}, {"true", "8", "x"}},
	"limits":                       {{"memory", "hugepages-2Mi", "hugepages-1Gi", "cpu"}, {"1Gi", "2Mi", "0", "100Mi"}},
}

var (
	numbers   = []int64{-2, -1, 0, 1, 1, 2, 3, 10, 31, 32, 50, 80, 85, 100, 101, 110, 1000, 1001, 65535, 65536}
	durations = []string{
		"0s", "1ns", "-1s", "1ms", "999ms", "1s", "2s", "2999ms", "3s", "10s", "20s", "1m", "2m0s", "5m", "300s", "301s", "1h", "12h", "100ms",
	}
)

// value is a value for a field of a type.
func value(r *rand.Rand, name string, of reflect.Type) any {
	switch of {
	case reflect.TypeFor[metav1.Duration]():
		return kube.Pick(r, durations...)
	case reflect.TypeFor[metav1.Time]():
		return nil
	}
	switch of.Kind() {
	case reflect.Pointer:
		return value(r, name, of.Elem())
	case reflect.Bool:
		return kube.OneIn(r, 2)
	case reflect.Int32, reflect.Int64, reflect.Uint32:
		return kube.Pick(r, numbers...)
	case reflect.Float64:
		return kube.Pick(r, 0, 0.5, 0.9, 1, 1.1, -0.1)
	case reflect.String:
		return text(r, name)
	case reflect.Slice:
		list := []any{}
		for count := r.Intn(3); count >= 0; count-- {
			list = append(list, value(r, name, of.Elem()))
		}
		return list
	case reflect.Map:
		return entries(r, name)
	case reflect.Struct:
		return fields(r, of, 1+r.Intn(3))
	}
	return nil
}

func text(r *rand.Rand, name string) string {
	known, ok := texts[name]
	if !ok {
		known = []string{"", "x", "/a", "a b"}
	}
	if len(known) > 1 && r.Intn(3) > 0 {
		known = known[:len(known)-1]
	}
	return kube.Pick(r, known...)
}

func entries(r *rand.Rand, name string) any {
	shown := object{}
	if name == "featureGates" {
		gates := vector.Keys(utilfeature.DefaultMutableFeatureGate.GetAll())
		for count := r.Intn(3); count >= 0; count-- {
			shown[string(gates[r.Intn(len(gates))])] = kube.OneIn(r, 2)
		}
		return shown
	}
	known, ok := keys[name]
	if !ok {
		return shown
	}
	for count := r.Intn(3); count > 0; count-- {
		shown[kube.Pick(r, known[0]...)] = kube.Pick(r, known[1]...)
	}
	return shown
}

// fields are some fields of a type, with values.
func fields(r *rand.Rand, of reflect.Type, count int) object {
	shown := object{}
	for ; count > 0; count-- {
		field := of.Field(r.Intn(of.NumField()))
		name := strings.Split(field.Tag.Get("json"), ",")[0]
		// What goes to another part of the kubelet, and is judged there.
		if name == "" || name == "staticPodURLHeader" || name == "options" {
			continue
		}
		if made := value(r, name, field.Type); made != nil {
			shown[name] = made
		}
	}
	return shown
}

func configuration(r *rand.Rand, count int) object {
	shown := fields(r, reflect.TypeFor[kubeletconfigv1beta1.KubeletConfiguration](), count)
	// Who sets one of these often sets the others.
	if kube.OneIn(r, 6) {
		shown["imageGCHighThresholdPercent"], shown["imageGCLowThresholdPercent"] = r.Intn(104)-1, r.Intn(104)-1
	}
	if kube.OneIn(r, 6) {
		shown["imageMinimumGCAge"], shown["imageMaximumGCAge"] = kube.Pick(r, durations...), kube.Pick(r, durations...)
	}
	if kube.OneIn(r, 6) {
		shown["shutdownGracePeriod"] = kube.Pick(r, durations...)
		shown["shutdownGracePeriodCriticalPods"] = kube.Pick(r, durations...)
	}
	if kube.OneIn(r, 6) {
		shown["memoryManagerPolicy"] = kube.Pick(r, "None", "Static")
		shown["reservedMemory"] = []object{
			{"numaNode": r.Intn(3), "limits": entries(r, "limits")}, {"numaNode": r.Intn(3), "limits": entries(r, "limits")},
		}
	}
	if kube.OneIn(r, 15) {
		shown[kube.Pick(r, "maxPodz", "evictionhard", "x", "FeatureGates", "maxPods ")] = kube.Pick[any](r, 1, "a", true, nil)
	}
	if names := vector.Keys(shown); len(names) > 0 && kube.OneIn(r, 15) {
		shown[names[r.Intn(len(names))]] = kube.Pick[any](r, 1, 1.5, "a", "1", true, nil, []any{"a"}, object{"a": "b"}, 1<<40)
	}
	shown["apiVersion"], shown["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	return shown
}

func randomConfiguration(r *rand.Rand) any {
	return object{"yaml": vector.Text(configuration(r, 1+r.Intn(6))), "cgroup_version": kube.Pick(r, 1, 2, 2, 2)}
}

// flagSet has the flags of this version.
func flagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	options.NewKubeletFlags().AddFlags(set)
	if config, err := options.NewKubeletConfiguration(); err == nil {
		options.AddKubeletConfigFlags(set, config)
	}
	return set
}

// argument is the text of a flag's value.
func argument(r *rand.Rand, flag *pflag.Flag) string {
	field := ""
	for at, part := range strings.Split(flag.Name, "-") {
		if at > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		field += part
	}
	switch flag.Value.Type() {
	case "bool":
		return kube.Pick(r, "true", "false", "1", "0", "T", "x")
	case "int", "int32", "int64", "uint", "float64":
		return kube.Pick(r, strconv.FormatInt(kube.Pick(r, numbers...), 10), "2147483648", "0x10", "1.5", "")
	case "duration":
		return kube.Pick(r, append([]string{"1d", "1"}, durations...)...)
	case "strings", "stringSlice", "stringArray":
		return strings.Join([]string{text(r, field), text(r, field)}[:1+r.Intn(2)], ",")
	case "mapStringString", "mapStringBool":
		pairs := []string{}
		for name, value := range entries(r, kube.Pick(r, field, "systemReserved", "featureGates")).(object) {
			pairs = append(pairs, fmt.Sprint(name, kube.Pick(r, "=", "=", "=", "<", ""), value))
		}
		return strings.Join(pairs, ",")
	}
	return text(r, field)
}

func randomFlags(r *rand.Rand) any {
	in := object{"config_file": nil, "drop_in_files": nil}
	args, all := []string{}, []*pflag.Flag{}
	flagSet().VisitAll(func(flag *pflag.Flag) { all = append(all, flag) })
	for count := r.Intn(5); count > 0; count-- {
		flag := all[r.Intn(len(all))]
		switch flag.Name {
		case "config", "config-dir", "help", "version", "kubeconfig", "bootstrap-kubeconfig":
			continue
		case "node-labels":
			args = append(args, "--node-labels="+kube.Pick(r, "a=b", "a=b,c=d", "node.kubernetes.io/x=y", "kubernetes.io/x=y", "a b=c", "a=-"))
			continue
		case "register-with-taints":
			args = append(args, "--register-with-taints="+kube.Pick(r, "a=b:NoSchedule", "a:NoExecute", "a=b", "a=b:X", "a=b:NoSchedule,c=:NoExecute"))
			continue
		case "feature-gates":
			pairs := []string{}
			gates := entries(r, "featureGates").(object)
			for _, name := range vector.Keys(gates) {
				pairs = append(pairs, fmt.Sprint(name, "=", gates[name]))
			}
			args = append(args, "--feature-gates="+strings.Join(pairs, ","))
			continue
		case "reserved-memory":
			args = append(args, "--reserved-memory="+kube.Pick(r, "0:memory=1Gi", "0:memory=1Gi,hugepages-2Mi=2Mi", "0:memory=1Gi;1:memory=2Gi", "0", "x:memory=1"))
			continue
		}
		if strings.HasPrefix(flag.Name, "eviction-") && flag.Value.Type() != "int32" && flag.Value.Type() != "duration" {
			sign := kube.Pick(r, "<", "<", "=")
			args = append(args, "--"+flag.Name+"="+kube.Pick(r, "memory.available", "nodefs.available")+sign+kube.Pick(r, "100Mi", "5%", "1m"))
			continue
		}
		args = append(args, "--"+flag.Name+"="+argument(r, flag))
	}
	if kube.OneIn(r, 2) {
		args = append(args, "--config=/etc/kubernetes/kubelet.conf")
		in["config_file"] = vector.Text(configuration(r, 1+r.Intn(4)))
		if kube.OneIn(r, 3) {
			args = append(args, "--config-dir=/etc/kubernetes/kubelet.conf.d")
			files := object{"10-a.conf": vector.Text(configuration(r, 1+r.Intn(2)))}
			if kube.OneIn(r, 2) {
				files["20-b.conf"] = vector.Text(configuration(r, 1+r.Intn(2)))
			}
			in["drop_in_files"] = files
		}
	}
	r.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	in["args"] = args
	return in
}

// randomNode is a machine, and a configuration that it could have.
func randomNode(r *rand.Rand) any {
	cores := kube.Pick(r, 1, 2, 4, 8, 16, 64, 1+r.Intn(200))
	machine := object{
		"num_cores": cores, "memory_capacity_bytes": 4096 * (1<<17 + r.Int63n(kube.Pick(r, int64(1)<<20, 1<<24))),
		"root_fs_capacity_bytes": 1<<30 + r.Int63n(1<<40), "max_pid": kube.Pick(r, 32768, 4194304, 1+r.Intn(1<<22)),
		"cgroup_version": kube.Pick(r, 1, 2, 2, 2),
	}
	pages := []object{}
	for _, size := range []int64{2048, 1048576} {
		if kube.OneIn(r, 3) {
			pages = append(pages, object{"page_size_kib": size, "num_pages": kube.Pick(r, 0, r.Int63n(1<<29/(size<<8)+2))})
		}
	}
	if len(pages) > 0 {
		machine["hugepages"] = pages
	}
	config, gates := object{}, object{}
	amounts := func() object {
		list := object{}
		set := func(name, amount string) {
			if kube.OneIn(r, 2) {
				list[name] = amount
			}
		}
		set("cpu", strconv.Itoa(r.Intn(1000*cores/2+1))+"m")
		if kube.OneIn(r, 4) {
			set("cpu", kube.CPU(r))
		}
		set("memory", kube.Pick(r, kube.Memory(r), strconv.Itoa(r.Intn(1000))+"Mi"))
		set("pid", strconv.Itoa(r.Intn(2000)))
		set("ephemeral-storage", kube.Pick(r, "1Gi", "500M", strconv.Itoa(r.Intn(1<<20))+"Ki"))
		return list
	}
	if r.Intn(4) > 0 {
		config["kubeReserved"] = amounts()
	}
	if r.Intn(4) > 0 {
		config["systemReserved"] = amounts()
	}
	if kube.OneIn(r, 2) {
		config["cgroupDriver"] = kube.Pick(r, "systemd", "cgroupfs")
	}
	slice := kube.Pick(r, "", ".slice")
	if kube.OneIn(r, 2) {
		list := []string{"pods"}
		if kube.OneIn(r, 2) {
			list = append(list, kube.Pick(r, "kube-reserved", "kube-reserved-compressible"))
			config["kubeReservedCgroup"] = kube.Pick(r, "/kube", "/podruntime", "/a") + slice
		}
		if kube.OneIn(r, 2) {
			list = append(list, kube.Pick(r, "system-reserved", "system-reserved-compressible"))
			config["systemReservedCgroup"] = "/system" + slice
		}
		config["enforceNodeAllocatable"] = list[r.Intn(2)*r.Intn(2):]
	} else if kube.OneIn(r, 6) {
		config["reservedSystemCPUs"] = kube.Pick(r, "0", strconv.Itoa(r.Intn(cores)), "0-"+strconv.Itoa(r.Intn(cores)))
	}
	if kube.OneIn(r, 2) {
		hard := object{}
		for _, signal := range []string{"memory.available", "nodefs.available", "imagefs.available", "pid.available"} {
			if kube.OneIn(r, 2) {
				hard[signal] = kube.Pick(r, "10%", "5%", "1.5%", "0%", "33.3%", strconv.Itoa(r.Intn(500))+"Mi", "1Gi", "12345")
			}
		}
		config["evictionHard"] = hard
	}
	if kube.OneIn(r, 6) {
		config["mergeDefaultEvictionSettings"] = true
	}
	if kube.OneIn(r, 5) {
		config["cgroupRoot"] = kube.Pick(r, "/", "/custom", "/top/sub")
	}
	if kube.OneIn(r, 6) {
		config["localStorageCapacityIsolation"] = false
	}
	if kube.OneIn(r, 5) {
		config["podsPerCore"] = 1 + r.Intn(40)
	}
	if kube.OneIn(r, 5) {
		config["maxPods"] = 1 + r.Intn(500)
	}
	if kube.OneIn(r, 6) {
		config["cpuManagerPolicy"] = "static"
	}
	if kube.OneIn(r, 5) {
		gates["MemoryQoS"] = true
		if kube.OneIn(r, 3) {
			config["memoryReservationPolicy"] = "TieredReservation"
		}
		if kube.OneIn(r, 3) {
			config["memoryThrottlingFactor"] = kube.Pick(r, 0.5, 0.8, 1)
		}
		config["featureGates"] = gates
	}
	if machine["cgroup_version"] == 1 {
		config["failCgroupV1"] = false
	}
	return object{"kubelet_configuration": config, "machine": machine}
}
