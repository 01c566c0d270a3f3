"""One kernel for every namespace of the array API standard: the same file runs on NumPy and, by CuPy, on a GPU.

It is matrix products, elementwise functions, gathers and sums over an axis. There is no scatter-add, no running sum of doubles and no atomic
operation: sums have a fixed order, so that one device repeats its bits.

================  ======================================================================================================
`padded`          sums over entries of a list that belong together, by gathers with index tables of a fixed width
`terms`           sums over neurons of R at listed patches
`by_class`        points laid out by class, so that features are an axis
`tables`          signal-on-noise tables, neuron by neuron; their derivatives
`moments`         the same tables by moments, for whole powers: matrix products
`pairs`           all pairs at one weight: tables, corrections, tiles
`softmax`         the cross-entropy of all pairs by products of exponentials
`listed`          single points and listed pairs
`patches`         points of any patches
`stiff_hessian/`  the stiff part of the Hessian, of pairs and of single points
`network`         what these have in common, and the loss on top of them
`kernel`          the kernels, one for each kind of data and device
================  ======================================================================================================
"""
