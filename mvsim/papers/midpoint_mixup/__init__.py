"""Verdicts: do the theorems hold, by how much, over how many seeds; and can the checks fail.

===================  ==========================================================================
`verify`             what one can ask: of runs, of theorems over seeds and k, of the controls
`run_verdicts`       all there is to say about one run
`result_verdicts`    all there is to say about results that need no runs
`statements`         theorems, definition, claims, calculations, assumptions: what is judged
`evidence`           what they are measured on
`ensemble`           verdicts over seeds and k
`controls`           negative controls
`verdict`            the answer itself
===================  ==========================================================================
"""
