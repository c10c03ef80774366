package app

import "k8s.io/kubernetes/cmd/kubelet/app/options"

// OracleStarted is where the start of the kubelet ends, for the oracle's programs: configuration and flags are good.
type OracleStarted struct {
	Server  *options.KubeletServer
	Skipped []string
}

func (*OracleStarted) Error() string { return "started" }

var (
	OracleLoad         = loadConfigFile
	OracleReservedCPUs = getReservedCPUs
	OracleList         = parseResourceList
)
