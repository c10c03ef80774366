s/logger, subsystems := klog\.Background(), /subsystems := /
/^\tlogger := klog\.Background()$/d
s/(logger, /(/g
s/(logger)/()/g
s/(klog\.Background(), /(/g
s/(klog\.Background())/()/g
s/(_ klog\.Logger, /(/
s/(logger klog\.Logger, /(/
/"k8s.io\/klog\/v2"$/d
