"""Fast deep-learning kernels by search: graphs in, tuned and verified kernels out."""
