package sysctl

import (
	"context"

	"k8s.io/apimachinery/pkg/util/version"
)

// OracleSafe is the list of safe sysctls of a kernel, for the oracle's programs.
func OracleSafe(_ context.Context, kernel func() (*version.Version, error)) []string {
	return getSafeSysctlAllowlist(kernel)
}
