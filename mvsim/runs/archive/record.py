"""Small files in JSON, which people may edit: read whole, checked field by field, and refused by the name of the field that is wrong."""

from __future__ import annotations

import json
import os
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mvsim.base.echo import path_text, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import describe_invalid, joined
from mvsim.runs.archive.ordinary_file import open_ordinary


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
