s/memorystate\.NewCheckpointState(klog\.Background(), /memorystate.NewCheckpointState(/
s/proto\.Unmarshal(one\.AllocResp, answer)/answer.Unmarshal(one.AllocResp)/
s/\.CdiDevices/.CDIDevices/g
/"google.golang.org\/protobuf\/proto"$/d
/"k8s.io\/klog\/v2"$/d
