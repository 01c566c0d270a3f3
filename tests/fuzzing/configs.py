"""TOML files: right, with wrong keys, types and numbers, cut off, binary, in other encodings."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fuzzing.command import Command, words_of
from fuzzing.laws import HUGE, beta_laws, digits, mixing_laws
from fuzzing.words import SIMULATE, SMALL

FILE = "settings.toml"
MADE = ("mvsim-*seed*.nc", "run.nc")
KEYS = (
    "sed",
    "plot",
    "config",
    "K",
    "c_p",
    "",
    "a b",
    "\x1b[31m",
    "é",
    "json_",
    "verify",
    "fields",
    "x" * 3000,
    "help",
    "--k",
    "k.k",
    "version",
    "runs",
)


def _toml(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return digits(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    return "[" + ", ".join(_toml(one) for one in value) + "]"


def _quoted(text: str) -> str:
    safe = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in text)
    return f'"{safe}"'


def _without_none(value: Any) -> bool:
    """Whether TOML can say it: it knows no null."""
    if isinstance(value, dict):
        return all(_without_none(one) for one in value.values())
    return all(_without_none(one) for one in value) if isinstance(value, list) else value is not None


def _values() -> st.SearchStrategy[Any]:
    plain = st.one_of(
        st.sampled_from((0, -1, 3, 1.5, -1.5, True, False, "", "abc", float("nan"), float("inf"), 2**63, "\x1b[2J", "é☃", "x" * 3000, "3")),
        st.text(max_size=6),
        st.floats(),
        HUGE,
    )
    return st.recursive(
        plain, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)), max_leaves=4
    )


@st.composite
def configs(draw: st.DrawFn) -> Command:
    small = {name: int(value) for name, value in SMALL if value is not None} | {"quiet": True}
    lines, named, label, refused = dict(small), (FILE,), "config right", None
    which = draw(st.sampled_from(("right", "unknown key", "odd value", "law", "raw", "text", "encoding", "cut off", "twice")))
    if which == "unknown key":
        key = draw(
            st.one_of(
                st.sampled_from(KEYS),
                st.text(max_size=10).filter(
                    lambda key: key.replace("_", "-") not in {n.replace("_", "-") for n in (*SIMULATE, "quiet", "json", "force", "resume")}
                ),
            )
        )
        lines[key] = draw(_values())
        named, label, refused = ((key, FILE) if key.isascii() and key.isalnum() else (FILE,)), "config with an unknown key", True
    elif which == "odd value":
        key = draw(st.sampled_from([*sorted(set(SIMULATE) - {"out", "config", "eta", "t-end"}), "resume", "force", "quiet", "json"]))
        lines[key] = draw(_values())
        named, label = (key, FILE, "d", "k"), f"config with an odd {key}"
    elif which == "law":
        key, laws = draw(st.sampled_from((("beta_law", beta_laws()), ("mixing", mixing_laws()))))
        lines |= {key: draw(laws.filter(_without_none))} | ({"method": "mixup", "nodes": 3} if key == "mixing" else {})
        named, label = (key, FILE), f"config with a law, {key}"
    elif which == "right":
        for name in draw(st.lists(st.sampled_from(sorted(set(SIMULATE) - {"config", "t-end", "out"})), max_size=3)):
            lines[name] = draw(st.sampled_from(SIMULATE[name].good))
        named = ()
    content = "".join(f"{_quoted(name)} = {_toml(value)}\n" for name, value in lines.items()).encode(errors="backslashreplace")
    if which == "raw":
        content, label, refused = draw(st.binary(min_size=1, max_size=60)).replace(b"#", b"?") + b"\x00\xff", "config binary", True
    elif which == "text":
        content, label = draw(st.text(max_size=60)).encode(errors="backslashreplace"), "config of any text"
        named = (FILE, "k")
    elif which == "encoding":
        codec = draw(st.sampled_from(("utf-16", "utf-32", "utf-8-sig", "utf-7", "cp1252", "utf-16-be")))
        content, label, named = ('beta_law = "é"\n' + content.decode()).encode(codec, errors="replace"), f"config in {codec}", (FILE, "beta_law")
        refused = True
    elif which == "cut off":
        content, label = content[: draw(st.integers(0, len(content)))], "config cut off"
        named = (FILE, "k")
    elif which == "twice":
        content, label, refused = content + b'"k" = 4\n', "config with a key twice", True
    options = (("config", FILE), ("t-end", "5"), *((("k", "3"), ("N", "6"), ("m", "2")) if which in ("text", "cut off") else ()))
    return Command(("simulate", *words_of(options)), label, named, refused, ((FILE, content),), MADE)
