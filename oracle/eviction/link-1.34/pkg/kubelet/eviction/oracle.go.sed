s/klog\.Background(), //
s/synchronize(context\.Background(), /synchronize(/
/"k8s.io\/klog\/v2"$/d
