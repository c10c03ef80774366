s/OracleReservedCPUs(klog\.Background(), /OracleReservedCPUs(/
/"k8s.io\/klog\/v2"$/d
