s/StartGarbageCollection(context\.Background())/StartGarbageCollection()/
/^\t"context"$/d
