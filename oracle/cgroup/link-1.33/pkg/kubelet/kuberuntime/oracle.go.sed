s/(context\.Background(), /(/
/getSwapControllerAvailable:/d
s/^\tdefaultPageSize = .*/&\n\tswapControllerAvailable = func() bool { return node.SwapController }/
/^\t"context"$/d
