package topologymanager

// OracleRemember lets a manager store a hint, for the oracle's programs.
func OracleRemember(m Manager, pod, container string, hint TopologyHint) {
	m.(*manager).scope.(interface {
		setTopologyHints(pod, container string, hint TopologyHint)
	}).setTopologyHints(pod, container, hint)
}

// OracleScope is the name of a manager's scope.
func OracleScope(m Manager) string { return m.(*manager).scope.Name() }
