package allocation

import "k8s.io/klog/v2"

// OracleStart reads what is kept of pods in a folder as a new manager does, for the oracle's programs.
func OracleStart(folder string) {
	newStateImpl(klog.Background(), folder, allocatedPodsStateFile)
}
