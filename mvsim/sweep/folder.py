"""The folder of a sweep: its study, the file of each run, and why runs failed. There is no other record of what has been done."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mvsim.archive import ensure_writable, read_provenance
from mvsim.archive.atomic import write_atomically
from mvsim.echo import path_text, shortened
from mvsim.errors import UsageError
from mvsim.simulation.identity import what_differs
from mvsim.sweep.cell import Cell
from mvsim.sweep.study import Study
from mvsim.version import __version__

STUDY_FILE = "sweep.json"
"""Holds the study, beside its runs."""

UNDECIDED = frozenset({"DivergedError", "NotFiniteError", "StalledError"})
"""Kinds of failure that are an outcome of the run, not a fault."""

State = Literal["missing", "unfinished", "done", "failed"]


class Standing(NamedTuple):
    """How a cell stands.

    Attributes
    ----------
    state : str
        ``missing`` (nothing is saved), ``unfinished`` (it goes on from what is), ``done`` or ``failed``.
    message : str
        Why it failed.
    undecided : bool
        Whether its run ended without an answer: it stalled, diverged, or is done without having settled.
    """

    state: State
    message: str = ""
    undecided: bool = False


class RunFolder:
    """A folder of run files and of notes on those that failed.

    Parameters
    ----------
    path : path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def path_of(self, cell: Cell) -> Path:
        """Return the run file of a cell."""
        return self.path / cell.file

    def standing(self, cell: Cell) -> Standing:
        """Tell how a cell stands; its file is checked against its checksum."""
        failure = self.failure_of(cell)
        if failure is not None:
            return Standing("failed", str(failure.get("message")), failure.get("kind") in UNDECIDED)
        path = self.path_of(cell)
        if not path.exists():
            return Standing("missing")
        try:
            provenance = read_provenance(path)
        except UsageError as error:
            return Standing("failed", f"{error}; move it away, and the run is made again")
        if provenance["version"] != __version__:
            maker = shortened(provenance["version"])
            return Standing("failed", f"was made by mvsim {maker}, this is {__version__}; move it away, and the run is made again")
        if other := what_differs(provenance, cell.parameters, cell.method, cell.seed, cell.options):
            told = f"{path_text(path)}: holds another run than its name says: other {other}; move it away, and the run is made again"
            return Standing("failed", told)
        if provenance["status"] in ("diverged", "stalled"):  # made by another command
            return Standing("failed", " ".join(str(provenance["summary"]).split()), True)
        if provenance["status"] != "finished":
            return Standing("unfinished")
        return Standing("done", undecided=provenance["settled"] is False)

    def failure_of(self, cell: Cell) -> dict[str, Any] | None:
        """Return what is recorded about the failure of a cell, None if it has not failed."""
        try:
            failure = json.loads(self._failure_file(cell).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return {"message": f"{self._failure_file(cell).name} cannot be read"}
        return failure if isinstance(failure, dict) else {"message": f"{self._failure_file(cell).name} cannot be read"}

    def record_failure(self, cell: Cell, kind: str, message: str) -> None:
        """Keep why a cell failed, beside its run file."""
        failure = {"cell": cell.index, "values": cell.swept, "kind": kind, "message": message}
        write_atomically(self._failure_file(cell), f"{json.dumps(failure, indent=1)}\n".encode())

    def forget_failure(self, cell: Cell) -> None:
        """Remove what was kept of an earlier failure."""
        with suppress(FileNotFoundError):
            self._failure_file(cell).unlink()

    def _failure_file(self, cell: Cell) -> Path:
        return self.path / f"{Path(cell.file).stem}.failed.json"


class SweepFolder(RunFolder):
    """A folder with a study and its runs.

    Parameters
    ----------
    path : path
        The folder; see `planned`, `create` and `open`.
    study : Study
        Its study.
    extend : bool
        Whether the study may take the place of one of some of its cells.
    """

    def __init__(self, path: Path, study: Study, extend: bool = False) -> None:
        super().__init__(path)
        self.study, self.extend = study, extend

    @classmethod
    def planned(cls, path: str | os.PathLike[str], study: Study, extend: bool = False) -> SweepFolder:
        """Return the folder of a study, which need not be there yet. Nothing is written before `establish`.

        Parameters
        ----------
        path : path
            It may hold other runs, but no other study.
        study : Study
            What its runs are.
        extend : bool
            Whether the folder may hold a study of some of these cells, which then has them all.

        Raises
        ------
        UsageError
            If it holds another study.
        """
        folder = cls(Path(path), study, extend)
        folder._is_established()
        return folder

    @classmethod
    def create(cls, path: str | os.PathLike[str], study: Study, extend: bool = False) -> SweepFolder:
        """Return the folder of a study, made if it is not there; see `planned` and `establish`."""
        folder = cls.planned(path, study, extend)
        folder.establish()
        return folder

    def establish(self) -> None:
        """Make the folder and write its study, unless both are there.

        Raises
        ------
        UsageError
            If it holds another study, or cannot be used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"out={path_text(self.path)}: is no folder and none can be created ({error.strerror}); choose another") from None
        if self._is_established():
            return
        place = self.path / STUDY_FILE
        ensure_writable(place, force=True)
        plain = {"mvsim": __version__, "study": self.study.plain(), "cells": self.files}
        write_atomically(place, f"{json.dumps(plain, indent=1)}\n".encode())

    def _is_established(self) -> bool:
        """Whether the folder holds this study; raise `UsageError` if it holds another one that this does not extend."""
        place = self.path / STUDY_FILE
        if not place.exists():
            return False
        saved = _read(place)
        if sorted(saved["cells"]) == sorted(self.files):
            return True
        _refuse_other(place, saved, self.files, self.extend)
        return False

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SweepFolder:
        """Return the folder at a path.

        Raises
        ------
        UsageError
            If there is no study, or it cannot be read.
        """
        if not is_sweep(path):
            what = f"is a directory without {STUDY_FILE}, so no sweep" if Path(path).is_dir() else "is no directory, so no sweep"
            raise UsageError(f"{path_text(path)}: {what}; give a run file, or the folder of `mvsim sweep`")
        place = Path(path) / STUDY_FILE
        saved = _read(place)
        folder = cls(Path(path), Study.from_plain(saved["study"]))
        if sorted(saved["cells"]) != sorted(folder.files):
            maker = shortened(str(saved["mvsim"]))
            raise UsageError(f"{path_text(place)}: does not name the runs of its study: mvsim {maker} made it, or it was edited; sweep again")
        return folder

    @property
    def files(self) -> list[str]:
        """The names of the run files, in the order of the cells."""
        return [cell.file for cell in self.study.cells]


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is the folder of a sweep."""
    return (Path(path) / STUDY_FILE).is_file()


def _read(place: Path) -> dict[str, Any]:
    """Return what a study file says."""
    try:
        saved = json.loads(place.read_text(encoding="utf-8"))
        study = saved["study"]
        parts = study["values"], study["zip"], study["regime"], saved["mvsim"], saved["cells"]
        if tuple(type(part) for part in parts) != (dict, list, str, str, list) or not all(isinstance(cell, str) for cell in saved["cells"]):
            raise TypeError("not of the types that are written")
    except OSError as error:
        raise UsageError(f"{path_text(place)}: cannot be read: {error.strerror}; choose another folder") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path_text(place)}: is not the study of a sweep, or was edited; move it away: runs are found again") from None
    return saved


def _refuse_other(place: Path, saved: dict[str, Any], files: Sequence[str], extend: bool) -> None:
    """Raise `UsageError` if a folder holds a study that the new one does not extend, or may not."""
    lost = len(set(saved["cells"]) - set(files))
    if extend and not lost:
        return
    shared = len(set(saved["cells"]) & set(files))
    what = f"{path_text(place.parent)}: holds another study, of {len(saved['cells'])} cells, {shared} of which are among these {len(files)}"
    raise UsageError(f"{what}; choose another folder" + ("" if lost or extend else ", or add the new cells to it with --extend"))
