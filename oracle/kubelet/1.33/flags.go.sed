s/NewKubeletCommand(context\.Background())/NewKubeletCommand()/
/^\t"context"$/d
