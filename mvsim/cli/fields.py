"""Give a command one flag per field of `mvsim.Parameters`, so that a new field appears without a change here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

from cyclopts import Group, Parameter
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mvsim.echo import echo, shortened
from mvsim.errors import UsageError


def with_fields(model: type[BaseModel], title: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the ``**fields`` of a command by one keyword per field of ``model`` that it does not have itself, passed on as text if given.

    Parameters
    ----------
    model : type of BaseModel
        Its fields become flags with their own names; their descriptions become the help.
    title : str
        Heading of these flags in the help.

    Returns
    -------
    callable
        A decorator for a function whose last argument is ``**fields``.
    """
    group = Parameter(group=Group(title, sort_key=1))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
        flags = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, flag, group])
            for name, flag in ((name, _flag(name, field)) for name, field in model.model_fields.items() if name not in {p.name for p in own})
        ]
        function.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
        return function

    return decorate


def _flag(name: str, field: FieldInfo) -> Parameter:
    """Describe the flag of a field; the help shows whether it takes a number, one of some words, or JSON."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else None
    metavar = "CHOICE" if choices else "INT" if field.annotation is int else "FLOAT" if field.annotation is float else "JSON"
    return Parameter(name=f"--{name}", help=field.description, metavar=metavar, choices=choices)


def read_integer(text: str) -> int:
    """Return the integer that is the value of an option; left to itself, cyclopts rounds 1.5 to 2."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{echo(text)} is not an integer, or one of more than 4300 digits") from None


def given_fields(fields: dict[str, str | None]) -> dict[str, Any]:
    """Return the fields that were given; text that opens a JSON object or array is read as such.

    Everything else stays text: the model converts and checks it, so that all messages come from one place.

    Raises
    ------
    UsageError
        If JSON is malformed.
    """
    return {name: read_value(name, text) for name, text in fields.items() if text is not None}


def read_value(name: str, text: str) -> Any:
    """Return text that opens a JSON object or array as what it says, other text as it is.

    Raises
    ------
    UsageError
        If JSON is malformed.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}={shortened(text)}: not valid JSON ({error.msg} at character {error.pos + 1})") from None
    except ValueError:
        raise UsageError(f"{name}={shortened(text)}: a number has more digits than Python reads; give one of at most 4300") from None
    except RecursionError:
        raise UsageError(f"{name}={shortened(text)}: too deeply nested; give a law as --help shows it") from None
