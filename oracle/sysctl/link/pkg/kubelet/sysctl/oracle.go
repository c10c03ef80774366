package sysctl

// OracleSafe is the list of safe sysctls of a kernel, for the oracle's programs.
var OracleSafe = getSafeSysctlAllowlist
