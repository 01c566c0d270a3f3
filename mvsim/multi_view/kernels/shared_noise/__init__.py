"""The compiled kernel for data whose noise is shared by the patches of a point: its cost does not depend on P.

=====================  ==================================================================================
`shared_noise_kernel`  chooses among what follows, and pulls results back to correlations
`layout`               points sorted by noise pattern, which patch meets which
`tables`               sums over neurons from which the outputs of all pairs are put together
`sums_direct`          these sums, neuron by neuron, for any power
`sums_by_moments`      the same by moments, for whole powers
`columns`              products of matrices in blocks of columns
`point_outputs`        outputs on the training points, and on given mixed ones
`separate_points`      sums over points, and over listed pairs
`all_pairs`            sums over all pairs
`softmax_sum`          cross-entropy of all pairs from the tables
`pair_softmax`         its softmax, in blocks
`fused`                loss and gradient of all pairs in one compiled call
`hessian_of_pairs`     the stiff part of the Hessian of all pairs
`hessian_of_points`    and that of single points
`escaped`              the neurons in it, the only ones that are far enough for their curvature to matter
`pair_rates`           how outputs at mixed points change with their correlations
`pair_probability`     the softmax at mixed points
`loops/`               the compiled loops behind each of these
=====================  ==================================================================================
"""
