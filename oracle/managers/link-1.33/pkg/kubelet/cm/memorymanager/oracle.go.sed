s/RemoveContainer(context\.Background(), /RemoveContainer(/
s/NewMemoryState(klog\.Background())/NewMemoryState()/
/^\t"context"$/d
/"k8s.io\/klog\/v2"$/d
