"""Read options from a TOML file; what is given on the command line takes precedence."""

from __future__ import annotations

import codecs
import json
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts.config import Dict

from mvsim.base.echo import echo, path_text, shortened, suggestion
from mvsim.base.errors import UsageError

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import ArgumentCollection

_LONG_INTEGER = re.compile(r"^.*(?<![\w.\"'])[1-9][\d_]{4300,}(?![\w.]).*$", re.MULTILINE)
"""The line of an integer of more digits than Python reads."""


def apply_config(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in options that were not given from the file named by ``--config``; a cyclopts configuration source."""
    option = next((argument for argument in arguments if argument.name == "--config"), None)
    if option is None or not option.tokens:
        return
    path = option.tokens[-1].value
    values = read_toml(path, "config")
    allowed = [name.removeprefix("--") for argument in arguments if argument is not option for name in argument.names[:1]]
    for key in values:
        if key.replace("_", "-") not in {name.replace("_", "-") for name in allowed}:
            raise UsageError(
                f"{path_text(path)}: {shortened(key)} is not an option{suggestion(key, allowed)}; mvsim {commands[-1]} --help lists them"
            )
    Dict({key: _text(path, key, value) for key, value in values.items()}, source=path, use_commands_as_keys=False)(app, commands, arguments)


def refuse_empty_names(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Raise `UsageError` if a file or folder has no name: a path would take that for the present folder; a cyclopts configuration source."""
    for argument in arguments:
        if argument.hint in (Path, Path | None, tuple[Path, ...]) and any(token.value == "" for token in argument.tokens):
            raise UsageError(f"{argument.name.removeprefix('--')}='': must be the name of a file or folder")


def read_toml(path: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """Return what a TOML file says; ``name`` is what the file is called in messages."""
    if os.path.exists(path) and not os.path.isfile(path):  # a device may be without end, and a pipe without a beginning
        raise UsageError(f"{name}={path_text(path)}: is not a file; give the name of a readable TOML file")
    text = ""
    try:
        text = _decoded(Path(path).read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
        values = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{name}={path_text(path)}: {error.strerror}; give the name of a readable TOML file") from None
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{error.object[error.start]:02x} at position {error.start} is no text in {error.encoding.upper()}"
        raise UsageError(f"{name}={path_text(path)}: {wrong}; save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:  # of TOML, of an integer too long to read
        long = None if isinstance(error, tomllib.TOMLDecodeError) else _LONG_INTEGER.search(text)
        if long is not None:
            line = text.count("\n", 0, long.start()) + 1
            raise UsageError(f"{path_text(path)}: line {line}, {shortened(long[0])}: has too many digits; at most 4300 are allowed") from None
        reason = shortened(" ".join(str(error).split()))
        advice = "save the file as UTF-8" if "\0" in text else "correct the file"
        raise UsageError(f"{name}={path_text(path)}: not a TOML file that can be read ({reason}); {advice}") from None
    spellings: dict[str, str] = {}
    for key in values:
        other = spellings.setdefault(key.replace("-", "_"), key)
        if other != key:
            raise UsageError(f"{name}={path_text(path)}: {shortened(other)} and {shortened(key)} are two spellings of one key; keep one of them")
    return values


def _decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a mark of its byte order; the mark is no part of the text."""
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return content.decode(encoding)


def _text(path: str, key: str, value: Any) -> Any:
    """Write tables and arrays as JSON, the form that they have on the command line, and numbers as their digits."""
    try:
        return json.dumps(value, default=str) if isinstance(value, dict | list) else value if isinstance(value, bool) else str(value)
    except ValueError:  # hexadecimal digits are read without a limit
        raise UsageError(f"{path_text(path)}: {key}={echo(value)}: has too many digits; at most 4300 are allowed") from None
