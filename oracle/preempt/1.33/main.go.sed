s/HandleAdmissionFailure(context\.Background(), /HandleAdmissionFailure(/
s/^\t_ context\.Context, _ \*v1\.Pod/\t_ *v1.Pod/
/^\t"context"$/d
