package topologymanager

// OracleRemember lets a manager store a hint, for the oracle's programs.
func OracleRemember(m Manager, pod, container string, hint TopologyHint) {
	m.(*manager).scope.(interface {
		setTopologyHints(pod, container string, hint TopologyHint)
	}).setTopologyHints(pod, container, hint)
}
