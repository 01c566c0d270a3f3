"""The gradient flow by CVODE: `cvode` puts together the parts.

=========  ==================================================================================
muted      what the library prints
solver     CVODE on the field in the coordinates of a chart, and the preconditioner
segment    the steps of one start of the solver, what they dissipate, and where they end
carried    what a trajectory carries from segment to segment
cvode      the trajectory: segment after segment, refused ones, stalls
=========  ==================================================================================

Chart, tolerances and the judgement of steps are those of `mvsim.flow`.
"""

from mvsim.flow.cvode.cvode import CvodeFlow

__all__ = ["CvodeFlow"]
