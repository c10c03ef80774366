s/grpc\.ServerStreamingServer\[pluginapi\.ListAndWatchResponse\]/pluginapi.DevicePlugin_ListAndWatchServer/
s/, served{failure: /, \&served{failure: /
s/\.CdiDevices/.CDIDevices/g
