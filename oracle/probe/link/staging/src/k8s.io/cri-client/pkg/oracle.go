package cri

import (
	"time"

	"k8s.io/component-base/logs/logreduction"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// OracleService is the client of a runtime, for the oracle's programs.
func OracleService(client runtimeapi.RuntimeServiceClient) internalapi.RuntimeService {
	return &remoteRuntimeService{
		timeout: 2 * time.Minute, runtimeClient: client, logReduction: logreduction.NewLogReduction(time.Minute),
	}
}
