"""How many bytes a run needs, and whether they are there, before anything is allocated."""

from __future__ import annotations

import math

from mvsim.flow import INTEGRATORS
from mvsim.multi_view.kernels import check_device_memory, entry_for_draws
from mvsim.multi_view.kernels.needs import VECTORS_OF_FLOW
from mvsim.multi_view.memory_limits import check_fits
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.recording.memory import needs_of_test
from mvsim.runs.recording.variables import When, variables_of
from mvsim.runs.simulation.cost import gradients_of_flow
from mvsim.runs.simulation.options import DEFAULTS

_LIBRARIES = 245 * 2**20
"""Bytes taken by the interpreter and the libraries."""

_LOADING = 270 * 2**20
"""Bytes taken while libraries and kernels are loaded, some of which the arrays of the run take over. Compiling the kernels, once after
installing, takes 100 MiB more."""

_SNAPSHOTS, _RECORDS, _COPIES = 20, 600, 4
"""Full states and, at least, records that a run of the flow keeps, and how often while it is saved: as recorded, as a data set, as a file in memory
and as the bytes that go to the disk."""

_GRADIENTS_OF_A_RECORD = 52
"""The flow records every twentieth step, and takes about 2.6 gradients a step (``python validation/run.py flow_runs``)."""


def required_bytes(
    parameters: Parameters, mixes: bool, backend: str = DEFAULTS.backend, n_test: int = DEFAULTS.n_test, integrator: str = DEFAULTS.integrator
) -> int:
    """Predict the peak memory of a run.

    Parameters
    ----------
    parameters : Parameters
        Problem size.
    mixes : bool
        Whether the method mixes pairs: then all pairs at one lambda are counted, as in Midpoint Mixup.
    backend : str
        See `mvsim.objective`.
    n_test : int
        Fresh draws for each class.
    integrator : str
        See `mvsim.simulate`.

    Returns
    -------
    int
        Bytes, libraries included.
    """
    p = parameters
    flow = 0
    if INTEGRATORS[integrator].follows_flow:  # the solver, and the stiff part of the Hessian
        stiff = entry_for_draws(p, backend).needs(p, mixes).stiff_hessian
        state = p.features * p.k * p.m
        records = max(_RECORDS, round(gradients_of_flow(p, mixes) / _GRADIENTS_OF_A_RECORD))
        flow = 8 * (VECTORS_OF_FLOW * state + stiff + _COPIES * (_SNAPSHOTS * state + records * _numbers_of_a_record(p)))
    return max(_LOADING, _LIBRARIES + array_bytes(p, mixes, backend, n_test) + flow)


def _numbers_of_a_record(p: Parameters) -> int:
    sizes = {"time": 1, "label": p.k, "neuron": p.m, "feature_class": p.k, "view": p.V}
    return sum(math.prod(sizes[dim] for dim in variable.dims) for variable in variables_of(When.RECORD).values())


def array_bytes(parameters: Parameters, mixes: bool, backend: str = DEFAULTS.backend, n_test: int = DEFAULTS.n_test) -> int:
    """Predict the most bytes that the arrays of a run take at once; arguments as for `required_bytes`.

    That is in a Hessian-vector product, which the first record of a run takes already, or while feature learning is tested.
    """
    p = parameters
    needs = entry_for_draws(p, backend).needs(p, mixes)
    test = needs_of_test(p, n_test, backend)
    return 8 * (8 * p.features * p.k * p.m + needs.stays + test.stays + max(needs.product, test.once))


def check_memory(
    parameters: Parameters, mixes: bool, backend: str = DEFAULTS.backend, n_test: int = DEFAULTS.n_test, integrator: str = DEFAULTS.integrator
) -> int:
    """Return the predicted bytes of a run.

    Raises
    ------
    UsageError
        If they are not there.
    """
    check_device_memory(parameters, mixes, backend)
    return check_fits(parameters, lambda p: required_bytes(p, mixes, backend, n_test, integrator), "")
