s/string(o\.m\.GetContainerSwapBehavior(pod, container))/""/
