"""What a case did that nothing may do."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

import mvsim

PACKAGE = Path(mvsim.__file__).parent


@dataclass(frozen=True)
class Breach:
    """A property that was broken; ``where`` tells causes apart, ``detail`` is for whoever looks for this one."""

    broken: str
    where: str
    detail: str = ""

    @property
    def cause(self) -> tuple[str, str]:
        """What breaches of the same cause share."""
        return self.broken, self.where


def raised(broken: str, error: BaseException) -> Breach:
    """Return the breach of an exception that should not have come out, found at the innermost line of mvsim."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(PACKAGE)]
    last = frames[-1] if frames else None
    place = f"{Path(last.filename).relative_to(PACKAGE)}:{last.name}" if last else "outside mvsim"
    return Breach(broken, f"{type(error).__name__} in {place}", short(f"{type(error).__name__}: {error}"))


def short(text: str, most: int = 300) -> str:
    plain = text if text.isprintable() else ascii(text)
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
