s/OracleStarted{kubeletServer, skippedDropinFiles}/OracleStarted{kubeletServer, nil}/
