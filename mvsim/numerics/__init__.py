"""Linear algebra that knows nothing of networks: a matrix that is cheap to invert, and the largest eigenvalue of an operator."""
