"""The stiff part of the Hessian of the mean cross-entropy of all pairs by the neurons that have escaped, formed on a device.

The formulas are those of `mvsim.multi_view.kernels.shared_noise.stiff_hessian`, of which each file here names the one that it follows. Points are
laid out by class (`mvsim.multi_view.kernels.array.by_class`): i = (y, a) is place a of class y. All sums over the pairs of two classes are then
products of matrices.

=================  ====================================================================================
`of_pairs`         all pairs: an arrow matrix
`of_points`        single points: whole, or by the own correlations alone
`whole`            single points: the whole block of the neurons that have escaped
`escaped`          the neurons that have escaped, and where their correlations stand in c
`other_classes`    what the correlations with features of other classes add to `of_pairs`
`coincidences`     the patches of two points that coincide, and the sums over them
`rates`            how outputs at mixed points change with the correlations of escaped neurons
`probability`      the softmax at mixed points
=================  ====================================================================================
"""
