"""What compiled kernels share: compiling and its cache, threads, and small compiled functions."""
