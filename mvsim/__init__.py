"""mvsim: exact simulation of feature learning under ERM and Midpoint Mixup, in weight-feature correlation coordinates."""

from __future__ import annotations

import importlib
from typing import Any

from mvsim.version import __version__

# Public name -> module, imported on first use: `mvsim --help` must not wait for numba, scipy or xarray.
_PUBLIC = {
    "Parameters": "mvsim.multi_view.parameters",
    "Deviation": "mvsim.multi_view.parameters",
    "UniformLaw": "mvsim.multi_view.parameters.beta_laws",
    "SymmetricBetaLaw": "mvsim.multi_view.parameters.beta_laws",
    "DiscreteLaw": "mvsim.multi_view.parameters.beta_laws",
    "Dataset": "mvsim.multi_view.data",
    "sample_dataset": "mvsim.multi_view.data",
    "random_features": "mvsim.multi_view.data",
    "embed": "mvsim.multi_view.data",
    "initial_correlations": "mvsim.multi_view.initialisation",
    "smoothed_relu": "mvsim.multi_view.activations.smoothed_relu",
    "smoothed_relu_derivative": "mvsim.multi_view.activations.smoothed_relu",
    "smoothed_relu_second_derivative": "mvsim.multi_view.activations.smoothed_relu",
    "objective": "mvsim.multi_view.objectives",
    "feature_learned": "mvsim.runs.recording.fresh_draws",
    "simulate": "mvsim.runs.simulation.entry",
    "estimate": "mvsim.runs.simulation.entry",
    "Estimate": "mvsim.runs.simulation.estimate",
    "verify": "mvsim.papers.question",
    "Verdict": "mvsim.judging.verdict",
    "Run": "mvsim.runs.run",
    "open_run": "mvsim.runs.run",
    "plot": "mvsim.pictures.plot",
    "progress_on": "mvsim.cli.progress",
    "run_sweep": "mvsim.sweeps.sweep",
    "open_runs": "mvsim.sweeps.runs",
    "Runs": "mvsim.sweeps.runs",
    "MvsimError": "mvsim.base.errors",
    "UsageError": "mvsim.base.errors",
    "DivergedError": "mvsim.base.errors",
    "Interrupted": "mvsim.base.errors",
    "StalledError": "mvsim.base.errors",
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
