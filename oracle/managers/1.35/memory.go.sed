/^\tif in\.PodEntries != nil {/,/^\t}/c\
\tif in.PodEntries != nil {\
\t\tpanic(vector.Skip("this version allocates to containers alone"))\
\t}
/^\tif in\.Scope == "pod" {/,/^\t} else {/c\
\tif in.Scope == "pod" {\
\t\tpanic(vector.Skip("this version allocates to containers alone"))\
\t} else {
