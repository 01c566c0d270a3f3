"""Argument vectors of every command."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from usable import MISSING, RUNNABLE

from fuzzing.command import Command, words_of
from fuzzing.laws import BAD_LAWS, BAD_MIXING, LAWS, MIXING
from fuzzing.texts import BAD, garbage, is_argument
from mvsim.losses import LOSSES
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.auto import CHOICES

SMALL = (("k", "3"), ("N", "6"), ("m", "2"), ("t-end", "5"), ("quiet", None))
"""A run of a few steps."""

OUT = "run.nc"


@dataclass(frozen=True)
class Option:
    """An option with values that are taken in a run of `SMALL`, and values that are not."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


def _integer(*good: str, bad: tuple[str, ...] = ()) -> Option:
    return Option(good, (*BAD["integer"], *bad))


def _float(*good: str, bad: tuple[str, ...] = ()) -> Option:
    return Option(good, (*BAD["float"], *bad))


def _choice(*good: str) -> Option:
    return Option(good, BAD["choice"])


FIELDS = {
    "k": _integer("3", "2", "4", bad=("1", "0", "1000001", "1" + "0" * 20)),
    "model": _choice("network", "linear"),
    "m": _integer("1", "2", bad=("0", "1000000001")),
    "d": _integer("18", "220", "1" + "0" * 300, bad=("0", "1" + "0" * 301, "3")),
    "P": _integer("9", "4", bad=("1", "3", "1" + "0" * 15)),
    "C_P": _integer("1", "2", bad=("0", "1000000001")),
    "V": _integer("2", "1", "3", bad=("0", "1" + "0" * 20)),
    "Q": _integer("1", "2", bad=("0", "3", "1000000001")),
    "N": _integer("1", "6", bad=("0", "1000000001")),
    "alpha": _float("8", "2.5", bad=("0.5", "65", "inf")),
    "rho": _float("0.3", "1e-3", "1e6", bad=("0", "1e-31", "1e7", "inf")),
    "delta1": _float("0.1", "0.5", "1e-5", bad=("0", "0.6", "inf", "1e7")),
    "delta2": _float("1", "10", bad=("0", "0.1", "inf", "1e7")),
    "delta3": _float("0", "0.001", bad=("1e7", "inf")),
    "delta4": _float("0.05", "0.1", bad=("1e7", "inf")),
    "signal_layout": _choice("random", "fixed"),
    "noise": _choice("codebook", "point", "patch"),
    "G": _integer("3", "25", bad=("0", "1", "1000000001")),
    "beta_law": Option(LAWS, BAD_LAWS),
    "codebook_seed": _integer("0", "5", bad=("1" + "0" * 40,)),
}
OPTIONS = {
    "method": _choice(*OBJECTIVES),
    "seed": _integer("0", "7", "1" + "0" * 30, bad=("1" + "0" * 40,)),
    "integrator": _choice(*CHOICES),
    "eta": _float("0.1", "1.5", bad=("0", "inf", "1e101")),
    "rtol": _float("1e-3", "0.1", bad=("0", "1e-11", "0.2", "inf")),
    "t-end": _float("5", "1e-9", "60", bad=("0", "inf", "1e301")),
    "settled-factor": _float("2", "1e100", bad=("1", "0", "1e101", "inf")),
    "regime": _choice("scaled", "literal"),
    "mixing": Option(MIXING, BAD_MIXING),
    "nodes": _integer("1", "3", bad=("0", "1001")),
    "pairs": _integer("1", "5", bad=("0", "1000001")),
    "redraw": _choice("once", "each step"),
    "loss": _choice(*LOSSES),
    "weight-decay": _float("0", "1e-3", bad=("-1", "inf")),
    "label-smoothing": _float("0", "0.1", "1", bad=("-0.1", "1.1", "inf")),
    "backend": Option(tuple(RUNNABLE), (*BAD["choice"], *MISSING)),
    "threads": _integer("1", "2", bad=("0",)),
    "n-test": _integer("1", "3", bad=("0", "1000001")),
    "checkpoint-seconds": Option(("0.1", "1e9", "inf"), (*(value for value in BAD["float"] if value != "1e999999"), "0")),
    "out": Option((OUT, "./run.nc"), ("", ".", "missing/run.nc", "x" * 300 + ".nc", "..")),
    "config": Option((), ("missing.toml", "", ".", "x" * 300)),
}
SIMULATE = FIELDS | OPTIONS
FLAGS = ("resume", "force", "json", "quiet")
UNKNOWN = ("--frobnicate", "--c_p", "--K", "--seeed", "--no-force", "--empty-out", "---k", "--k3", "-k", "-x", "--delta5", "--progress", "--data")

CONTRADICTIONS: tuple[tuple[tuple[tuple[str, str | None], ...], tuple[str, ...]], ...] = (
    ((("eta", "0.1"),), ("eta",)),
    ((("integrator", "gd"), ("rtol", "1e-3")), ("rtol",)),
    ((("resume", None), ("force", None), ("out", OUT)), ("resume", "force")),
    ((("delta1", "0.9"),), ("delta1",)),
    ((("delta3", "0.5"), ("delta4", "0.1")), ("delta3",)),
    ((("Q", "3"),), ("Q",)),
    ((("P", "4"), ("C_P", "3")), ("P",)),
    ((("regime", "literal"), ("d", "18")), ("d", "regime")),
    ((("d", "5"),), ("d",)),
    ((("method", "erm"), ("nodes", "3")), ("nodes",)),
    ((("method", "midpoint"), ("mixing", "0.5")), ("mixing",)),
    ((("method", "mixup"), ("redraw", "each step")), ("redraw",)),
    ((("method", "mixup"), ("redraw", "each step"), ("pairs", "3")), ("integrator", "redraw")),
    ((("beta_law", '[{"kind": "uniform"}]'),), ("beta_law",)),
)


def _command(words: tuple[str, ...], label: str, named: tuple[str, ...] = (), refused: bool | None = None) -> Command:
    made = [word for word in words if word.endswith(".nc")]
    default = "mvsim-*seed*.nc"
    return Command(words, label, named, refused, makes=(*made, *(name.removeprefix("./") for name in made), default))


def _with(options: dict[str, str | None], label: str, named: tuple[str, ...] = (), refused: bool | None = None) -> Command:
    return _command(("simulate", *words_of(list(options.items()))), label, named, refused)


@st.composite
def right(draw: st.DrawFn) -> Command:
    """Return a run with a few options, each with a value it takes; they may still contradict each other."""
    names = draw(st.lists(st.sampled_from(sorted(set(SIMULATE) - {"config", "t-end"})), max_size=4, unique=True))
    return _with(dict(SMALL) | {name: draw(st.sampled_from(SIMULATE[name].good)) for name in names}, "right values")


@st.composite
def one_wrong(draw: st.DrawFn) -> Command:
    name = draw(st.sampled_from(sorted(SIMULATE)))
    value = draw(st.sampled_from(SIMULATE[name].bad))
    helped = {"method": "mixup"} if name in ("mixing", "nodes", "pairs", "redraw") else {"integrator": "gd"} if name == "eta" else {}
    joined = draw(st.booleans()) and value != ""
    options = dict(SMALL) | helped
    options.pop(name, None)
    words = ("simulate", *words_of(list(options.items())), *((f"--{name}={value}",) if joined else (f"--{name}", value)))
    # Of two values that contradict each other a message may name the other one.
    partners = {"delta2": ("delta1",), "C_P": ("P",), "k": ("Q", "d"), "d": ("k",), "P": ("C_P",), "delta4": ("delta3",)}.get(name, ())
    return _command(words, f"simulate --{name} wrong", (name, *partners, *((value,) if name in ("out", "config") and value else ())), True)


@st.composite
def one_odd(draw: st.DrawFn) -> Command:
    """Return a run with one value that nobody foresaw; if it is refused, its option is named."""
    name = draw(st.sampled_from(sorted(set(SIMULATE) - {"out", "config", "eta", "t-end"})))
    value = draw(garbage().filter(is_argument))
    return _with(dict(SMALL) | {name: value}, f"simulate --{name} odd", (name, *(("d", "k") if name in ("d", "k", "regime") else ())), None)


@st.composite
def contradictory(draw: st.DrawFn) -> Command:
    options, named = draw(st.sampled_from(CONTRADICTIONS))
    return _with(dict(SMALL) | dict(options), f"contradiction of {', '.join(name for name, _ in options)}", named, True)


@st.composite
def malformed(draw: st.DrawFn) -> Command:
    """Return words that are not options and values: unknown or repeated options, values that are missing, words too many."""
    base = ("simulate", *words_of(SMALL))
    which = draw(st.sampled_from(("unknown", "repeated", "missing", "extra", "flag with value", "other command")))
    if which == "unknown":
        word = draw(st.sampled_from(UNKNOWN))
        tail = draw(st.sampled_from(((), ("1",), ("--json",))))
        return _command((*base, word, *tail), "unknown option", (word,), True)
    if which == "repeated":
        name = draw(st.sampled_from(sorted(set(dict(SMALL)) - {"quiet"})))
        return _command((*base, f"--{name}", "4"), "repeated option", (name,), True)
    if which == "missing":
        name = draw(st.sampled_from(sorted(set(SIMULATE) - set(dict(SMALL)))))
        tail = draw(st.sampled_from(((), ("--json",), ("--force",))))
        return _command((*base, f"--{name}", *tail), "missing value", (name,), True)
    if which == "flag with value":
        name = draw(st.sampled_from(FLAGS))
        value = draw(st.sampled_from(("maybe", "2", "\x1b[31m", "x" * 5000, "é")))
        return _command(("simulate", *words_of(SMALL[:-1]), f"--{name}={value}"), "flag with a value", (name,), True)
    if which == "extra":
        word = draw(garbage().filter(lambda word: is_argument(word) and not word.startswith("-")))
        return _command(
            (*base, word), "a word too many", (word,) if word.isascii() and word.isprintable() and 0 < len(word) < 30 and word.isalnum() else (), True
        )
    word = draw(st.sampled_from(("simulat", "Simulate", "plots", "sweep", "", "run", "\x1b[31m", "x" * 5000, "é", "--frobnicate", "3")))
    return _command((word, *base[1:]), "unknown command", (), None if word == "" else True)


@st.composite
def plot_or_verify(draw: st.DrawFn) -> Command:
    command = draw(st.sampled_from(("plot", "verify")))
    bad = (
        "missing.nc",
        ".",
        "..",
        "x" * 300,
        "\x1b[31m.nc",
        "missing/run.nc",
        "notes.txt",
        "/dev/zero",
        "\udcff.nc",
        "é.nc",
        "https://localhost/run.nc",
    )
    paths = draw(st.lists(st.one_of(st.sampled_from(bad), garbage().filter(lambda w: is_argument(w) and not w.startswith("-"))), max_size=3))
    tail = draw(st.sampled_from(_TAILS[command]))
    words = (command, *paths, *tail)
    files = (("notes.txt", b"precious"),)
    return Command(words, f"{command} without runs", (), True, files)


_TAILS: dict[str, tuple[tuple[str, ...], ...]] = {
    "plot": (
        *(
            (),
            ("-o", "a.png"),
            ("-o", "a.gif"),
            ("--animate",),
            ("--animate", "-o", "a.png"),
            ("--panels", "x"),
            ("--classes", "-1"),
            ("--classes", "x"),
            ("-o",),
            ("-o", "missing/a.png"),
            ("-o", "\x1b[31m.png"),
            ("-o", ""),
            ("-o", "."),
            ("-o", "x" * 300 + ".png"),
        ),
        *(("--force",), ("--frobnicate",), ("-o", "notes.txt"), ("--out", "a.png", "--out", "b.png"), ("--k", "3")),
    ),
    "verify": (
        *(
            (),
            ("midpoint/theorem-4.8",),
            ("midpoint/",),
            ("--seeds", "0"),
            ("--seeds", "1.5"),
            ("--seeds", "9" * 5000),
            ("--k", "abc"),
            ("--k", "9" * 5000),
        ),
        *(("--out", "missing/a.json"), ("--out", "notes.txt"), ("--out", ""), ("--frobnicate",), ("midpoint/\x1b[31m",), ("--threads", "0")),
        *(("midpoint/4.6", "--k", "1"), ("midpoint/4.6", "--alpha", "-1"), ("midpoint/4.6", "--seeds", "-1"), ("midpoint/4.6", "--k", "")),
    ),
}


@st.composite
def any_words(draw: st.DrawFn) -> Command:
    """Return anything at all, behind a command or not; what would start a long run or one outside the folder is left out."""
    start = draw(st.sampled_from(((), ("simulate",), ("plot",), ("verify",), ("--help",), ("simulate", "--help"), ("--version",))))
    some = st.one_of(garbage(), st.sampled_from(tuple(f"--{name}" for name in SIMULATE)), st.sampled_from(UNKNOWN)).filter(is_argument)
    return Command((*start, *draw(st.lists(some, max_size=6))), "any words")


def words() -> st.SearchStrategy[Command]:
    return st.one_of(right(), one_wrong(), one_wrong(), one_odd(), contradictory(), malformed(), plot_or_verify(), any_words())
