"""The compiled kernel for data whose noise is shared by the patches of a point: its cost does not depend on P.

===================  ==================================================================================
`kernel`             chooses among what follows, and pulls results back to correlations
`layout`             points sorted by noise pattern, which patch meets which
`tables`             sums over neurons from which the outputs of all pairs are put together
`sums_direct`        these sums, neuron by neuron, for any power
`sums_by_moments`    the same by moments, for whole powers
`columns`            products of matrices in blocks of columns
`single_outputs`     outputs on the training points
`listed_outputs`     outputs on given mixed points
`separate_points`    sums over points, and over listed pairs
`all_pairs`          sums over all pairs
`softmax_sum`        cross-entropy of all pairs from the tables
`pair_softmax`       its softmax, in blocks
`fused`              loss and gradient of all pairs in one compiled call
`stiff_hessian/`     the stiff part of the Hessian, of pairs and of single points
`loops/`             the compiled loops behind each of these
===================  ==================================================================================
"""
