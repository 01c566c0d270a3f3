"""A figure as a piece of HTML."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from mvsim.pictures.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ID = re.compile(r'\bid="([^"]+)"')
_NEEDLESS = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", flags=re.DOTALL)


def inline_svg(figure: Figure, prefix: str, words: str) -> str:
    """Return a figure as an SVG element for an HTML page."""
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue().decode()
    text = _NEEDLESS.sub("", text[text.index("<svg") :]).strip()
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    text = f'<svg {box[0] if box else ""} role="img" aria-label="{words}" xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'
    names = set(_ID.findall(text))
    used = set(re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', text))
    referenced = names & {name for pair in used for name in pair}
    text = _ID.sub(lambda match: f'id="{prefix}-{match[1]}"' if match[1] in referenced else "", text)
    return re.sub(r'(url\(#|xlink:href="#)', rf"\g<1>{prefix}-", text)
