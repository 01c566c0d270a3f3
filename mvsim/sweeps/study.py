"""What a study asks for: values for names, crossed with each other or taken side by side, and the cells that this makes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from mvsim.base.echo import echo, shortened, suggestion
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_kind, plain
from mvsim.base.options import check_choice
from mvsim.sweeps.cell import NAMES, Cell, cell_of, meaningless
from mvsim.sweeps.regime import REGIMES
from mvsim.sweeps.values import Value, canonical_text, read_values, refuse_repeated

MOST_CELLS = 100_000
"""More cells than this are a slip of the pen."""


@dataclass(frozen=True)
class Axis:
    """Names that change together, with their values side by side: usually one name."""

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]

    @property
    def label(self) -> str:
        """Name of the dimension: the first of the names."""
        return self.names[0]


@dataclass(frozen=True)
class Study:
    """What is asked for."""

    values: dict[str, tuple[Value, ...]]  # Values for each name of `mvsim.sweeps.cell.NAMES` that is given, in that order
    zips: tuple[tuple[str, ...], ...] = ()  # Names whose values are taken side by side; all others are crossed
    regime: str = REGIMES[0]  # "scaled", or "literal" for d = k^20

    @classmethod
    def of(cls, raw: Mapping[str, Any], zips: Sequence[Sequence[str]] = (), regime: str = REGIMES[0]) -> Study:
        """Return the study that plain values describe."""
        check_kind("values", raw, Mapping, "a mapping from names to values")
        for name in raw:
            if name not in NAMES:
                check_kind("values", name, str, "a mapping whose keys are names")
                raise UsageError(f"{shortened(name)}: is nothing that can be swept{suggestion(name, NAMES)}; there are {', '.join(NAMES)}")
        if not _are_groups(zips):
            raise UsageError(f"zips={echo(zips)}: must be a list of lists of names")
        groups = tuple(tuple(group) for group in zips)
        beside = {name for group in groups for name in group}
        values = {name: read_values(name, raw[name], repeated=name in beside) for name in NAMES if name in raw}
        regime = check_choice("regime", plain(regime), REGIMES)
        _check_zips(groups, values)
        study = cls(values, groups, regime)
        count = math.prod(len(axis.values) for axis in study.axes)
        if count > MOST_CELLS:
            raise UsageError(f"{count} cells: at most {MOST_CELLS} are allowed; give fewer values, or several studies")
        study.cells  # noqa: B018 - says at once what is wrong with any of them
        return study

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Study:
        """Return the study that `plain` describes."""
        return cls.of({name: list(values) for name, values in plain["values"].items()}, plain["zip"], plain["regime"])

    def plain(self) -> dict[str, Any]:
        """Return the study in JSON types."""
        values = {name: list(some) for name, some in self.values.items()}
        return {"values": values, "zip": [list(group) for group in self.zips], "regime": self.regime}

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """What is swept, in the order in which cells are counted: the last axis changes first."""
        zipped = {name: group for group in self.zips for name in group}
        axes: dict[tuple[str, ...], Axis] = {}
        for name, values in self.values.items():
            names = tuple(one for one in self.values if one in zipped[name]) if name in zipped else (name,)
            if len(values) > 1:
                axes.setdefault(names, Axis(names, tuple(zip(*(self.values[one] for one in names), strict=True))))
        return tuple(axes.values())

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The runs, each once."""
        return tuple(self._grid[1].values())

    @property
    def files(self) -> list[str]:
        """The names of the run files, in the order of the cells."""
        return [cell.file for cell in self.cells]

    def places(self) -> Iterator[tuple[dict[str, Value], Cell]]:
        """Yield all combinations of values, each with its run; where a value means nothing for a run, several have the same."""
        assigned, cells = self._grid
        for values, key in assigned:
            yield values, cells[key]

    @cached_property
    def _grid(self) -> tuple[list[tuple[dict[str, Value], str]], dict[str, Cell]]:
        fixed = {name: values[0] for name, values in self.values.items() if len(values) == 1}
        assigned: list[tuple[dict[str, Value], str]] = []
        cells: dict[str, Cell] = {}
        files: dict[str, Cell] = {}
        used: set[str] = set()
        for combination in product(*(axis.values for axis in self.axes)):
            swept = {name: value for axis, values in zip(self.axes, combination, strict=True) for name, value in zip(axis.names, values, strict=True)}
            idle = meaningless(fixed | swept)
            means = {name: value for name, value in (fixed | swept).items() if name not in idle}
            used |= means.keys()
            key = canonical_text(means)
            if key not in cells:
                cell = cell_of(len(cells), means, {name: value for name, value in swept.items() if name in means}, self.regime)
                other = files.setdefault(cell.file, cell)
                if other is not cell:
                    raise UsageError(f"cells {other.index} ({other.label}) and {cell.index} ({cell.label}) are the same run; give each run once")
                cells[key] = cell
            assigned.append((swept, key))
        unused = [name for name in self.values if name not in used]
        if unused:
            raise UsageError(f"{unused[0]}={echo(self.values[unused[0]][0])}: belongs to another method or integrator than any cell has")
        return assigned, cells


def _are_groups(zips: Any) -> bool:
    return isinstance(zips, list | tuple) and all(isinstance(group, list | tuple) and all(isinstance(one, str) for one in group) for group in zips)


def _check_zips(groups: Sequence[Sequence[str]], values: Mapping[str, tuple[Value, ...]]) -> None:
    seen: set[str] = set()
    for group in groups:
        text = ",".join(map(str, group))
        if len(group) < 2:
            raise UsageError(f"zip={echo(text)}: names values to take side by side; give at least two names")
        for name in group:
            if name not in values:
                raise UsageError(f"zip={echo(text)}: {shortened(str(name))} has no values; give them, or leave it out")
            if name in seen:
                raise UsageError(f"zip={echo(text)}: {name} is named twice; name it once")
            seen.add(name)
        lengths = {name: len(values[name]) for name in group}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise UsageError(f"zip={echo(text)}: values side by side must be equally many; {counts}")
        refuse_repeated(text, list(zip(*(values[name] for name in group), strict=True)))
