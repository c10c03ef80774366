s/FakeRuntimeHelper{}, tracer/FakeRuntimeHelper{}, nil, tracer/
