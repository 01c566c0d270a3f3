"""One kernel for every namespace of the array API standard: the same file runs on NumPy and, by CuPy, on a GPU.

It is matrix products, elementwise functions, gathers and sums over an axis. There is no scatter-add, no running sum of doubles and no atomic
operation: sums have a fixed order, so that one device repeats its bits.
"""
