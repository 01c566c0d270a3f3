"""Results on disk: one JSON file for each study, with the stamps of what measured it.

``{"measured": [stamp, ...], "note": "...", "results": {...}}``: one stamp for each call whose parts are in the results, the latest last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from lib.paths import RESULTS
from lib.stamps import Stamp, git, present_stamp


def read(path: Path) -> dict[str, Any]:
    """Return what a file has, an empty frame if there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"measured": [], "note": "", "results": {}}


def results_of(name: str, folder: Path = RESULTS) -> Any:
    """Return the results of a study by its name."""
    return read(folder / f"{name}.json")["results"]


def write_text(path: Path, text: str) -> None:
    """Replace a file at once, so that a killed study leaves the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


class ResultsFile:
    """The results of a study that measures now.

    Parameters
    ----------
    name : str
        Of the study.
    folder : Path
        Made if it is not there.
    command : str
        What measures.

    Raises
    ------
    UncommittedCodeError
        If the folder is that of the committed results and the code is not committed.
    """

    def __init__(self, name: str, folder: Path, command: str) -> None:
        self._stamp = present_stamp(command, committed=folder == RESULTS)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._path = folder, folder / f"{name}.json"
        self._earlier: list[Stamp] = []

    def read(self) -> dict[str, Any]:
        """Return what has been measured so far; nothing if there is no file."""
        return read(self._path)["results"]

    @property
    def is_current(self) -> bool:
        """Whether all that has been measured so far is of the present mvsim."""
        return all(git("rev-list", "--count", f"{one['revision']}..HEAD", "--", "mvsim") == "0" for one in read(self._path)["measured"])

    def keep(self, parts: Collection[Any]) -> None:
        """Keep the stamps of earlier results if any of their parts are kept."""
        if parts:
            self._earlier = [stamp for stamp in read(self._path)["measured"] if stamp != self._stamp]

    def write(self, results: dict[str, Any]) -> None:
        """Write results; a study may do that on its way, as often as it likes."""
        note = read(self._path)["note"] if self._earlier else ""
        whole = {"measured": [*self._earlier, self._stamp], "note": note, "results": results}
        write_text(self._path, json.dumps(whole, indent=1) + "\n")

    def measure_parts(self, names: Sequence[str], measure: Callable[[str], Any]) -> dict[str, Any]:
        """Measure the parts with these names, keep each as soon as it is there, and return all results; other parts stay as they are."""
        self.keep([name for name in self.read() if name not in names])
        for number, name in enumerate(names):
            part = measure(name)
            earlier = self.read()  # again, and its stamps: another call may have measured other parts meanwhile
            others = {other: earlier[other] for other in earlier if other not in names[number:]}
            self.keep(others)
            self.write(others | {name: part})
        return self.read()
