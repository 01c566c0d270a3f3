"""mvsim: exact simulation of feature learning under ERM and Midpoint Mixup, in weight-feature correlation coordinates."""

from __future__ import annotations

import importlib
from typing import Any

from mvsim.version import __version__

# Public name -> module, imported on first use: `mvsim --help` must not wait for numba, scipy or xarray.
_PUBLIC = {
    "Parameters": "mvsim.parameters",
    "Deviation": "mvsim.parameters",
    "UniformLaw": "mvsim.parameters.beta_laws",
    "SymmetricBetaLaw": "mvsim.parameters.beta_laws",
    "DiscreteLaw": "mvsim.parameters.beta_laws",
    "Dataset": "mvsim.data",
    "sample_dataset": "mvsim.data",
    "random_features": "mvsim.data",
    "embed": "mvsim.data",
    "initial_correlations": "mvsim.initialisation",
    "smoothed_relu": "mvsim.activations.smoothed_relu",
    "smoothed_relu_derivative": "mvsim.activations.smoothed_relu",
    "smoothed_relu_second_derivative": "mvsim.activations.smoothed_relu",
    "objective": "mvsim.objectives",
    "feature_learned": "mvsim.recording.feature_test",
    "simulate": "mvsim.simulation.entry",
    "estimate": "mvsim.simulation.entry",
    "Estimate": "mvsim.simulation.estimate",
    "verify": "mvsim.verification.question",
    "Verdict": "mvsim.verification.verdict",
    "Run": "mvsim.run",
    "open_run": "mvsim.run",
    "plot": "mvsim.plotting.plot",
    "progress_on": "mvsim.cli.progress",
    "run_sweep": "mvsim.sweep.sweep",
    "open_runs": "mvsim.run_files",
    "RunFiles": "mvsim.run_files",
    "Runs": "mvsim.sweep.runs",
    "MvsimError": "mvsim.errors",
    "UsageError": "mvsim.errors",
    "DivergedError": "mvsim.errors",
    "Interrupted": "mvsim.errors",
    "StalledError": "mvsim.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mvsim' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
