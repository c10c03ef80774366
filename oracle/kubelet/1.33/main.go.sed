s/config, err = app\.OracleLoad(.*, file)/klog.SetLogger(logger)\n\tconfig, err = app.OracleLoad(file)/
/^\t"context"$/d
