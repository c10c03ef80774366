s/^\tnewStateImpl(folder, allocatedPodsStateFile)/&\n\tnewStateImpl(folder, actuatedPodsStateFile)/
