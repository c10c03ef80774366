s,libcontainercgroups "github.com/opencontainers/cgroups",libcontainercgroups "github.com/opencontainers/runc/libcontainer/cgroups"\n\t"github.com/opencontainers/runc/libcontainer/configs",
s/\*libcontainercgroups\.Cgroup$/*configs.Cgroup/
/podContainerManager: settings\.Exclusive,/d
