"""Whether worker processes can load the script that starts them: each loads it again, as all spawned processes of Python do."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from contextlib import suppress
from pathlib import Path

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError


def check_main(otherwise: str) -> None:
    """Refuse a script that is no file, and one that would start its sweep in each worker again; ``otherwise`` says what else can be done."""
    main = sys.modules["__main__"]
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    if file is None or (spec is not None and spec.name.endswith("__main__")):  # nothing is loaded again
        return
    if spec is None and not os.path.exists(file):
        raise UsageError(f"engine='dask': worker processes cannot load this script, {path_text(file)}; save it as a file, or {otherwise}")
    frame = inspect.currentframe()
    while frame is not None and not (frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    if frame is not None and not _is_below_if(Path(file), frame.f_lineno):
        place = f"{path_text(file)}, line {frame.f_lineno}"
        advice = f'put this below `if __name__ == "__main__":`, or {otherwise}'
        raise UsageError(f"engine='dask': {place}: starts a sweep whenever it is loaded, and each worker process loads it; {advice}")


def _is_below_if(file: Path, line: int) -> bool:
    """Whether a line of a script is run on some condition only, or nobody can say."""
    with suppress(OSError, ValueError, SyntaxError):
        nodes = ast.walk(ast.parse(file.read_bytes()))
        return any(isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or line) for node in nodes)
    return True
