"""What is asked of one run, checked before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_kind
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters, check_parameters
from mvsim.runs.simulation.options import RunOptions
from mvsim.runs.simulation.progress import Progress


@dataclass(frozen=True, eq=False)
class Request:
    """One call of `mvsim.simulate`, which says what its arguments are."""

    parameters: Parameters
    options: RunOptions
    data: Dataset | None
    progress: Progress

    def __post_init__(self) -> None:
        check_parameters(self.parameters)
        _check_data(self.parameters, self.data)
        if not all(callable(getattr(self.progress, name, None)) for name in ("start", "update", "finish")):
            raise UsageError(f"progress={echo(self.progress)}: must have start, update and finish, as mvsim.runs.simulation.progress.Progress says")


def _check_data(parameters: Parameters, data: Dataset | None) -> None:
    """Raise `UsageError` if data are given that are not what the parameters say."""
    check_kind("data", data, Dataset | None, "a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    for name in ("k", "V", "N", "P") if data is not None else ():
        if getattr(data, name) != getattr(parameters, name):
            raise UsageError(f"{name}={getattr(parameters, name)}: the data have {name} = {getattr(data, name)}; they must agree")
