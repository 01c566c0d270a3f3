"""The gradient flow: `flow` puts together the parts, each of which knows only those before it.

=========  ===================================================================================
bdf        the formulas: past, prediction, correction, order
krylov     GMRES
newton     the implicit equation of one step
stepper    steps within the tolerance, and the size and order of the next
chart      coordinates in which escapes are smooth
system     the field on the chart, and its tolerances
memory     what a trajectory carries from step to step, as arrays
flow       the trajectory: limits of the steps, refused steps, stalls
=========  ===================================================================================
"""

from mvsim.integrators.flow.flow import LAST_TIME, GradientFlow

__all__ = ["LAST_TIME", "GradientFlow"]
