s,"github.com/opencontainers/cgroups","github.com/opencontainers/runc/libcontainer/cgroups",
