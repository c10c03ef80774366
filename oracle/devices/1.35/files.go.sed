s,k8s.io/utils/dump,k8s.io/apimachinery/pkg/util/dump,
s/memorystate\.PodMemoryAssignments/map[string]any/
