"""Small files in JSON, which people may edit: read whole, checked field by field, and refused by the name of the field that is wrong."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import IO, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mvsim.base.echo import path_text, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import describe_invalid, joined


def open_ordinary(path: str | os.PathLike[str], advice: str, option: str = "") -> IO[bytes]:
    """Open an ordinary file for reading: a pipe would be waited for, and a device may be without end."""
    name = f"{option}={path_text(path)}" if option else path_text(path)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{name}: is a directory; {advice}")
        if not stat.S_ISREG(mode):
            raise UsageError(f"{name}: not an ordinary file; {advice}")
        return Path(path).open("rb")
    except UsageError:
        raise
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file; {advice}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: cannot be opened: {getattr(error, 'strerror', None) or shortened(str(error))}; {advice}") from None


class Record(BaseModel):
    """What such a file holds: fields of the types that are written, all of them, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Read = TypeVar("Read", bound=Record)


def read_record(path: str | os.PathLike[str], kind: type[Read], what: str, advice: str, option: str = "") -> Read:
    """Return what a file holds."""
    with open_ordinary(path, advice, option) as file:
        text = file.read()
    try:
        return kind.model_validate(json.loads(text))
    except ValidationError as error:
        fault = joined([describe_invalid(item, ".".join(str(part) for part in item["loc"]) or "all of it") for item in error.errors()])
    except (ValueError, RecursionError) as error:
        fault = f"not JSON: {shortened(' '.join(str(error).split()))}"
    name = f"{option}={path_text(path)}" if option else path_text(path)
    raise UsageError(f"{name}: is not {what}, or was edited ({fault}); {advice}")
