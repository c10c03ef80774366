s/(_ context\.Context, _ types\.UID, id/(_ context.Context, id/
s/func(_ context\.Context, left/func(left/
