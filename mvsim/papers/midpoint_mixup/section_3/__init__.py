"""Section 3 of the paper, linear models on the data of Definition 3.1, and Proposition 4.4, where linear models fail. They need no runs.

====================  ========================================================================================
`results`             which statements there are, and their negative controls
`lemma_3_2`           along which directions Midpoint Mixup reaches its infimum
`proposition_3_3`     what other laws of lambda leave
`proposition_3_4`     the gradient of Midpoint Mixup on a lagging feature, in the worst case
`proposition_3_5`     the gradient of ERM on it
`proposition_4_4`     data on which no linear classifier is perfect
`premises`            what the results suppose of their points
`sample`              points of Definition 3.1
`orthogonal`          both gradients under cross-class orthogonality
`farkas`              linear separability, proved in exact arithmetic either way
====================  ========================================================================================
"""
