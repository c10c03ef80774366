s/kubeletconfig\.MemoryReservationPolicy(\(.*\))/\1/
s/kubeletconfig\.MemoryReservationPolicy/string/
/^\tkubeletconfig "/d
s/return object{"milli_cpu": cm\.\(Shares\|Quota\)ToMilliCPU(.*/panic(vector.Skip("this version has no such function"))/
