s/setTerminationGracePeriod(ctx, /setTerminationGracePeriod(/
