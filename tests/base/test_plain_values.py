"""Values of other types than Python's own are turned into these, or refused, before anything is computed."""

import enum

import numpy as np
import pytest
from tiny_run import TINY

import mvsim
from mvsim.base.inputs import plain
from mvsim.sweeps.study import Study


class Word(enum.StrEnum):
    ERM = "erm"
    ONCE = "once"


class Method(enum.Enum):
    ERM = "erm"


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Size(enum.IntEnum):
    THREE = 3


def types(value):
    """Return a value as its types."""
    if isinstance(value, dict):
        return {types(name): types(one) for name, one in value.items()}
    return [types(one) for one in value] if isinstance(value, list) else type(value)


def test_types_of_others_become_those_of_python():
    given = {
        Text("a"): np.str_("b"), "c": np.array("d"), "e": Word.ERM, "f": Method.ERM, "g": Whole(3), "h": Size.THREE, "i": np.int64(3),
        "j": np.bool_(True),
        "k": [np.float32(0.5), (np.array([1, 2]), range(2))], "l": np.float64(0.25), "m": np.array(["x", "y"]), "n": np.array(2.5), "o": None,
    }  # fmt: skip
    expected = {
        "a": "b", "c": "d", "e": "erm", "f": "erm", "g": 3, "h": 3, "i": 3, "j": True, "k": [0.5, [[1, 2], [0, 1]]], "l": 0.25, "m": ["x", "y"],
        "n": 2.5, "o": None,
    }  # fmt: skip
    assert plain(given) == expected
    assert types(plain(given)) == types(expected)
    assert plain(b"erm") == b"erm"  # is no text, and is refused by whoever wants some


OPTIONS = {"method": "erm", "seed": 3, "n_test": 3, "integrator": "gd", "eta": 3.0, "t_end": 6.0}


@pytest.mark.parametrize("change", [
    {"method": np.str_("erm")}, {"method": np.array("erm")}, {"method": Word.ERM}, {"method": Method.ERM}, {"method": Text("erm")},
    {"seed": np.array(3)}, {"seed": Whole(3)}, {"n_test": Size.THREE}, {"eta": np.float32(3.0)}, {"t_end": np.array(6.0)}, {"integrator": Text("gd")},
])  # fmt: skip
def test_a_run_is_the_one_of_plain_options(change, tmp_path):
    run = mvsim.simulate(mvsim.Parameters(**TINY), **{**OPTIONS, **change}, out=Text(tmp_path / "run.nc"))
    assert types({name: run.provenance[name] for name in ("method", "seed", "options", "integrator")}) == types(
        {name: mvsim.open_run(tmp_path / "run.nc").provenance[name] for name in ("method", "seed", "options", "integrator")}
    )
    assert (run.method, run.seed, float(run.dataset["final_time"])) == ("erm", 3, 6.0)


def test_what_is_no_single_value_is_refused_at_once(monkeypatch):
    monkeypatch.setattr("mvsim.runs.simulation.entry.Session", None)
    for name, value in (("method", np.array(["erm"])), ("method", b"erm"), ("seed", np.array([3])), ("n_test", 3.0), ("eta", np.array(["3"]))):
        with pytest.raises(mvsim.UsageError, match=rf"^{name}="):
            mvsim.simulate(mvsim.Parameters(**TINY), **{**OPTIONS, name: value})


def test_values_of_a_sweep_are_plain_too():
    values = {**TINY, **OPTIONS, "method": np.array(["erm", "midpoint"]), "seed": np.arange(2), "k": Whole(3), "n_test": np.int64(3)}
    assert Study.of(values).files == Study.of({**TINY, **OPTIONS, "method": "erm,midpoint", "seed": "0:2", "n_test": 3}).files
    assert types(Study.of(values).plain()["values"]["seed"]) == [int, int]
    assert Study.of({**TINY, "method": Method.ERM, "seed": range(3)}).values["seed"] == (0, 1, 2)
