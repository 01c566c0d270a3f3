"""The stiff part of the Hessian of the mean cross-entropy: the neurons that have escaped.

A neuron has *escaped* if one of its correlations is beyond a part of the threshold. Few do, and all others are in the polynomial regime or
dead, where the outputs hardly depend on them, so that what follows neglects them.

===================  ==================================================================================
`of_pairs`           all pairs: an arrow matrix
`of_points`          single points: whole, or by the own correlations alone
`unmixed_hessian`    single points: the whole block of the neurons that have escaped
`escaped`            the neurons that have escaped, and where their correlations stand in c
`other_classes`      what the correlations with features of other classes add to that
`rates`              how outputs at mixed points change with their correlations
`probability`        the softmax at mixed points
===================  ==================================================================================
"""
