"""Options that describe themselves: what an option means stands in its annotation, and signature, documentation and command line read it there.

An example is ``nodes: Annotated[int, pydantic.Field(description="quadrature nodes")] = 16`` among the arguments of a constructor.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError

MARKER = "{options}"
"""The line of a docstring that `document` replaces."""

Documented = TypeVar("Documented", bound=Callable[..., Any])


@dataclass(frozen=True)
class OneOf:
    """In the annotation of a field: its value is one of these names, usually the keys of a registry."""

    names: Collection[str]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(lambda value, info: check_choice(str(info.field_name), value, self.names))


def check_choice(name: str, value: Any, names: Collection[str]) -> str:
    """Return a value that is one of some names."""
    if not isinstance(value, str) or value not in names:
        raise UsageError(f"{name}={echo(value)}: must be one of {', '.join(names)}")
    return value


def choices_of(field: FieldInfo) -> tuple[str, ...] | None:
    """Return the words that a field takes, None if it takes other values."""
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    return next((tuple(item.names) for item in field.metadata if isinstance(item, OneOf)), None)


def fields_of(function: Callable[..., Any]) -> dict[str, FieldInfo]:
    """Return the arguments of a function whose annotations describe them: type, default and description."""
    return dict(_fields_of(function))


@functools.cache  # evaluating annotations takes most of the time in which options are checked, and sweeps check thousands
def _fields_of(function: Callable[..., Any]) -> tuple[tuple[str, FieldInfo], ...]:
    annotated = [
        argument for argument in inspect.signature(function, eval_str=True).parameters.values() if get_origin(argument.annotation) is Annotated
    ]
    fields = {argument.name: FieldInfo.from_annotated_attribute(argument.annotation, argument.default) for argument in annotated}
    return tuple((name, field) for name, field in fields.items() if field.description is not None)


def document(fields: Mapping[str, FieldInfo]) -> Callable[[Documented], Documented]:
    """Replace the line ``{options}`` in the docstring of what is decorated by an entry for each field, as numpydoc has them."""

    def fill(documented: Documented) -> Documented:
        if documented.__doc__:  # Python can be told to drop docstrings
            lines = inspect.cleandoc(documented.__doc__).splitlines()
            place = lines.index(MARKER)
            documented.__doc__ = "\n".join([*lines[:place], *_entries(fields), *lines[place + 1 :]])
        return documented

    return fill


def _entries(fields: Mapping[str, FieldInfo]) -> Iterator[str]:
    for name, field in fields.items():
        yield f"{name} : {_kind(field)}, {'optional' if field.default is None else f'default {field.default!r}'}"
        yield textwrap.fill(field.description or "", 140, initial_indent="    ", subsequent_indent="    ")


def _kind(field: FieldInfo) -> str:
    """Return the words of numpydoc for what a field takes; that it may be None is said by its default."""
    choices = choices_of(field)
    if choices is not None:
        return "{" + ", ".join(f'"{choice}"' for choice in choices) + "}"
    return "object" if field.annotation is Any else inspect.formatannotation(field.annotation).removesuffix(" | None")
