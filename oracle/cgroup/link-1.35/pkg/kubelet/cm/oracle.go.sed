s/, memoryReservationPolicy: settings\.Policy//
s/kubeletconfig\.MemoryReservationPolicy/string/
/memoryReservationPolicy: policy,/d
/^\tkubeletconfig "/d
