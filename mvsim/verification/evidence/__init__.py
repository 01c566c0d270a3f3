"""What statements are measured on.

===================  =========================================================
`evidence`           one run with its data, its snapshots and what follows
`mixed_points`       pairs of training points at one lambda
`differences`        recorded numbers beside the same formed again
`persistence`        since when something holds, and for how long
`intervals`          confidence intervals of fractions
===================  =========================================================
"""
