"""What is judged about one run, a file for each part of the paper.

===================  =========================================================
`theorems`           Theorems 4.6 and 4.7
`permanence`         how long they are predicted to stay true
`definition`         Definition 4.5 on fresh draws and training points
`claims`             Claims B.1 - B.28, a small function each
`calculations`       Calculations A.6 - A.10 as identities
`gaussian_maxima`    Propositions A.1 - A.5 by Monte Carlo
`gradient_flow`      whether a run of the gradient flow is one
`clock`              whether dormant correlations take the recorded times to grow
`origin`             whether a run starts where, and departs from Assumption 4.3 as, its parameters say
`records`            whether records belong to each other and to the saved states
`replay`             whether saved states lead to the records that follow
`linear_regime`      Section 3 and Proposition 4.4, which need no runs
`assumptions`        which entries of Assumption 4.3 hold literally
===================  =========================================================
"""
