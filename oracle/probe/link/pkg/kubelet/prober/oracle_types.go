package prober

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

type (
	oracleLogger = klog.Logger
	oracleObject = runtime.Object
)
