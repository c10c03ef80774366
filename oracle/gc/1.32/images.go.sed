s/w, w, \[\]images\.PostImageGCHook{hook}, w,/w, w, w,/
s/^\thook := func/\t_ = func/
/"post_gc_hook_remaining_images"\] = w\.hook/d
