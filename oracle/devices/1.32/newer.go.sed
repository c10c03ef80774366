/^func setLevel/d
/^func level/d
/^func setInfo/,/^}/d
/^\tallocation "k8s.io/d
/^\tv1 "k8s.io\/api/d
s/^func readPods.*/func readPods(_, dir string) { status.NewManager(nil, nil, nil, nil, dir).Start() }/
s,podallocation "k8s.io/kubernetes/pkg/kubelet/allocation","k8s.io/kubernetes/pkg/kubelet/status",
