s/klog\.Background(), //
/"k8s.io\/klog\/v2"$/d
