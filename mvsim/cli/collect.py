"""``mvsim collect``: the runs of a sweep as a table."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mvsim.base.echo import escaped, path_text
from mvsim.base.errors import UsageError
from mvsim.cli.options import FLAG, Quiet
from mvsim.cli.output import check_place, saving
from mvsim.cli.progress import WorkShown
from mvsim.runs.archive.atomic import write_atomically
from mvsim.sweeps.runs import open_sweep

if TYPE_CHECKING:
    import pandas as pd


def collect(
    folder: Annotated[Path, Parameter(name="DIR", help="Folder of a sweep.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Table: .csv, or .parquet if pyarrow is installed; by default CSV on stdout.")
    ] = None,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write what was measured in a sweep as a table, a row for each cell."""
    write = _csv if out is None else _writer(out)
    if out is not None:
        check_place(out, f"table{out.suffix}", force)
    with WorkShown(quiet) as shown:
        data = write(open_sweep(folder, shown.count).table)
    if out is None:
        sys.stdout.write(data.decode())
        return
    with saving(out):
        write_atomically(out, data)
    print(f"saved in {escaped(str(out))}")


def _writer(out: Path) -> Callable[[pd.DataFrame], bytes]:
    """Return what writes a table in the format that a name asks for."""
    if out.suffix == ".csv":
        return _csv
    if out.suffix != ".parquet":
        raise UsageError(f"out={path_text(out)}: the name of a table must end in .csv or .parquet")
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"out={path_text(out)}: Parquet needs pyarrow, which is not installed; install it with `pip install pyarrow`, or write .csv")
    return _parquet


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()


def _parquet(table: pd.DataFrame) -> bytes:
    """Return the table as Parquet; integers that no machine integer holds become text."""
    large = [name for name in table if table[name].dtype == object and any(isinstance(value, int) for value in table[name])]
    data = io.BytesIO()
    table.assign(**{str(name): table[name].map(lambda value: value if value is None else str(value)) for name in large}).to_parquet(data, index=False)
    return data.getvalue()
