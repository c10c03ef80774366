s/NewImageGCManager(nil, nil, nil, nil, nil, /NewImageGCManager(nil, nil, nil, nil, /
