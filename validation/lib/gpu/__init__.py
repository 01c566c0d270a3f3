"""What the study of the GPU is made of."""
