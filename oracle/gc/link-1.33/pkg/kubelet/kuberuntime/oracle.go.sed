s/^\t\tctx, service,/\t\tservice,/
