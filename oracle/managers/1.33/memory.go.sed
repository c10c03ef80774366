s/AddContainer(context\.Background(), /AddContainer(/
/^\t"context"$/d
