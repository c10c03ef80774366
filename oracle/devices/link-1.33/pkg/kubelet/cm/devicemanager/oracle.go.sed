s/\.DevicesIds/.DevicesIDs/
s/map\[string\]\*pluginapi\.Device{}/map[string]pluginapi.Device{}/
s/\[one\.ID\] = device$/[one.ID] = *device/
