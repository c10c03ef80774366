# OpenShift's tree forgets strictly reserved CPUs in one comparison; upstream has no such line.
s/^\tavailableCPUs := p\.topology\.CPUDetails\.CPUs()$/\tavailableCPUs := allCPUs/
