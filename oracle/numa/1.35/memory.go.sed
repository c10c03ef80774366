/^\/\/ PodEntries are/d
/^func PodEntries/,/^}/d
/^\tif pods := PodEntries/,/^\t}/d
