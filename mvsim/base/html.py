"""What a notebook shows of an object: a heading and a table, in plain HTML without scripts or styles of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from mvsim.base.echo import escaped


def fragment(heading: str, rows: Iterable[Sequence[object]], names: Sequence[str] = (), details: str = "") -> str:
    """Return a heading, a table and, folded below it, what else there is."""
    head = f"<thead><tr>{''.join(f'<th>{_text(name)}</th>' for name in names)}</tr></thead>" if names else ""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    folded = f"<details><summary>more</summary>{details}</details>" if details else ""
    return f"<div><p><b>{_text(heading)}</b></p><table>{head}<tbody>{body}</tbody></table>{folded}</div>"


def _cell(value: object) -> str:
    return f'<td style="text-align: left">{_text(value)}</td>'


def _text(value: object) -> str:
    return escape(escaped(str(value)))
