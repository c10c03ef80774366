s/logr\.Discard(), //g
s/(logr\.Discard())/()/g
s/klog\.Background(), //
s/\.Start(context\.Background(), /.Start(/
s/^\t\tlogr\.Discard(), /\t\t/
/^\t"context"$/d
/go-logr\/logr"$/d
/"k8s.io\/klog\/v2"$/d
