package preemption

import v1 "k8s.io/api/core/v1"

// What the oracle's programs need of this package.
type OracleRequirements = admissionRequirementList

func OracleRequirement(name string, quantity int64) *admissionRequirement {
	return &admissionRequirement{v1.ResourceName(name), quantity}
}

func OracleEach(a OracleRequirements, visit func(name string, quantity int64)) {
	for _, one := range a {
		visit(string(one.resourceName), one.quantity)
	}
}

func OracleDistance(a OracleRequirements, pod *v1.Pod) float64 { return a.distance(pod) }

func OracleSubtract(a OracleRequirements, pods ...*v1.Pod) OracleRequirements {
	return a.subtract(pods...)
}

func OracleText(a OracleRequirements) string { return a.toString() }

var (
	OracleSmaller    = smallerResourceRequest
	OracleVictims    = getPodsToPreempt
	OracleByDistance = getPodsToPreemptByDistance
	OracleByQOS      = sortPodsByQOS
)
