"""Which backends the tests can run here: a GPU may be missing. Those that cannot are skipped where it shows."""

import pytest

from mvsim.base.errors import UsageError
from mvsim.multi_view.kernels import BACKENDS, KERNELS


def missing(backend):
    """Why a backend cannot be used here; empty if it can."""
    try:
        for entry in KERNELS:
            if entry.backend == backend:
                entry.check()
    except UsageError as error:
        return str(error)
    return ""


def marks(backend):
    """The marks of a test that needs a backend."""
    if not any(entry.on_gpu for entry in KERNELS if entry.backend == backend):
        return ()
    return (pytest.mark.gpu, pytest.mark.skipif(bool(missing(backend)), reason=missing(backend)))


def cases(backends):
    """The backends as parameters of tests, each with its marks."""
    return [pytest.param(backend, marks=marks(backend)) for backend in backends]


RUNNABLE = [backend for backend in BACKENDS if not missing(backend)]
"""Those that can be used here, ``auto`` first."""

MISSING = [backend for backend in BACKENDS if missing(backend)]
"""Those that cannot."""
