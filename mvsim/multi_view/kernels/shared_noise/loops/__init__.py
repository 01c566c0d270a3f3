"""Compiled functions of the kernel for shared noise: no threads, no choice of algorithm."""
