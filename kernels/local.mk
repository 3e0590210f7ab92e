# Small CUDA programs, one fault each.
