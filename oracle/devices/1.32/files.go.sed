s,pkg/kubelet/allocation/state",pkg/kubelet/status/state",
/^\tstate, err := allocation\.NewStateCheckpoint/i\
\tif in.Kind != "pod_status_manager_state" {\
\t\tpanic(vector.Skip("this version has one file of pods"))\
\t}
/^\t\tfor _, uid := range vector\.Keys(in\.Pods) {/,/^\t\t}/c\
\t\tfor _, uid := range vector.Keys(in.Pods) {\
\t\t\tof := in.Pods[types.UID(uid)].Containers\
\t\t\tfor _, name := range vector.Keys(of) {\
\t\t\t\tif err := state.SetContainerResourceAllocation(uid, name, of[name]); err != nil {\
\t\t\t\t\tpanic(vector.Skip(err.Error()))\
\t\t\t\t}\
\t\t\t}\
\t\t}
/^\tfor uid, info := range state\.GetPodResourceInfoMap() {/,/^\t}/c\
\tfor uid, containers := range state.GetPodResourceAllocation() {\
\t\tcontent[uid] = object{"container_resources": containers}\
\t}
