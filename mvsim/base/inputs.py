"""What a user gives, checked: numbers, arrays, and how faults are put into one line."""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mvsim.base.echo import echo, path_text, shortened
from mvsim.base.errors import NotFiniteError, UsageError

TINY = 1e-6
"""Whatever has a lower bound below this has to be positive, and the bound only keeps off the ends of floating point."""

DEEPEST = 16
"""Levels of lists and tables that an option can have; what is deeper is left as it is, and refused by whoever checks it."""


def plain(value: Any, level: int = 0) -> Any:
    """Return a value, also within lists and tables, in types of Python itself: not NumPy's, of an Enum, or subclasses of str, int and float."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        if value.dtype.kind == "f" and not np.ma.is_masked(value):
            return float(value)  # of a long double, item() is one again
        return plain(value.item()) if value.dtype.kind in "biuU" else value
    if isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return value if type(value) is kind else kind.__str__(value) if kind is str else getattr(kind, f"__{kind.__name__}__")(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUO" and not np.ma.is_masked(value):
        return plain(value.tolist(), level)
    if isinstance(value, Mapping):
        return {plain(name): plain(one, level + 1) for name, one in value.items()} if level < DEEPEST else value
    return [plain(one, level + 1) for one in value] if type(value) in (list, tuple, range) and level < DEEPEST else value


def check_kind(name: str, value: Any, kind: Any, allowed: str) -> Any:
    """Return a value of some type, or of one of several."""
    if not isinstance(value, kind):
        raise UsageError(f"{name}={echo(value)}: must be {allowed}")
    return value


def check_path(name: str, value: Any, what: str) -> Path:
    """Return the name of a file or directory as a path."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value) or "\0" in os.fsdecode(value):
        raise UsageError(f"{name}={echo(value)}: must be the name of {what}")
    return Path(os.fsdecode(value))


def check_positive(name: str, value: Any, most: float = 1e100) -> float:
    """Return a number > 0 as a float."""
    return check_between(name, value, 0.0, most)


def check_integer(name: str, value: Any, least: int, why: str = "", most: int = 10**9) -> int:
    """Return an integer from ``least`` to ``most`` as an int."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise UsageError(f"{name}={echo(value)}: must be an integer from {least} to {_power(most)}{' ' if why else ''}{why}")
    return int(value)


def _power(n: int) -> str:
    digits = len(str(n)) - 1
    return f"10^{digits}" if n == 10**digits and digits >= 6 else str(n)


MOST_THREADS = 4096
"""More than this are a slip of the pen; the system would refuse to start them, one by one."""


def check_threads(threads: Any) -> int | None:
    """Return a number of threads, or None for a suitable one."""
    return None if threads is None else check_integer("threads", threads, 1, most=MOST_THREADS)


def check_between(name: str, value: Any, more_than: float, most: float) -> float:
    """Return a number > ``more_than`` and at most ``most`` as a float."""
    allowed = f"a number > {more_than:g}" if most == math.inf else f"a finite number > {more_than:g}, at most {most:g}"
    try:
        number = float(value) if not isinstance(value, (bool, str, bytes, bytearray)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not more_than < number <= most:
        raise UsageError(f"{name}={echo(value)}: must be {allowed}")
    return number


def check_not_negative(name: str, value: Any, most: float = 1e100) -> float:
    """Return a number from 0 to ``most`` as a float, or raise `UsageError`."""
    if not isinstance(value, (bool, np.bool_)) and isinstance(value, (int, float, np.integer, np.floating)) and 0.0 <= value <= most:
        return float(value)
    raise UsageError(f"{name}={echo(value)}: must be a number from 0 to {most:g}")


def real_array(name: str, values: ArrayLike) -> np.ndarray:
    """Return ``values`` as a contiguous float64 array."""
    try:
        if np.ma.is_masked(values):
            raise TypeError("some are masked")
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{array.dtype} numbers")
        with np.errstate(over="raise"):  # long doubles
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, ArithmeticError) as error:
        raise UsageError(f"{name}: must be an array of real numbers ({shortened(' '.join(str(error).split()))})") from None


def correlations_array(name: str, c: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return correlations of shape (k, m, k, V) as a contiguous float64 array."""
    array = real_array(name, c)
    if array.shape != shape:
        raise UsageError(f"{name} has shape {array.shape}: must be (k, m, k, V) = {shape}")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = ", ".join(str(i) for i in np.argwhere(wrong)[0])
        raise NotFiniteError(f"{name}[{place}]={array[wrong][0]}: must be finite, like every correlation; {int(wrong.sum())} of {array.size} are not")
    return array


MOST_FAULTS, LONGEST_FAULTS = 3, 300
"""How many faults a message names, and how many characters they have together unless the first alone has more."""


def joined(faults: list[str]) -> str:
    """Return the first few faults on one line, and how many more there are."""
    parts = faults[:1]
    for fault in faults[1:MOST_FAULTS]:
        if len("; ".join([*parts, fault])) > LONGEST_FAULTS:
            break
        parts.append(fault)
    more = len(faults) - len(parts)
    return "; ".join([*parts, f"and {more} more"] if more else parts)


def describe_invalid(item: Any, path: str) -> str:
    """Turn one error of pydantic into ``path=value: what is allowed``, or only what is wrong if there is no path."""
    if item["type"] == "missing":
        return f"{path}: is required; it is missing in {echo(item.get('input'))}"
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{shortened(path)}={echo(item.get('input'))}: is not known there"
    message = shortened(item["msg"].removeprefix("Value error, "), 200)
    return f"{path}={echo(item.get('input'))}: {_allowed(item) or message[0].lower() + message[1:]}" if path else message


def _allowed(item: Any) -> str | None:
    """Say which bound a value exceeds, as pydantic writes 1e-30 with all its digits, or that it is no table, for which pydantic names a class."""
    if item["type"] in ("model_type", "model_attributes_type", "dataclass_type", "dict_type"):
        return "must be a table of names and values"
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        names = item["ctx"].get("expected_tags", "").replace("'", "")
        return f"{item['ctx']['discriminator']} must be {f'one of {names}' if names else 'given'}".replace("'", "")
    if item["type"] == "too_short":
        return f"must have at least {item['ctx']['min_length']} entries" if item["ctx"]["min_length"] > 1 else "must not be empty"
    for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if name in item.get("ctx", {}):
            bound = item["ctx"][name]
            return f"must be {'> 0, and ' if name == 'ge' and 0 < bound < TINY else ''}{words} {bound:.12g}"
    return None


def make_folder(folder: Path) -> None:
    """Make the folder for runs and answers if it is not there, or raise `UsageError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"folder={path_text(folder)}: cannot be created ({error.strerror}); choose another") from None
