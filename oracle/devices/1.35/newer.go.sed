/^func setPodCPUs/,/^}/c\
func setPodCPUs(cpustate.State, map[string]string, func(string) cpuset.CPUSet) {}
/^func podCPUs/,/^}/c\
func podCPUs(cpustate.State) map[string]any { return map[string]any{} }
/^func setPodBlocks/,/^}/c\
func setPodBlocks(memorystate.State, map[string]any) {}
/^func podBlocks/,/^}/c\
func podBlocks(memorystate.State) any { return nil }
s/(klog\.Background(), uid/(uid/
/"k8s.io\/klog\/v2"$/d
