s/NewManager(logger, /NewManager(klog.NewContext(context.Background(), logger), /
s/GetAllocatableMemory()/GetAllocatableMemory(context.Background())/
s/GetMemoryNUMANodes(logr\.Discard(), /GetMemoryNUMANodes(context.Background(), /
