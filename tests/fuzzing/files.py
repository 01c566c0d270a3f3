"""Run files that were damaged, forged or are something else, and what reads them."""

from __future__ import annotations

import functools
import io
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
from hypothesis import strategies as st

import mvsim
from fuzzing.breach import Breach
from fuzzing.command import Command
from fuzzing.laws import WORDS
from mvsim.runs.archive import read_run, write_run

FILE = "run.nc"
RUN = {"k": 3, "m": 2, "N": 6}
READERS = {
    "plot": ("plot", FILE, "-o", "a.svg"),
    "verify": ("verify", FILE, "--quiet"),
    "resume": ("simulate", "--k", "3", "--m", "2", "--N", "6", "--t-end", "6", "--resume", "--quiet", "--out", FILE),
}
MAKES = {"plot": ("a.svg",), "verify": (), "resume": (FILE,)}


@functools.cache
def run_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        mvsim.simulate(mvsim.Parameters(**RUN), "midpoint", t_end=5.0, n_test=20, out=Path(folder) / FILE)
        return (Path(folder) / FILE).read_bytes()


def forged(**entries: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_bytes(run_bytes())
        dataset, provenance = read_run(path)
        write_run(path, dataset, provenance | entries)
        return path.read_bytes()


def edited(name: str, value: Any) -> bytes:
    """Return the file with an attribute or variable replaced (removed if ``value`` is None), without a checksum."""
    file = io.BytesIO(run_bytes())
    with h5py.File(file, "r+") as opened:
        if name in opened:
            del opened[name]
            if value is not None:
                opened[name] = value
        elif value is None:
            opened.attrs.pop(name, None)
        else:
            opened.attrs[name] = value
    return file.getvalue()


def foreign() -> bytes:
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        opened["values"] = [1.0, 2.0]
        opened.attrs["title"] = "\x1b[31m"
    return file.getvalue()


@dataclass(frozen=True)
class Damaged:
    """A reader and the file it is given."""

    reader: str
    damage: str
    content: bytes
    intact: bool = False

    def __repr__(self) -> str:
        return f"Damaged({self.reader!r}, {self.damage!r}, {len(self.content)} bytes)"

    def breaches(self, folder: Path) -> list[Breach]:
        """Read it and return what is wrong."""
        words = READERS[self.reader]
        command = Command(words, f"{self.reader}: {self.damage.split(' ')[0]}", (FILE,), None, ((FILE, self.content),), MAKES[self.reader])
        found = command.breaches(folder)
        if not self.intact and self.content != run_bytes() and (folder / "a.svg").exists():
            found.append(Breach("a damaged run is drawn", self.damage))
        return found


ENTRIES = (
    "parameters",
    "method",
    "seed",
    "integrator",
    "options",
    "regime",
    "status",
    "settled",
    "summary",
    "version",
    "wall_seconds",
    "continued",
    "format",
    "created",
    "platform",
)
TITLES = ("$\\frac{$", "$x", "\\", "$\\unknown$", "^", "$^$", "x" * 5000, "\x1b[31m", "é☃", "\n" * 50, "日本語", "", "$$", "{", "%s")


@st.composite
def files(draw: st.DrawFn) -> Damaged:
    reader = draw(st.sampled_from(sorted(READERS)))
    which = draw(
        st.sampled_from(
            ("intact", "cut", "flipped", "zeroed", "swapped", "longer", "text", "binary", "foreign", "attribute", "variable", "forged", "title")
        )
    )
    whole = run_bytes()
    size = len(whole)
    if which == "intact":
        return Damaged(reader, which, whole, True)
    if which == "cut":
        at = draw(st.integers(0, size - 1))
        return Damaged(reader, f"{which} at {at}", whole[:at])
    if which in ("flipped", "zeroed"):
        at, length = draw(st.integers(0, size - 1)), draw(st.sampled_from((1, 8, 512)))
        middle = whole[at : at + length]
        damaged = bytes(byte ^ (1 << draw(st.integers(0, 7))) for byte in middle[:1]) + middle[1:] if which == "flipped" else bytes(len(middle))
        return Damaged(reader, f"{which} at {at}, {length}", whole[:at] + damaged + whole[at + length :])
    if which == "swapped":
        return Damaged(reader, which, whole[size // 2 :] + whole[: size // 2])
    if which == "longer":
        return Damaged(reader, which, whole + draw(st.binary(min_size=1, max_size=100)))
    if which == "text":
        return Damaged(reader, which, draw(st.text(max_size=50)).encode(errors="replace"))
    if which == "binary":
        return Damaged(reader, which, draw(st.sampled_from((b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01"))) + draw(st.binary(max_size=100)))
    if which == "foreign":
        return Damaged(reader, which, foreign())
    values: tuple[Any, ...] = (None, "", "{", "null", "[]", '{"format": 3}', 3, 1.5, "\x1b[31m", "[" * 100_000, '{"format": 1' + "0" * 5000 + "}")
    if which == "attribute":
        value = draw(st.sampled_from(values))
        return Damaged(reader, f"{which} {str(value)[:20]!r}", edited("mvsim", value))
    if which == "variable":
        name = draw(st.sampled_from(("loss", "time", "final_correlations", "label", "step", "feature_learned")))
        value = draw(st.sampled_from((None, 1.5, "x", [1.0, 2.0], [[1]], b"\xff")))
        return Damaged(reader, f"{which} {name}={value}", edited(name, value))
    if which == "title":
        title = draw(st.sampled_from(TITLES))
        entry = draw(
            st.sampled_from(
                (
                    {"method": title},
                    {"regime": [{"name": "d", "value": title, "assumed": title, "statement": title}]},
                    {"status": title},
                    {"summary": title},
                )
            )
        )
        return _forged(reader, "title", entry)
    value = draw(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-2, 2**70),
            st.floats(),
            WORDS,
            st.lists(WORDS, max_size=2),
            st.dictionaries(WORDS, WORDS, max_size=2),
        )
    )
    return _forged(reader, "forged", {draw(st.sampled_from(ENTRIES)): value})


def _forged(reader: str, which: str, entry: dict[str, Any]) -> Damaged:
    told = json.dumps(entry)
    try:
        return Damaged(reader, f"{which} {told[:80]}", forged(**entry), True)
    except (mvsim.MvsimError, ValueError, TypeError, KeyError):  # cannot even be written by our own hand
        return Damaged(reader, f"{which} {told[:80]}", edited("mvsim", told))
