/^func (kl \*Kubelet) StartGarbageCollection/,/^}/s/go wait\.Until(/OracleUntil(/
