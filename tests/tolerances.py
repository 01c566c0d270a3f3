"""Every tolerance of the tests, each with its reason. A relative error is max|a - b| / max|b| unless a name says otherwise.

The unit is float64 round-off, 1.1e-16. A sum of n terms of one size carries about sqrt(n) units, at most n. The test problems add up to
about 1e3 terms per output and 1e2 outputs per loss, and raise pre-activations to powers up to 8, which multiplies their error by 8.
"""

# Two ways to add the same up to 1e4 numbers, with a power of 8 in between and cancellation in the softmax residual: some tens of units.
# A wrong coefficient in any single term of the test problems shows at 1e-6 or more.
ROUNDOFF = 1e-13

# A quantity computed by the same few operations in another order (activation, powers, sums of at most ten numbers).
FEW_OPERATIONS = 1e-14

# The second derivative in the polynomial regime divides by rho once more and multiplies round-off by alpha - 1 = 7 again; on top, the
# oracle's complex powers go through polar coordinates, good to some ten units.
HESSIAN_ROUNDOFF = 1e-12

# Central differences of step h = 1e-6 times the scale of the argument: truncation h^2 f'''/6 ~ 1e-12 times (alpha/u)^2, cancellation
# 1e-16/h = 1e-10 relative to the function, which is up to 1e3 times its directional derivative; a junction of the activation that falls
# inside the step costs up to h R'' ~ 1e-6 for its one patch among many.
CENTRAL_DIFFERENCE_STEP = 1e-6
CENTRAL_DIFFERENCE = 1e-6

# Orthonormality of 2k vectors of length d <= 1e4 from a QR factorisation: a few sqrt(d) units.
ORTHONORMAL = 1e-12

# Component of a gradient in R^d outside the span of the features, relative to the gradient: a few units from each patch and projection.
OUTSIDE_SPAN = 1e-14

# Absolute slack for one component beside others of size one (small components are sums of cancelling large ones).
COMPONENT_ABSOLUTE = 1e-14

# Level below which a seeded statistical test fails: the seed is fixed, so this is a threshold on one number, not a rate of false alarms.
SIGNIFICANCE = 1e-3

# Predicted over measured memory: the prediction counts the large arrays and neglects what lives for a moment inside NumPy's functions.
MEMORY = 0.2

# What the engine promises of any one neuron, at the worst cancellation of its binomial sums (mvsim/multi_view/kernels/shared_noise/loops/moments.py).
ENGINE = 1e-12

# What first order in a step leaves out, where the step changes the gradient by some 1e-4: a part of the order of that, times how fast the second
# derivative changes (alpha - 2 = 6 powers at most), and some more as the worst component of many.
FIRST_ORDER = 1e-2

# A softmax multiplies the round-off of outputs of size g, 1e-16 g, by its own relative changes: two ways to add up outputs of some hundreds differ
# by 1e-13, and those of 1e6 by 1e-10 where two classes are level, which is seldom.
LARGE_OUTPUTS = 1e-11

# What the integrals of a flow at rtol = 1e-3 are off by, relative to their size: they follow by the formula of its steps, some rtol.
DISSIPATED = 1e-2

# Two flows at rtol = 1e-5, one in which neurons rest, differ by what each errs: up to 100 rtol of escape times and correlations.
RESTED = 1e-3
