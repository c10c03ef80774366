s/= formatSize/= func(int64) string { panic("it has no sizes in messages") }/
