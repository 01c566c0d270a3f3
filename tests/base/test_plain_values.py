"""Values of other types than Python's own are turned into these, or refused, before anything is computed."""

import enum

import numpy as np
import pytest
from tiny_run import TINY

import mvsim
from mvsim.base.inputs import plain
from mvsim.papers.question import Question
from mvsim.pictures.panels import check_panels
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


class Panels(enum.Enum):
    LOSS = "loss"


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
        "p": np.array(["erm", Whole(1), None], dtype=object), "q": np.longdouble(0.5), "r": np.array([0.5], np.longdouble),
    }  # fmt: skip
    expected = {
        "a": "b", "c": "d", "e": "erm", "f": "erm", "g": 3, "h": 3, "i": 3, "j": True, "k": [0.5, [[1, 2], [0, 1]]], "l": 0.25, "m": ["x", "y"],
        "n": 2.5, "o": None, "p": ["erm", 1, None], "q": 0.5, "r": [0.5],
    }  # fmt: skip
    assert plain(given) == expected
    assert types(plain(given)) == types(expected)
    assert plain(b"erm") == b"erm"  # is no text, and is refused by whoever wants some


ENTRIES = ("method", "seed", "options", "integrator")
OPTIONS = {"backend": "numpy", "method": "erm", "seed": 3, "n_test": 3, "integrator": "gd", "eta": 3.0, "t_end": 6.0}


@pytest.mark.parametrize("change", [
    {"method": np.str_("erm")}, {"method": np.array("erm")}, {"method": Word.ERM}, {"method": Method.ERM}, {"method": Text("erm")},
    {"seed": np.array(3)}, {"seed": Whole(3)}, {"n_test": Size.THREE}, {"eta": np.float32(3.0)}, {"t_end": np.array(6.0)}, {"integrator": Text("gd")},
])  # fmt: skip
def test_a_run_is_the_one_of_plain_options(change, tmp_path):
    run = mvsim.simulate(mvsim.Parameters(**TINY), **{**OPTIONS, **change}, out=Text(tmp_path / "run.nc"))
    made, saved = ({name: one.provenance[name] for name in ENTRIES} for one in (run, mvsim.open_run(tmp_path / "run.nc")))
    assert types(made) == types(saved)
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


class Statement(enum.Enum):
    LEMMA = "midpoint/lemma-3.2"


@pytest.fixture
def question(monkeypatch):
    """What `mvsim.verify` asks, checked; nothing is judged."""

    def ask(what, **options):
        asked = []

        def sections(self, **_):
            self.check()
            asked.append(self)
            return ()

        monkeypatch.setattr(Question, "sections", sections)
        mvsim.verify(what, **options)
        return asked[0].as_dict()

    return ask


def test_a_question_is_the_one_of_plain_options(question, tmp_path):
    expected = question("midpoint/theorem-4.6", k=[3, 4], N=[40, 50], d=2000, seeds=2, folder=tmp_path, noise="point", follow=False, threads=1)
    given = {"k": np.array([3, 4]), "N": (Whole(40), np.int64(50)), "d": np.array(2000), "seeds": np.array(2), "folder": Text(tmp_path)}
    given |= {"noise": np.str_("point"), "follow": np.bool_(False), "threads": Whole(1)}
    asked = question(np.str_("midpoint/theorem-4.6"), **given)
    assert asked == expected
    assert types(asked) == types(expected)
    assert question("midpoint/theorem-4.6", k=Size.THREE)["options"]["k"] == [3]


def test_statements_and_runs_are_named_by_any_text(question, tmp_path):
    for what in (
        np.str_("midpoint/3.2"),
        np.array("midpoint/3.2"),
        np.array(["midpoint/3.2"]),
        Statement.LEMMA,
        [Statement.LEMMA],
        Text("midpoint/3.2"),
    ):
        assert question(what)["statements"] == ["midpoint/lemma-3.2"]
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for what in (paths, np.array([str(path) for path in paths]), [np.str_(path) for path in paths]):
        asked = question(what)["runs"]
        assert asked == [str(path) for path in paths]
        assert types(asked) == [str, str]


def test_what_is_no_option_of_a_question_is_refused_at_once(monkeypatch):
    wrong = {"seeds": np.array([2]), "k": np.ma.masked_all(2), "d": [10**5000] * 3, "N": b"x", "noise": Statement.LEMMA, "follow": 1}
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.over_runs.make_folder", None)
    for name, value in wrong.items():
        with pytest.raises(mvsim.UsageError, match=rf"^{name}="):
            mvsim.verify("midpoint/theorem-4.6", **{"k": [3, 4], name: value})


def test_panels_are_named_by_any_text():
    expected = check_panels(["loss", "correlations"])
    for panels in (np.array(["loss", "correlations"]), [np.str_("loss"), Text("correlations")], (Panels.LOSS, expected[1])):
        assert check_panels(panels) == expected


def test_what_is_drawn_is_named_by_any_type(tmp_path):
    path = tmp_path / "run.nc"
    run = mvsim.simulate(mvsim.Parameters(**TINY), "erm", t_end=2.0, n_test=2, backend="numpy", out=path)
    expected = mvsim.plot(run, panels=["loss"], classes=[0, 1], title="mine")._repr_png_()
    for runs, options in (
        (Text(path), {"panels": np.array(["loss"]), "classes": range(2), "title": np.str_("mine")}),
        (np.array(str(path)), {"panels": [Panels.LOSS], "classes": np.arange(2), "title": np.array("mine")}),
        (np.array([str(path)]), {"panels": (Text("loss"),), "classes": [np.int64(0), Whole(1)], "title": Text("mine")}),
    ):
        assert mvsim.plot(runs, **options)._repr_png_() == expected
    for runs in (np.array(3), b"run.nc", np.array([3])):
        with pytest.raises(mvsim.UsageError, match=r"^runs"):
            mvsim.plot(runs)


def test_names_that_no_file_can_have_are_refused():
    for name in ("x" * 5000, "x/" * 3000, "a\0b", "\udcff" * 300):
        for function in (mvsim.verify, mvsim.open_run, mvsim.open_runs):
            with pytest.raises(mvsim.UsageError):
                function(name)
