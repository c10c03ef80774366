s/(logr\.Discard())/()/
/go-logr\/logr"$/d
