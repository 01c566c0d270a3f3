"""Flags of commands: those that several have, and one for each field of a model, so that a new field appears without a change here."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from cyclopts import Group, Parameter, Token
from pydantic import BaseModel

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.base.options import choices_of


def read_integer(text: str) -> int:
    """Return the integer that is the value of an option; left to itself, cyclopts rounds 1.5 to 2."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{echo(text)} must be an integer of at most 4300 digits") from None


def whole_number(text: str) -> str:
    """Return the digits of a whole number that is written as 1e4 or 2.5e3, other text as it is."""
    if not re.fullmatch(r"\d{1,30}(\.\d{1,30})?[eE]\+?\d{1,3}", text):
        return text
    number = Decimal(text)
    return f"{number:.0f}" if number == number.to_integral_value() else text


def _integer(kind: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    try:
        return read_integer(whole_number(text))
    except ValueError as error:
        several = re.fullmatch(r"(\d{1,9}) ?(?:-|\.\.\.?) ?(\d{1,9})", text)
        form = f"{several[1]}:{int(several[2]) + 1}" if several else text if re.fullmatch(r"[\d:, ]{2,40}", text) else ""
        raise ValueError(f"{error}{f'; for several runs: mvsim sweep with {tokens[0].keyword} {form}' if form else ''}") from None


FLAG = Parameter(negative="", show_default=False)
"""Of an option that is given or not, without a value."""

INTEGER = Parameter(converter=_integer)
"""Of an option with an integer."""

Json = Annotated[bool, FLAG, Parameter(name="--json", help="Print JSON instead of words.")]
Memory = Annotated[
    str | None, Parameter(help="Memory that may be used, as 8G; by default what is free, or what the job is limited to if that is less.")
]
Quiet = Annotated[bool, FLAG, Parameter(help="No progress on stderr.")]

Command = TypeVar("Command", bound=Callable[..., Any])
Flags = Mapping[str, tuple[Any, Any]]
"""Name of a keyword -> its annotation, for cyclopts, and its default."""

METAVARS: dict[Any, str] = {int: "INT", float: "FLOAT"}

READ_AS: dict[Any, tuple[Any, Parameter]] = {bool: (bool, FLAG), int: (int, INTEGER), int | None: (int | None, INTEGER), Any: (str, Parameter())}
"""Type of an option -> what cyclopts reads it as; other types as they are."""


def with_flags(*models: Flags) -> Callable[[Command], Command]:
    """Add flags to a command that takes what is given for them as ``**given``; those that it has itself stay as they are."""

    def add(command: Command) -> Command:
        arguments = inspect.signature(command, eval_str=True).parameters
        own = [argument for argument in arguments.values() if argument.kind is not argument.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for flags in models
            for name, (annotation, default) in flags.items()
            if name not in arguments
        ]
        command.__signature__ = inspect.Signature(sorted([*added, *own], key=lambda argument: argument.kind))  # type: ignore[attr-defined]
        return command

    return add


def text_flags(model: type[BaseModel], title: str) -> Flags:
    """Return a flag for each field, with its own name, whose value is passed on as text: the model converts it.

    The help shows whether it takes a number, one of some words, or JSON.
    """
    group, flags = Parameter(group=Group(title, sort_key=1)), dict[str, tuple[Any, Any]]()
    for name, field in model.model_fields.items():
        choices = choices_of(field)
        metavar = "CHOICE" if choices else METAVARS.get(field.annotation, "JSON")
        flag = Parameter(name=spellings(name), help=field.description, metavar=metavar, choices=choices)
        flags[name] = (Annotated[str | None, flag, group], None)
    return flags


def spellings(name: str) -> list[str]:
    """Return the flags of a name: letters with an index are written with _, options mostly with -."""
    return list(dict.fromkeys([f"--{name}", f"--{name.replace('_', '-')}"]))


def typed_flags(model: type[BaseModel]) -> Flags:
    """Return a flag for each field, named as cyclopts names keywords, whose value is read as the type of the field.

    The help shows the default. Of a field that takes anything, the value is text, which `given_for` reads as JSON.
    """
    flags: dict[str, tuple[Any, Any]] = {}
    for name, field in model.model_fields.items():
        kind, how = READ_AS.get(field.annotation, (field.annotation, Parameter()))
        default = json.dumps(field.default) if isinstance(field.default, dict | list) else field.default
        flags[name] = (Annotated[kind, how, Parameter(help=field.description, choices=choices_of(field))], default)
    return flags


def given_for(model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for fields of a model; text that opens a JSON object or array is read as such.

    Other text stays as it is: the model converts and checks it, so that all messages come from one place.
    """
    values = {name: arguments[name] for name in model.model_fields if name in arguments}
    return {name: read_value(name, whole_number(value)) if isinstance(value, str) else value for name, value in values.items()}


def read_value(name: str, text: str) -> Any:
    """Return text that opens a JSON object or array as what it says, other text as it is."""
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
