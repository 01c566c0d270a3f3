"""The gradient flow: `flow` puts together the parts, each of which knows only those before it.

=============  =======================================================================================
bdf            the formulas: past, prediction, correction, order
clock          the variable in which steps are made, the logarithm of time
error_size     one number for the errors of all coordinates
krylov         GMRES
newton         the implicit equation of one step, and its solution where no Jacobian is known
near           what is known of a system near some place: the part that can be stiff, and its Jacobian
secants        the solution of the equation with that
stepper_state  where a stepper is, and the same for other coordinates
interface      what a stepper integrates, and who is asked about its steps
known          what it knows near some place, and when that is too old
stepper        steps within the tolerance, and the size and order of the next
chart          coordinates in which escapes are smooth
system         the field on the chart, its tolerances, and the balance of the loss
resting        which neurons rest, and how they follow from those that are stepped
followed       the system that is stepped, and all coordinates as they follow from its own
stalls         when a trajectory gets no further
carried        what a trajectory carries from step to step
flow           the trajectory: limits of the steps, refused steps, stalls
=============  =======================================================================================
"""

from mvsim.integrators.flow.flow import GradientFlow

__all__ = ["GradientFlow"]
