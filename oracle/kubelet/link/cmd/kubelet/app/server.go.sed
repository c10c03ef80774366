/use kubeletServer to construct the default KubeletDeps/i return \&OracleStarted{kubeletServer, skippedDropinFiles}
