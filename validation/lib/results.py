"""Results on disk, each with its stamp."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.stamps import Stamp, digest_of_file, present_sources, present_stamp, stamps_in, write_stamp, write_text
from lib.study import Study


class ResultsFile:
    """The results of a study: one JSON file in a folder, and its stamp.

    Parameters
    ----------
    study : Study
        Whose results they are.
    folder : Path
        Made if it is not there.
    command : str
        What measures.
    """

    def __init__(self, study: Study, folder: Path, command: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._name = folder, study.name
        self._path = folder / f"{study.name}.json"
        self._stamp = present_stamp(study, command)

    def read(self) -> dict[str, Any]:
        """Return what has been measured so far; nothing if there is no file."""
        return json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}

    @property
    def is_current(self) -> bool:
        """Whether what has been measured so far was measured with the present code."""
        return stamps_in(self.folder).get(self._name, {}).get("sources") == self._stamp["sources"]

    def keep(self, parts: Collection[Any]) -> None:
        """Say which parts of earlier results are kept: with any at all, the results are as old as those are, and the stamp says so."""
        if parts:
            self._stamp |= _oldest(stamps_in(self.folder).get(self._name), self._stamp)

    def write(self, results: dict[str, Any]) -> None:
        """Keep results and stamp; a study may do that on its way, as often as it likes."""
        write_text(self._path, json.dumps(results, indent=1) + "\n")
        write_stamp(self.folder, self._name, self._stamp | {"digest": digest_of_file(self._path)})

    def measure_parts(self, names: Sequence[str], measure: Callable[[str], Any]) -> dict[str, Any]:
        """Measure the parts with these names, keep each as soon as it is there, and return all results; other parts stay as they are."""
        self.keep([name for name in self.read() if name not in names])
        for number, name in enumerate(names):
            part = measure(name)
            earlier = self.read()  # again: another call may have measured other parts meanwhile
            self.write({other: earlier[other] for other in earlier if other not in names[number:]} | {name: part})
        return self.read()

    def measure_rows(
        self, values: Mapping[str, Sequence[Any]], measure: Callable[[str, Any], dict[str, Any]], facts: Callable[[str], dict[str, Any]]
    ) -> dict[str, Any]:
        """Measure parts that are tables with a row for each value; keep each row as soon as it is there, and return all results.

        What was stopped goes on: a row that the present code has measured with the same facts is not measured again. Rows of other values stay if
        their facts are the same, and other parts stay.

        Parameters
        ----------
        values : mapping
            Of each part, the values to look at: names, or numbers.
        measure : callable
            ``measure(part, value)`` returns a row, without the value itself.
        facts : callable
            ``facts(part)`` returns what else is kept of a part, and holds for all of its rows.
        """
        tables = {name: facts(name) for name in values}
        rows = {name: self._rows_that_stay(name, asked, tables[name]) for name, asked in values.items()}
        self.keep([*(name for name in self.read() if name not in values), *(row for table in rows.values() for row in table)])
        for name, asked in values.items():
            for value in asked:
                if value not in [row["value"] for row in rows[name]]:
                    rows[name] = _in_order([*rows[name], {"value": value, **measure(name, value)}], asked)
                    others = {other: part for other, part in self.read().items() if other not in values}  # another call may have measured them
                    self.write(others | {part: tables[part] | {"rows": rows[part]} for part in values if rows[part]})
        return self.read()

    def _rows_that_stay(self, name: str, asked: Sequence[Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a table that stay: those with the same facts, of the present code or of values that are not asked for."""
        table = self.read().get(name, {"rows": []})
        rows = table["rows"] if {key: value for key, value in table.items() if key != "rows"} == facts else []
        return [row for row in rows if self.is_current or row["value"] not in asked]


def _in_order(rows: list[dict[str, Any]], asked: Sequence[Any]) -> list[dict[str, Any]]:
    """Return rows in the order of the values that are asked for; numbers in their own order where there are others, too."""
    order = list(asked) if all(row["value"] in asked for row in rows) else sorted(row["value"] for row in rows)
    return sorted(rows, key=lambda row: order.index(row["value"]))


def _oldest(before: Stamp | None, now: Stamp) -> Stamp:
    """Return what a stamp says of the code where results go on from earlier ones."""
    if before is None:
        return {"revision": "unknown", "sources": None}
    if before["sources"] == now["sources"]:
        return {name: before[name] for name in ("note", "carried") if name in before}
    return {name: before[name] for name in ("revision", "date", "machine", "sources", "note", "older", "carried") if name in before}


def standing(study: Study, folder: Path) -> str:
    """Say in words how the results of a study stand: "current", "older than the code: ...", or what is wrong with them."""
    path, stamp = folder / f"{study.name}.json", stamps_in(folder).get(study.name)
    if not path.exists():
        return "no results"
    if stamp is None or stamp["digest"] != digest_of_file(path):
        return "not stamped: other results than those that the stamp is of"
    older = stamp["sources"] != present_sources(study)
    if older and not stamp["older"]:
        return "outdated: the code has changed since, and the stamp does not say so"
    if stamp["older"] and not older:
        return "mislabelled: the stamp says that the code has changed since, and it has not"
    return f"older than the code: {stamp['older']}" if older else "current"
