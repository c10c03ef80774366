s/RemoveContainer(klog\.Background(), /RemoveContainer(context.Background(), /
s/^import ($/import (\n\t"context"\n/
