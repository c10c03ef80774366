s/^\tmanager, err := memorymanager\.NewManager(klog\.NewContext(context\.Background(), logger), /\tklog.SetLogger(logger)\n\tdefer klog.SetLogger(logr.Discard())\n\tmanager, err := memorymanager.NewManager(/
s/GetAllocatableMemory(context\.Background())/GetAllocatableMemory()/
s/GetMemoryNUMANodes(context\.Background(), /GetMemoryNUMANodes(/
s/^\t\tklog\.NewContext(context\.Background(), logger), active/\t\tactive/
/^\t"context"$/d
