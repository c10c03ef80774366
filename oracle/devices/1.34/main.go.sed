s/plugin\.NewServer(klog\.Background(), /plugin.NewServer(/
/"k8s.io\/klog\/v2"$/d
