"""What statements are measured on.

===================  =========================================================
`evidence`           one run with its data, its snapshots and what follows
`mixed_points`       pairs of training points at one lambda
`differences`        recorded numbers beside the same formed again
`persistence`        since when something holds, and for how long
`intervals`          confidence intervals of fractions
`permanence`         trends in ln t, and when they lead to a change
`stretches`          what of a run can be replayed, and how much of it
`replay`             a run made again in parts
`closeness`          how far records are from a path that a replay takes
`explicit_patches`   a few points as patches, and formulas on them
===================  =========================================================
"""
