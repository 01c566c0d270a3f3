"""The folder of a sweep: its study, the file of each run, and why runs failed. There is no other record of what has been done."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from mvsim.base.echo import path_text, shortened
from mvsim.base.errors import InUseError, UsageError
from mvsim.base.inputs import check_path
from mvsim.runs.archive import ensure_writable, read_provenance
from mvsim.runs.archive.atomic import write_atomically
from mvsim.runs.archive.record import Record, read_record
from mvsim.runs.archive.writable import lock_run
from mvsim.runs.simulation.identity import what_differs
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.study import Study
from mvsim.sweeps.values import Value
from mvsim.version import __version__

STUDY_FILE = "sweep.json"
"""Holds the study, beside its runs."""

UNDECIDED = frozenset({"DivergedError", "NotFiniteError", "StalledError"})
"""Kinds of failure that are an outcome of the run, not a fault."""

ATTEMPTS, BETWEEN_ATTEMPTS = 100, 0.05
"""How often, and after how many seconds, a study file that another process is writing is tried again."""

_STUDY, _AWAY = "the study of a sweep", "move it away: runs are found again"

State = Literal["missing", "unfinished", "done", "failed"]


class Standing(NamedTuple):
    """How a cell stands."""

    state: State  # ``missing`` (nothing is saved), ``unfinished`` (it goes on from what is), ``done`` or ``failed``
    message: str = ""  # Why it failed
    undecided: bool = False  # Whether its run ended without an answer: it stalled, diverged, or is done without having settled
    blocked: bool = False  # Whether its run cannot be made before a file is moved away: one that is damaged, or holds something else
    integrator: str = ""  # What has stepped its run so far


class Failure(Record):
    """What is kept of the failure of a cell."""

    cell: int
    values: dict[str, Value]
    kind: str
    message: str


class PlainStudy(Record):
    """What `Study.plain` returns."""

    values: dict[str, list[Value]]
    zip: list[list[str]]
    regime: str


class Saved(Record):
    """What a study file holds."""

    mvsim: str
    study: PlainStudy
    cells: list[str]
    until: float | None = Field(None, gt=0.0, allow_inf_nan=False)


class RunFolder:
    """A folder of run files and of notes on those that failed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def path_of(self, cell: Cell) -> Path:
        """Return the run file of a cell."""
        return self.path / cell.file

    def standing(self, cell: Cell) -> Standing:
        """Tell how a cell stands; its file is checked against its checksum."""
        path, failure = self.path_of(cell), self.failure_of(cell)
        result = self._standing_of_file(cell, path) if path.exists() else Standing("missing")
        if failure is not None and result.state != "done":  # another command may have finished it since
            return Standing("failed", failure.message, failure.kind in UNDECIDED)
        return result

    def _standing_of_file(self, cell: Cell, path: Path) -> Standing:
        try:
            provenance = read_provenance(path)
        except UsageError as error:
            return Standing("failed", f"{error}; move it away, and the run is made again", blocked=True)
        if provenance["version"] != __version__:
            maker = shortened(provenance["version"])
            return Standing("failed", f"was made by mvsim {maker}, this is {__version__}; move it away, and the run is made again", blocked=True)
        if other := what_differs(provenance, cell.parameters, cell.method, cell.seed, cell.options):
            fault = f"{path_text(path)}: holds another run than its name says: other {other}; move it away, and the run is made again"
            return Standing("failed", fault, blocked=True)
        if provenance["status"] in ("diverged", "stalled"):  # made by another command
            return Standing("failed", " ".join(str(provenance["summary"]).split()), True)
        if provenance["status"] != "finished":
            return Standing("unfinished", integrator=provenance["integrator"]["name"])
        return Standing("done", undecided=provenance["settled"] is False, integrator=provenance["integrator"]["name"])

    def failure_of(self, cell: Cell) -> Failure | None:
        """Return what is recorded about the failure of a cell, None if it has not failed."""
        place = self._failure_file(cell)
        try:
            return read_record(place, Failure, "the note of a failed run", "move it away, and the run is made again")
        except UsageError as error:
            return Failure(cell=cell.index, values=cell.swept, kind="", message=str(error)) if place.exists() else None

    def record_failure(self, cell: Cell, kind: str, message: str) -> None:
        """Keep why a cell failed, beside its run file."""
        failure = Failure(cell=cell.index, values=cell.swept, kind=kind, message=message)
        write_atomically(self._failure_file(cell), _bytes(failure))

    def forget_failure(self, cell: Cell) -> None:
        """Remove what was kept of an earlier failure."""
        with suppress(FileNotFoundError):
            self._failure_file(cell).unlink()

    def _failure_file(self, cell: Cell) -> Path:
        return self.path / f"{Path(cell.file).stem}.failed.json"


class SweepFolder(RunFolder):
    """A folder with a study and its runs."""

    def __init__(self, path: Path, study: Study, extend: bool = False, until: float | None = None) -> None:
        super().__init__(path)
        self.study, self.extend, self.until = study, extend, until

    @classmethod
    def planned(cls, path: str | os.PathLike[str], study: Study, extend: bool = False) -> SweepFolder:
        """Return the folder of a study, which need not be there yet. Nothing is written before `establish`."""
        folder = cls(check_path("out", path, "a folder"), study, extend)
        if folder.path.exists() and not folder.path.is_dir():
            raise UsageError(f"out={path_text(folder.path)}: is a file, where the folder of the runs would be; give another, as --out DIR")
        folder._is_established()
        place = folder.path / STUDY_FILE
        folder.until = _read(place).until if place.exists() else None
        return folder

    @classmethod
    def create(cls, path: str | os.PathLike[str], study: Study, extend: bool = False) -> SweepFolder:
        """Return the folder of a study, made if it is not there; see `planned` and `establish`."""
        folder = cls.planned(path, study, extend)
        folder.establish()
        return folder

    def establish(self, until: float | None = None) -> None:
        """Make the folder and write its study, unless both are there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"out={path_text(self.path)}: is no folder and none can be created ({error.strerror}); choose another") from None
        place, goes_on = self.path / STUDY_FILE, until is not None and until > (self.until or 0.0)
        if self._is_established() and not goes_on:
            return
        with _alone(place):  # of two studies that begin at once, the second one finds the first
            self._is_established()
            known = _read(place) if place.exists() else None
            ends = (None if known is None else known.until, self.until, until)
            self.until = max((end for end in ends if end is not None), default=None)
            ensure_writable(place, force=True)
            own = Saved(mvsim=__version__, study=PlainStudy(**self.study.plain()), cells=self.study.files)
            saved = own if known is None or not self._is_part_of(known) else known
            write_atomically(place, _bytes(saved.model_copy(update={"until": self.until})))

    def _is_part_of(self, saved: Saved) -> bool:
        return set(self.study.files) < set(saved.cells)

    def _is_established(self) -> bool:
        """Whether the folder holds this study; raise `UsageError` if it holds another one that this does not extend.

        Of a study file whose cells are not those of its study one of the two is taken, if it is as it should be: the file is written anew.
        """
        place = self.path / STUDY_FILE
        if not place.exists():
            return False
        saved = _read(place)
        same_cells = sorted(saved.cells) == sorted(self.study.files)
        if saved.study.model_dump() == self.study.plain():
            return same_cells
        if self.extend and self._is_part_of(saved):
            return True
        if not same_cells:
            _refuse_other(place, saved.cells, self.study.files, self.extend)
            return False
        with suppress(UsageError):
            return sorted(_study_of(place, saved).files) == sorted(self.study.files)
        return False

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SweepFolder:
        """Return the folder at a path."""
        if not is_sweep(check_path("path", path, "the folder of a sweep")):
            reason = f"is a directory without {STUDY_FILE}, so no sweep" if os.path.isdir(path) else "is a file, and a sweep is a folder"
            what = reason if os.path.exists(path) else "there is no such folder"
            raise UsageError(f"{path_text(path)}: {what}; give the folder that `mvsim sweep` has made")
        place = Path(path) / STUDY_FILE
        saved = _read(place)
        folder = cls(Path(path), _study_of(place, saved), until=saved.until)
        if sorted(saved.cells) != sorted(folder.study.files):
            maker = shortened(saved.mvsim)
            raise UsageError(f"{path_text(place)}: does not name the runs of its study: mvsim {maker} made it, or it was edited; sweep again")
        return folder


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the study file for this process; wait a while for another one that writes it."""
    for attempts_left in reversed(range(ATTEMPTS)):
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_run(place))
            except InUseError:
                if not attempts_left:
                    raise
                time.sleep(BETWEEN_ATTEMPTS)
                continue
            yield
            return


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is the folder of a sweep."""
    return (Path(path) / STUDY_FILE).is_file()


def _read(place: Path) -> Saved:
    return read_record(place, Saved, _STUDY, _AWAY)


def _study_of(place: Path, saved: Saved) -> Study:
    try:
        return Study.from_plain(saved.study.model_dump())
    except UsageError as error:
        raise UsageError(f"{path_text(place)}: is not {_STUDY}, or was edited ({error}); {_AWAY}") from None


def _bytes(record: Record) -> bytes:
    return f"{json.dumps(record.model_dump(), indent=1)}\n".encode()


def _refuse_other(place: Path, saved: Sequence[str], files: Sequence[str], extend: bool) -> None:
    """Raise `UsageError` if a folder holds a study that the new one does not extend, or may not."""
    lost = len(set(saved) - set(files))
    if extend and not lost:
        return
    shared = len(set(saved) & set(files))
    what = f"{path_text(place.parent)}: holds another study, of {len(saved)} cells, {shared} of which are among these {len(files)}"
    other = "add the new cells to it" if not lost else "make these of them" if shared == len(files) else ""
    raise UsageError(f"{what}; choose another folder" + (f", or {other} with --extend" if other else ""))
