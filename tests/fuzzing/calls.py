"""Calls of the Python API with one argument of a wrong type or an extreme value."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from hypothesis import strategies as st

import mvsim
from fuzzing import message
from fuzzing.breach import Breach, raised, short
from fuzzing.command import SECONDS, contents
from fuzzing.files import run_bytes
from fuzzing.world import TakesTooLongError, at_most, watched
from mvsim.base.echo import escaped
from mvsim.base.inputs import plain
from mvsim.pictures import run_figure, save_figure


class Word(enum.Enum):
    """A word of somebody else's program."""

    ERM = "erm"


class Name(enum.StrEnum):
    """The same as a text."""

    ERM = "erm"


class Text(str):
    """Text of a type of its own."""

    __slots__ = ()


class Whole(int):
    """An integer of a type of its own."""


VALUES: dict[str, Callable[[], Any]] = {
    **{
        repr(value): functools.partial(lambda value: value, value)
        for value in (None, True, False, 0, 1, -1, 2, 3, 1.5, -0.0, "", "x", "3", b"", b"x", ..., 1j)
    },
    **{name: functools.partial(float, name) for name in ("nan", "inf", "-inf", "5e-324", "1e308")},
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "2**64": lambda: 2**64,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "-10**5000": lambda: -(10**5000),
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "[[]]": lambda: [[]],
    "[1, [2]]": lambda: [1, [2]],
    "[[1], [2, 3]]": lambda: [[1], [2, 3]],
    "[None]": lambda: [None],
    "['x']": lambda: ["x"],
    "[10**5000]": lambda: [10**5000],
    "{'k': 3}": lambda: {"k": 3},
    "object()": object,
    "int": lambda: int,
    "len": lambda: len,
    "range(3)": lambda: range(3),
    "generator": lambda: (i for i in range(3)),
    "escape": lambda: "\x1b[2J\x1b[31mred\n\u202e",
    "long": lambda: "x" * 5000,
    "\\udcff": lambda: "\udcff",
    "a\\0b": lambda: "a\0b",
    "Path": lambda: Path("missing/run.nc"),
    "Decimal": lambda: decimal.Decimal("NaN"),
    "sNaN": lambda: decimal.Decimal("sNaN"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "date": lambda: datetime.date(2023, 7, 23),
    "datetime64": lambda: np.datetime64("2023-07-23"),
    "np.float64(nan)": lambda: np.float64("nan"),
    "np.int8(3)": lambda: np.int8(3),
    "np.bool_(True)": lambda: np.bool_(True),
    "np.array(3)": lambda: np.array(3),
    "np.array([])": lambda: np.array([]),
    "np.zeros((0, 3))": lambda: np.zeros((0, 3)),
    "np.arange(3)": lambda: np.arange(3),
    "np.str_('erm')": lambda: np.str_("erm"),
    "np.str_('x')": lambda: np.str_("x"),
    "np.array('erm')": lambda: np.array("erm"),
    "np.array(['erm'])": lambda: np.array(["erm"]),
    "np.array(['loss'])": lambda: np.array(["loss"]),
    "np.bytes_(b'erm')": lambda: np.bytes_(b"erm"),
    "Enum": lambda: Word.ERM,
    "StrEnum": lambda: Name.ERM,
    "subclass of str": lambda: Text("erm"),
    "subclass of int": lambda: Whole(3),
    "np.full(4d, nan)": lambda: np.full((3, 2, 3, 2), np.nan),
    "np.full(4d, 3e38)": lambda: np.full((3, 2, 3, 2), 3e38),
    "np.full(4d, 1e308)": lambda: np.full((3, 2, 3, 2), 1e308),
    "np.full(4d, 10**400)": lambda: np.full((3, 2, 3, 2), 10**400, dtype=object),
    "np.ones(4d, complex)": lambda: np.ones((3, 2, 3, 2), complex),
    "np.ones(4d, str)": lambda: np.ones((3, 2, 3, 2), str),
    "np.ones(5d)": lambda: np.ones((3, 2, 3, 2, 1)),
    "np.ones(4d, float16)": lambda: np.ones((3, 2, 3, 2), np.float16),
    "np.ones(4d, longdouble)": lambda: np.full((3, 2, 3, 2), np.longdouble("1e4000")),
    "np.array object": lambda: np.array([object()]),
    "structured": lambda: np.zeros(3, [("a", float)]),
    "masked": lambda: np.ma.masked_all(3),
    "frozen norm": lambda: scipy.stats.norm(0.5, 0.1),
    "frozen beta": lambda: scipy.stats.beta(2, 2),
    "frozen array": lambda: scipy.stats.beta([1, 2], 2),
    "family": lambda: scipy.stats.beta,
    "Parameters": lambda: parameters(),
    "Parameters, other k": lambda: mvsim.Parameters(k=4, N=6),
    "Dataset": lambda: data(),
    "Dataset, other": lambda: mvsim.sample_dataset(mvsim.Parameters(k=4, N=5), 0),
    "UniformLaw": mvsim.UniformLaw,
    "tuple of laws": lambda: (mvsim.UniformLaw(),),
    "list of 10**5 texts": lambda: ["x"] * 10**5,
}
"""By name, so that a case can be printed; made anew for every call."""


@functools.cache
def parameters() -> mvsim.Parameters:
    return mvsim.Parameters(k=3, m=2, N=6)


@functools.cache
def data() -> mvsim.Dataset:
    return mvsim.sample_dataset(parameters(), 0)


@functools.cache
def objective() -> Any:
    return mvsim.objective("midpoint", parameters(), data())


def correlations() -> np.ndarray:
    return mvsim.initial_correlations(parameters(), 0)


def _simulate(**options: Any) -> Any:
    return mvsim.simulate(**options)


@dataclass(frozen=True)
class Function:
    """A function with good arguments, made when it is called; ``fixed`` ones stay good, the others are spoilt in turn."""

    call: Callable[..., Any]
    good: Callable[[], dict[str, Any]]
    fixed: tuple[str, ...] = ()
    other_names: tuple[tuple[str, str], ...] = ()
    legal: tuple[str, ...] = ()


def _law(law: type) -> Callable[..., Any]:
    return lambda **fields: law(**fields)


_SMALL_NUMBERS = ("2", "3", "'3'", "1.5", "np.int8(3)", "np.array(3)", "range(3)", "np.arange(3)", "generator", "subclass of int", "[]", "()")
"""As a number of classes or seeds, these start runs or ask for none."""

_SIMULATE = {
    "method": "erm", "seed": 0,
    "integrator": "flow", "rtol": 1e-3, "t_end": 5.0, "settled_factor": 10.0, "out": None, "resume": False,
    "force": False,
    "backend": "auto", "threads": 1, "n_test": 2, "checkpoint_seconds": 10.0, "data": None, "weight_decay": 0.0, "label_smoothing": 0.0,
}  # fmt: skip
FUNCTIONS: dict[str, Function] = {
    "Parameters": Function(mvsim.Parameters, lambda: {"k": 3, **{n: v for n, v in parameters().model_dump().items() if n != "k"}}),
    "Parameters.replace": Function(
        lambda **f: parameters().replace(**f),
        lambda: {n: v for n, v in parameters().model_dump().items() if n in ("k", "d", "rho", "noise", "beta_law")},
    ),
    "Parameters.assumption_4_3": Function(mvsim.Parameters.assumption_4_3, lambda: {"k": 3, "m": 2, "alpha": 8.0}),
    "Parameters.literal": Function(mvsim.Parameters.literal, lambda: {"k": 3, "m": 2}),
    "SymmetricBetaLaw": Function(_law(mvsim.SymmetricBetaLaw), lambda: {"a": 1.0}),
    "DiscreteLaw": Function(_law(mvsim.DiscreteLaw), lambda: {"atoms": (0.5,), "probabilities": (1.0,)}),
    "sample_dataset": Function(mvsim.sample_dataset, lambda: {"parameters": parameters(), "seed": 0}),
    "Dataset.from_patches": Function(mvsim.Dataset.from_patches, lambda: {"labels": [0, 1, 2], "patches": np.ones((3, 2, 3, 2))}),
    "Dataset.keep_view": Function(lambda view: data().keep_view(view), lambda: {"view": 0}),
    "random_features": Function(mvsim.random_features, lambda: {"k": 3, "d": 10, "seed": 0}, other_names=(("k", "d"),)),
    "embed": Function(mvsim.embed, lambda: {"data": data(), "features": mvsim.random_features(3, 10, 0)}),
    "initial_correlations": Function(mvsim.initial_correlations, lambda: {"parameters": parameters(), "seed": 0}),
    "smoothed_relu": Function(mvsim.smoothed_relu, lambda: {"z": np.linspace(-1, 1, 5), "rho": 0.3, "alpha": 8.0}),
    "smoothed_relu_derivative": Function(mvsim.smoothed_relu_derivative, lambda: {"z": np.linspace(-1, 1, 5), "rho": 0.3, "alpha": 8.0}),
    "smoothed_relu_second_derivative": Function(
        mvsim.smoothed_relu_second_derivative, lambda: {"z": np.linspace(-1, 1, 5), "rho": 0.3, "alpha": 8.0}
    ),
    "objective": Function(
        mvsim.objective,
        lambda: {
            "name": "mixup",
            "parameters": parameters(),
            "data": data(),
            "backend": "auto",
            "threads": 1,
            "mixing": 0.5,
            "nodes": 3,
            "pairs": 4,
            "redraw": "once",
            "seed": 0,
            "loss": "squared_error",
        },
        other_names=(("name", "method"), ("parameters", "k")),  # the data have another k
    ),
    "objective.loss": Function(lambda c: objective().loss(c), lambda: {"c": correlations()}),
    "objective.gradient": Function(lambda c: objective().gradient(c), lambda: {"c": correlations()}),
    "objective.outputs": Function(lambda c: objective().outputs(c), lambda: {"c": correlations()}),
    "objective.hessian_vector_product": Function(
        lambda c, v: objective().hessian_vector_product(c, v), lambda: {"c": correlations(), "v": correlations()}
    ),
    "feature_learned": Function(mvsim.feature_learned, lambda: {"parameters": parameters(), "c": correlations(), "n_test": 2, "seed": 0}),
    "simulate": Function(_simulate, lambda: _SIMULATE | {"parameters": parameters()}, other_names=(("out", "run.nc"),)),
    "simulate, gd": Function(
        _simulate, lambda: {"parameters": parameters(), "integrator": "gd", "eta": 1.0, "t_end": 5.0}, ("parameters", "integrator", "t_end")
    ),
    "open_run": Function(mvsim.open_run, lambda: {"path": "run.nc"}),
    "verify": Function(mvsim.verify, lambda: {"what": ()}, other_names=(("what", "run.nc"), ("what", "runs"), ("what", "path"))),
    "verify, theorems": Function(
        lambda **o: mvsim.verify("midpoint/theorem-4.6", **o),
        lambda: {"k": [1], "seeds": 1, "folder": "runs", "m": 2},
        other_names=(("seeds", "k"), ("folder", "k"), ("m", "k")),  # k is refused first
        legal=_SMALL_NUMBERS,
    ),
    "Run": Function(mvsim.Run, lambda: {"dataset": mvsim.open_run("run.nc").dataset, "provenance": mvsim.open_run("run.nc").provenance}),
    "run_figure": Function(run_figure, lambda: {"runs": [mvsim.open_run("run.nc")], "panels": ["loss"], "classes": [0], "title": "x"}),
    "plot": Function(mvsim.plot, lambda: {"runs": mvsim.open_run("run.nc"), "panels": ["loss"], "classes": [0], "title": "x"}),
    "save_figure": Function(save_figure, lambda: {"figure": run_figure([mvsim.open_run("run.nc")]), "path": "a.png", "force": False}),
}


@dataclass(frozen=True)
class Call:
    """A function, one of its arguments, and what is given for it; see `FUNCTIONS` and `VALUES`."""

    function: str
    argument: str
    value: str

    @property
    def label(self) -> str:
        """What is odd about it."""
        return f"{self.function}({self.argument}=...)"

    def breaches(self, folder: Path) -> list[Breach]:
        (folder / "run.nc").write_bytes(run_bytes())
        here = os.getcwd()
        os.chdir(folder)
        try:
            return self._breaches(folder)
        finally:
            os.chdir(here)

    def _breaches(self, folder: Path) -> list[Breach]:
        function, found = FUNCTIONS[self.function], []
        arguments = function.good() | {self.argument: VALUES[self.value]()}
        arrays = {name: value.tobytes() for name, value in arguments.items() if isinstance(value, np.ndarray) and value.dtype != object}
        before, refused = contents(folder), False
        with watched(self.label) as watch:
            try:
                with at_most(SECONDS):
                    function.call(**arguments)
            except TakesTooLongError:
                found.append(Breach("takes too long", self.label, f"more than {SECONDS:g} s"))
            except mvsim.UsageError as error:
                refused = True
                names = [new for old, new in function.other_names if old == self.argument]
                value = plain(arguments[self.argument])
                files = value if isinstance(value, list) else [value]
                names += [escaped(os.fspath(file)) for file in files if isinstance(file, (str, os.PathLike)) and os.fspath(file)]
                found += message.breaches(f"mvsim: {error}", [self.argument, *names], self.label)
            except mvsim.MvsimError as error:
                found += message.breaches(f"mvsim: {error}", (), self.label)
            except Exception as error:
                one = raised("an exception that is not mvsim's", error)
                found.append(Breach(one.broken, f"{self.label}: {one.where}", one.detail))
        changed = [name for name, value in arguments.items() if name in arrays and value.tobytes() != arrays[name]]
        found += [Breach("an argument is changed", self.label, name) for name in changed]
        left = sorted(set(contents(folder)) - set(before))
        if left and (refused or any(name.endswith((".tmp", ".lock")) or name.startswith(".") for name in left)):
            found.append(Breach("files are left behind", self.label, short(", ".join(left))))
        return found + watch.breaches


@st.composite
def calls(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    function = FUNCTIONS[name]
    arguments = [argument for argument in arguments_of(name) if argument not in function.fixed]
    value = draw(st.sampled_from(sorted(set(VALUES) - set(function.legal) - set(_LONG.get(name, ())))))
    return Call(name, draw(st.sampled_from(arguments)), value)


_LONG = {"simulate": ("None",)}
"""What would make a long run of it."""


_DRAWN = ("runs", "panels", "classes", "title")


@functools.cache
def arguments_of(name: str) -> tuple[str, ...]:
    """Return the arguments of a function; those of what is drawn need a run file and are known."""
    known = {"Run": ("dataset", "provenance"), "run_figure": _DRAWN, "plot": _DRAWN, "save_figure": ("figure", "path", "force")}
    return known[name] if name in known else tuple(FUNCTIONS[name].good())
