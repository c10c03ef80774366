s/cpustate\.NewCheckpointState(klog\.Background(), /cpustate.NewCheckpointState(/
