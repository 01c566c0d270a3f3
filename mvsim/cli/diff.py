"""``mvsim diff``: in what two runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.cli.options import Json
from mvsim.cli.words import print_wrapped
from mvsim.run import open_run
from mvsim.run_difference import Difference, differences

SAME, DIFFERENT = 0, 1


def diff(
    first: Annotated[Path, Parameter(name="FIRST", help="Run file.")],
    second: Annotated[Path, Parameter(name="SECOND", help="Run file.")],
    /,
    *,
    json_: Json = False,
) -> int:
    """Say in what two runs differ: in what was asked for, in what made them, and in what came out."""
    runs = open_run(first), open_run(second)
    found = differences(*runs)
    if json_:
        print(json.dumps([one._asdict() for one in found], default=str))
    elif not found:
        print("The runs do not differ, bit for bit.")
    else:
        print_wrapped(name + ": " + run.summary.partition("\n")[0] for name, run in zip(("first", "second"), runs, strict=True))
        _print_table(found)
    return DIFFERENT if any(one.matters for one in found) else SAME


def _print_table(found: list[Difference]) -> None:
    """Print the differences, a heading for each kind."""
    rows = [one for one in found if not one.of_shapes]
    width = max((len(one.name) for one in rows), default=0)
    for kind in dict.fromkeys(one.kind for one in found):
        print(f"{kind}:")
        print_wrapped(f"  {one.name:<{width}}  {one.first}  ->  {one.second}" for one in rows if one.kind == kind)
        if names := [one.name for one in found if one.kind == kind and one.of_shapes]:
            print_wrapped([f"  of other shapes: {', '.join(names)}"])
    if not any(one.matters for one in found):
        print("What was asked for and what came out are the same, bit for bit.")
