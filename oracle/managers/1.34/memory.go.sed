s/AddContainer(logr\.Discard(), /AddContainer(context.Background(), /
s/AddHintProvider(klog\.Background(), /AddHintProvider(/
s/^\t"github.com\/go-logr\/logr"$/\t"context"/
/"k8s.io\/klog\/v2"$/d
