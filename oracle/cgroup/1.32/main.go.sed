s,"github.com/opencontainers/cgroups","github.com/opencontainers/runc/libcontainer/cgroups",
s/, shown\["swap_behavior_in_effect"\] = \(.*\), swap$/ = \1/
s/resources, swap := /resources, _ := /
s/vector\.Of(containers)/&, Partial: true/
