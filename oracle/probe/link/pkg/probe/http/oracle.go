package http

import (
	"context"
	"net"
)

// OracleDial makes a prober that connects by a function of its own, for the oracle's programs.
func OracleDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Prober {
	prober := New(false).(httpProber)
	if dial != nil {
		prober.transport.DialContext = dial
	}
	return prober
}
