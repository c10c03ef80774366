s,"github.com/opencontainers/cgroups","github.com/opencontainers/runc/libcontainer/configs",
s,"github.com/opencontainers/cgroups/,"github.com/opencontainers/runc/libcontainer/cgroups/,
s/cgroup \*cgroups\.Cgroup/cgroup *configs.Cgroup/
