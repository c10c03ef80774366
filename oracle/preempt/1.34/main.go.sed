s/node := func(context\.Context, bool) (/node := func() (/
s/^\tnode := func(_ context\.Context, cached bool) (/\tconst cached = true\n\tnode := func() (/
