// Package cgroupfiles shows a cgroup as the cgroup library writes it: its files, and what systemd is given.
package cgroupfiles

import (
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
	"github.com/opencontainers/cgroups/systemd"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

type object = vector.Object

// Config shows the values that are set.
func Config(config *cm.ResourceConfig) object {
	shown := object{}
	if config.CPUShares != nil {
		shown["cpu_shares"] = *config.CPUShares
	}
	if config.CPUQuota != nil {
		shown["cpu_quota_us"] = *config.CPUQuota
	}
	if config.CPUPeriod != nil {
		shown["cpu_period_us"] = *config.CPUPeriod
	}
	if config.Memory != nil {
		shown["memory_limit_bytes"] = *config.Memory
	}
	if config.PidsLimit != nil {
		shown["pids_limit"] = *config.PidsLimit
	}
	if !config.CPUSet.IsEmpty() {
		shown["cpuset_cpus"] = config.CPUSet.String()
	}
	if len(config.HugePageLimit) > 0 {
		limits := object{}
		for size, limit := range config.HugePageLimit {
			limits[strconv.FormatInt(size, 10)] = limit
		}
		shown["hugepage_limits_bytes"] = limits
	}
	if len(config.Unified) > 0 {
		shown["unified"] = config.Unified
	}
	return shown
}

// Cgroup shows a whole cgroup. The page sizes are those that the node has.
func Cgroup(made *cm.OracleCgroup, unified bool, sizes []string) object {
	name := append([]string{}, made.Name...)
	shown := object{"cgroup_name": name, "cgroup_path": made.Path, "resource_config": Config(made.Config)}
	if made.Cgroup.Systemd {
		shown["systemd_unit"], shown["systemd_parent_unit"] = made.Cgroup.Name, made.Cgroup.Parent
	}
	Files(shown, made.Cgroup, unified, sizes)
	return shown
}

// Files adds the files of a cgroup, and its properties.
func Files(shown object, cgroup *cgroups.Cgroup, unified bool, sizes []string) {
	resources := cgroup.Resources
	if cgroup.Systemd {
		properties, err := systemd.OracleProperties(unified, resources)
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		for key, value := range properties {
			switch value := value.(type) {
			case uint64:
				if value == math.MaxUint64 {
					properties[key] = "infinity"
				}
			case []byte:
				bytes := []int{}
				for _, one := range value {
					bytes = append(bytes, int(one))
				}
				properties[key] = bytes
			}
		}
		if len(properties) > 0 {
			shown["systemd_properties"] = properties
		}
	}
	has := map[string]bool{}
	for _, size := range sizes {
		has[size] = true
	}
	lacking := []string{}
	for _, limit := range resources.HugetlbLimit {
		if !has[limit.Pagesize] {
			lacking = append(lacking, limit.Pagesize)
		}
	}
	// The file of a size that the node lacks does not exist: the write fails there, and what follows is not written.
	if len(lacking) > 0 {
		shown["unsupported_hugepage_sizes"] = lacking
		resources.HugetlbLimit, resources.Unified = nil, nil
	}
	shown["cgroup_files"] = written(cgroup, unified)
}

func written(cgroup *cgroups.Cgroup, unified bool) object {
	dir, err := os.MkdirTemp("", "oracle-cgroup-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if unified {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpu cpuset memory hugetlb pids"), 0o600); err != nil {
			panic(err)
		}
		manager, err := fs2.NewManager(cgroup, dir)
		if err != nil {
			panic(err)
		}
		if err := manager.Set(cgroup.Resources); err != nil {
			panic(vector.Skip(err.Error()))
		}
	} else {
		paths := map[string]string{}
		for _, name := range []string{"cpu", "cpuset", "memory", "hugetlb", "pids"} {
			paths[name] = dir
		}
		manager, err := fs.NewManager(cgroup, paths)
		if err != nil {
			panic(err)
		}
		if err := manager.Set(cgroup.Resources); err != nil {
			panic(vector.Skip(err.Error()))
		}
	}
	files := object{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			panic(err)
		}
		if entry.Name() != "cgroup.controllers" {
			files[entry.Name()] = string(text)
		}
	}
	return files
}
