/^func setLevel/,/^}/c\
func setLevel(*allocation.PodResourceInfo, *v1.ResourceRequirements) {}
s/^func level(.*/func level(allocation.PodResourceInfo) any { return nil }/
/if device\.ShareID/,/}/d
/if device\.Share != nil/,/}/d
s/ "share_id": device\.ShareID,//
/^func readPods/,/^}/c\
func readPods(_, dir string) { podallocation.OracleStart(dir) }
/"k8s.io\/kubernetes\/cmd\/oracle\/vector"$/d
