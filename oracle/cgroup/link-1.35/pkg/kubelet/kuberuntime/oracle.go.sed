s/memoryReservationPolicy: node\.Policy, //
s/kubeletconfig\.MemoryReservationPolicy/string/
/^\tkubeletconfig "/d
