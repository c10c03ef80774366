package cgroups

// OracleHost sets what the host is taken to be, for the oracle's programs.
func OracleHost(unified bool, sizes []string) {
	TestMode = true
	isUnifiedOnce.Do(func() {})
	initHPSOnce.Do(func() {})
	isUnified, hugePageSizes = unified, sizes
}
