"""One kernel for every namespace of the array API standard: the same file runs on NumPy and, by CuPy, on a GPU.

It is matrix products, elementwise functions, gathers and sums over an axis. There is no scatter-add, no running sum of doubles and no atomic
operation: sums have a fixed order, so that one device repeats its bits.

==================  ====================================================================================================
`device`            where arrays live; nothing else knows CuPy
`term_sums`         sums over neurons of R at listed patches, by gathers with index tables of a fixed width
`by_class`          points laid out by class, so that features are an axis
`neuron_tables`     signal-on-noise tables, neuron by neuron; their derivatives
`moment_tables`     the same tables by moments, for whole powers: matrix products
`pairs`             all pairs at one weight: tables, corrections, tiles
`exponential_sums`  the cross-entropy of all pairs by products of exponentials
`listed`            single points and listed pairs
`patches`           points of any patches
`array_hessian`     the stiff part of the Hessian of all pairs; `..._parts` and `..._of_other_classes` go with it
`network`           what these have in common, and the loss on top of them
`array_kernel`      the kernels, one for each kind of data and device
==================  ====================================================================================================
"""
