"""The committed results are those that their stamps are of, no older than the code without saying so, and of one mind."""

import argparse
import copy
import json
import re
import shlex
from pathlib import Path

import pytest
import run
from lib.agreement import Number, contradictions, run_name
from lib.faults import TargetMissed, headed
from lib.page import ORDER, page
from lib.paths import FIGURES, PAGE, RESULTS, ROOT, VALIDATION
from lib.results import ResultsFile, standing
from lib.sources import MissingSourceError, digest_of_sources
from lib.stamps import present_stamp, stamp_text, stamps_in, write_stamp
from lib.study import Study, study_names
from matplotlib.figure import Figure

import mvsim

MEASURED = sorted(path.stem for path in RESULTS.glob("*.json") if path.stem != "stamps")


def results_of(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


# ---- the committed results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEASURED)
def test_a_result_is_the_stamped_one_and_no_older_than_the_code_without_saying_so(name):
    assert re.match("current|older than the code", standing(Study.load(name), RESULTS)), "see python validation/run.py --help"


def test_the_page_is_written_from_the_results():
    assert PAGE.read_text(encoding="utf-8") == page(RESULTS), "run python validation/run.py --results"
    assert set(stamps_in(RESULTS)) == set(MEASURED)
    assert sorted(ORDER) == study_names()


def test_the_page_begins_with_what_came_out():
    top = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    said = [Study.load(name).headline(results_of(name)) for name in MEASURED]
    assert all(words and words in top for words in said)
    assert [words for words in said if words.endswith(".") or "\n" in words] == []


@pytest.mark.parametrize("name", MEASURED)
def test_a_passage_begins_with_what_came_out_and_what_is_wrong_with_it(name):
    study, results = Study.load(name), results_of(name)
    faults = [f"- **{kind}:** {words}" for kind, words in map(headed, study.judge(results))]
    begins = f"## {study.title}\n\n{study.headline(results)}.\n\n" + ("\n".join(faults) + "\n\n" if faults else "")
    assert begins + stamp_text(stamps_in(RESULTS)[name]) in PAGE.read_text(encoding="utf-8")


def test_the_page_repeats_what_a_stamp_has_to_say():
    text = PAGE.read_text(encoding="utf-8")
    for stamp in stamps_in(RESULTS).values():
        assert stamp_text(stamp) in text
        assert all(words in stamp_text(stamp) for words in (stamp["revision"], stamp["command"], stamp["note"], stamp["older"]))


def test_passages_agree_on_the_runs_that_several_speak_of():
    """Of the present code, on one processor: another one changes round-off, and with it the steps of a flow."""
    stamps = stamps_in(RESULTS)
    stated = {name: Study.load(name).numbers(results_of(name)) for name in MEASURED if not stamps[name]["older"]}
    for processor in {stamps[name]["machine"].get("processor") for name in stated}:
        assert contradictions({name: of for name, of in stated.items() if stamps[name]["machine"].get("processor") == processor}) == []
    name, (first, *_) = next((name, numbers) for name, numbers in stated.items() if numbers)
    assert len(contradictions({name: [first], "another": [first._replace(value=first.value + 1)]})) == 1


def test_the_readme_says_what_was_measured():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    quotes = [quote for name in MEASURED for quote in Study.load(name).quotes(results_of(name))]
    assert len(quotes) >= 4
    assert [quote for quote in quotes if " ".join(quote.split()) not in readme] == []


def test_the_documentation_says_what_was_measured():
    cited = [one for name in MEASURED for one in Study.load(name).citations(results_of(name)).items()]
    pages = {page: " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split()) for page, _ in cited}
    assert sum(len(words) for _, words in cited) >= 6
    assert [(page, words) for page, of_page in cited for words in of_page if " ".join(words.split()) not in pages[page]] == []


def test_pictures_exist_and_name_a_command_that_exists():
    shown = re.findall(r"\]\(\.\./(figures/[\w.-]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(shown) >= 4
    assert [name for name in shown if not (ROOT / name).exists()] == []
    captions = [path.read_text(encoding="utf-8") for path in FIGURES.glob("*.txt")]
    assert len(captions) == len(list(FIGURES.glob("*.png"))) >= 6
    for caption in captions:
        study, *arguments = shlex.split(caption.split(": python validation/run.py ")[1])
        parser = argparse.ArgumentParser(exit_on_error=False)
        Study.load(study).options(parser)
        parser.parse_args(arguments)


@pytest.mark.parametrize("name", MEASURED)
def test_pictures_are_drawn_from_results(name):
    for picture, figure in Study.load(name).pictures(results_of(name)).items():
        assert (FIGURES / f"{picture}.png").exists()
        assert f"run.py {name}" in (FIGURES / f"{picture}.txt").read_text(encoding="utf-8")
        assert figure.get_suptitle(), "a picture says in its title what there is to see"


# ---- the studies --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", study_names())
def test_a_study_has_the_shape(name):
    study = Study.load(name)
    assert study.description
    assert study.title
    assert digest_of_sources(Path(mvsim.__file__).parent, study.sources, study.path)
    parser = argparse.ArgumentParser()
    study.options(parser)
    parser.parse_args([])


def _set(*places):
    """Return a function that sets a value within results, at the end of a way of keys; the value stands last."""

    def spoil(results):
        *way, last, value = places
        for key in way:
            results = results[key]
        results[last] = value

    return spoil


SPOILED = {
    "adversary": _set("training", "random draws", "erm", "none", 1),
    "choices": _set("N", "rows", 0, "erm", "lost", 1),
    "exceptions": _set("k", "50", "by_W", 0),
    "paths": _set("4.6 r0=0.34*k^-0.22 k=6", "verdicts", 0, "status", "contradicted"),
    "permanence": _set("runs", "0", "views", [{"predicted": 20.0, "error": 0.1, "not_before": 19.0, "counted_on": 12.0, "came": 7.0}] * 3),
    "crash_safety": _set("failures", ["erm, kill 1"]),
    "default_separability": _set("default", "10", "not", 9),
    "default_regime": _set("rates", "rows", 0, "rule", [0.25, 0.03, 0.001]),
    "exactness": _set("states", 0, "errors", "gradient", 1e-11),
    "flow_accuracy": _set("erm, rtol = 0.001", "error", 0.1),
    "flow_candidates": _set("rows", 0, "error", None),
    "flow_designs": _set("rows", 0, "worst", None),
    "flow_rest": _set("rows", 1, "margins", [1.0]),
    "flow_resting": _set("k=20 erm", "resting", "errors", "dormant", 0.02),
    "flow_integrators": _set("k=10, P=6400", "flow", "settled", False),
    "flow_locality": _set("k=6", "kinds", "at predictions", "number", 0),
    "flow_hessians": _set("k=4", "kept", "evaluations", 10**9),
    "flow_crossings": _set("k=4", "last_escape", None),
    "flow_waiting": _set("k=6", "runs", "0", "settled", False),
    "flow_creeping": _set("designs", "as it is", "k=10, seed 0", "settled", False),
    "flow_literal": _set("rows", 0, "rise", 0.02),
    "flow_runs": _set("k=6 literal midpoint", "settled", False),
    "gpu": _set("exactness", "rows", 0, "gradient", 1e-9),
    "gd_limit": _set("erm", "slope", 2.0),
    "linear_in_network": _set("lost", 1),
    "linear_verdicts": _set("rows", 0, "status", 1, "fails"),
    "linear_regime": _set("separability", "over_k", 0, "status", "inconclusive"),
    "main_job": _set("settled", False),
    "performance": _set("general", "checks", 0, "ok", False),
    "phase_diagrams": _set("r0", "rows", 0, "erm", "lost", 1),
    "midpoint_escapes": _set("k=10", "runs", 0, "tau", 0.1),
    "proof_map": _set("erm scaled k=4", "broken", ["seed 0: Replay (states)"]),
    "readme_figure": _set("runs", "midpoint", "classes", "both", 9),
    "replays": _set("erm k=4", "runs", "0", "fails", ["Replay (states)"]),
    "first_hour": _set("site", "warnings", 3),
    "startup": _set("help_seconds", 0.4),
    "theorems": _set("controls", "sections", 0, "verdicts", 0, "status", "fails"),
    "fuzz": lambda results: results["failures"].append(
        {"kind": "words", "count": 1, "broken": "traceback", "where": "cli", "detail": "", "example": ""}
    ),
    "invariants": _set("rows", 0, "broken", ["the loss rises"]),
    "sweeps": _set("kills", "different_runs", [3]),
}
"""For each study a change of its results that it must judge as a fault."""

SMALL = {
    "default_separability": {"seeds": 10, "proved": {}, "default": {"10": {"not": 10}, "30": {"not": 0}}},
    "choices": {"N": {"k": 3, "rows": [{"value": 100, "erm": {"lost": 0}, "midpoint": {"lost": 0}}]}},
    "exceptions": {"k": {"50": {"classes": 10, "starts": 1, "right": 10, "by_W": 10, "base": 9}}},
    "paths": {
        "4.6 r0=0.34*k^-0.22 k=6": {"stopped": [], "verdicts": [{"name": "Theorem 4.6 (features), k = 6", "kind": "theorem", "status": "consistent"}]}
    },
    "linear_verdicts": {"k": [5, 8], "rows": [{"name": "Proposition 3.5", "status": ["holds", "holds"]}]},
    "permanence": {"runs": {"0": {"settled": 5.0, "views": [{"predicted": 7.0, "error": 0.1, "not_before": 6.9, "counted_on": 5.9, "came": 7.1}]}}},
    "flow_designs": {"rows": [{"evaluations": 4000, "worst": 0.1}]},
    "flow_rest": {
        "as_it_is": [0.5, 30.0],
        "reference": {"margins": [0.0], "escapes": [[1.0]]},
        "rows": [{"pair": pair, "rtol": 1e-3, "evaluations": 9, "margins": [0.0], "escapes": [[1.0]]} for pair in ([1.0, 1.0], [0.5, 30.0])],
    },
    "flow_resting": {
        "k=20 erm": {
            "parameters": {"k": 20, "m": 20, "V": 2},
            "escapes": 1,
            "apart": 1e-3,
            "control": 1.0,
            "resting": {"stepped": 0.2, "steps": 9, "evaluations": 20, "seconds": 1.0, "errors": {"all": 1e-3, "dormant": 1e-4}, "apart": 1e-3},
            "every": {"stepped": 1.0, "steps": 9, "evaluations": 20, "seconds": 2.0, "errors": {"all": 1e-3, "dormant": 1e-4}, "apart": 1e-3},
        }
    },
    "flow_integrators": {
        "k=10, P=6400": {
            name: {"settled": True, "gradients": 5000, "seconds": 9.0, "classes": {"both": 10, "one": 0, "none": 0}} for name in ("flow", "cvode")
        }
    },
    "flow_locality": {"k=6": {"kinds": {"at predictions": {"number": 1}}}},
    "flow_hessians": {"k=4": {design: {"evaluations": 10, "escapes": [1.0, 2.0]} for design in ("kept", "made anew")}},
    "flow_crossings": {"k=4": {"last_escape": 1.0}},
    "flow_waiting": {"k=6": {"seeds": 1, "runs": {"0": {"settled": True}}}},
    "flow_runs": {
        "k=6 literal midpoint": {
            "settled": True,
            "limit": 60.0,
            "seconds": 1.0,
            "evaluations": 10,
            "peak_bytes_so_far": 1,
            "targets": {"seconds": 2.0},
            "learned": [],
        }
    },
    "first_hour": {
        "readme": 4990,
        "first": {"seconds": 40.0},
        "screen": {"run.nc": {"lines": 20, "columns": 80}},
        "site": {"seconds": 60.0, "exit_code": 0, "warnings": 0, "notebooks": {"tutorial": 10.0}},
    },
    "fuzz": {"total": 1, "failures": []},
    "gpu": {"exactness": {"rows": [{"problem": {}, "method": "erm", "loss": 0.0, "gradient": 0.0, "same_bits": True, "control_differs": True}]}},
    "invariants": {"rows": [{"set": 0, "method": "erm", "broken": [], "warnings": []}]},
    "replays": {
        "erm k=4": {
            "seeds": 1,
            "runs": {"0": {"settled": True, "difference": 1.0, "dormant": 1e-6, "steps": 9, "gradients": 9, "fails": []}},
        }
    },
    "sweeps": {"kills": {"kills": 10, "exit_code": 0, "cells": 200, "same_table": True, "different_runs": []}},
}
"""Results of studies that have none committed, as far as they are judged."""


@pytest.mark.parametrize("name", study_names())
def test_a_judge_sees_a_fault(name):
    judge = Study.load(name).judge
    results = results_of(name) if name in MEASURED else SMALL[name]
    spoiled = copy.deepcopy(results)
    SPOILED[name](spoiled)
    assert len(judge(spoiled)) > len(judge(results))


def test_a_missed_target_is_told_from_a_failed_check():
    results = results_of("main_job") | {"status": "interrupted", "settled": False, "seconds": 1801.0, "peak_bytes": 1, "verify_exit_code": 1}
    assert list(map(headed, Study.load("main_job").judge(results))) == [
        ("Target missed", "stopped at 1801 s, not settled; target 300 s"),
        ("Check failed", "mvsim verify ends with exit code 1"),
    ]
    assert isinstance(TargetMissed("300 s"), str)


# ---- digests of the code ------------------------------------------------------------------------------------------------------------

CODE = '''"""What it does."""
from lib.part import size

NUMBER = 2
"""Its meaning."""


def options(parser):
    parser.add_argument("--d", default=3, help="the dimension")


def measure(options):
    """Measure."""
    return {"value": size(NUMBER), "d": options.d}


def judge(results):
    return []
'''
SAME = (
    ('"""Measure."""', '"""Measure, in other words."""\n    # and a comment'),
    ('"""Its meaning."""', '"""Another meaning."""'),
    ('{"value": size(NUMBER), "d": options.d}', "{\n        'value': (size(NUMBER)),\n        'd': options.d,\n    }"),
    ('help="the dimension"', 'help="dimension"'),
    ("return []", "return ['bad']"),
)
OTHER = (("NUMBER = 2", "NUMBER = 3"), ("default=3", "default=4"), ("options.d}", "options.d + 1}"))


@pytest.fixture
def code(tmp_path):
    """A package, and a study with a module that it shares: a function from names of files and changes to the digest."""
    (tmp_path / "package").mkdir()
    (tmp_path / "studies").mkdir()
    (tmp_path / "lib").mkdir()
    texts = {
        "package/kernel.py": "def kernel(x):\n    '''Return it.'''\n    return x\n",
        "package/plot.py": "def plot():\n    return 1\n",
        "lib/part.py": "UNIT = 1\n\ndef size(n):\n    return n * UNIT\n\ndef unused():\n    return 0\n",
        "studies/one.py": CODE,
    }

    def digest(file="lib/part.py", old="", new=""):
        for name, text in texts.items():
            assert name != file or old in text
            (tmp_path / name).write_text(text.replace(old, new) if name == file and old else text, encoding="utf-8")
        return digest_of_sources(tmp_path / "package", ["kernel"], tmp_path / "studies" / "one.py")

    return digest


@pytest.mark.parametrize(("old", "new"), SAME)
def test_words_and_formatting_do_not_outdate_a_result(code, old, new):
    assert code("studies/one.py", old, new) == code()


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_another_setup_outdates_a_result(code, old, new):
    assert code("studies/one.py", old, new) != code()


@pytest.mark.parametrize(
    ("file", "old", "new", "same"),
    [
        ("package/kernel.py", "return x", "return 2 * x", False),
        ("package/kernel.py", "Return it", "Return x", True),
        ("package/plot.py", "return 1", "return 2", True),  # not among the sources of the study
        ("lib/part.py", "UNIT = 1", "UNIT = 2", False),
        ("lib/part.py", "return 0", "return 3", True),
    ],
)
def test_the_code_that_is_measured_outdates_a_result(code, file, old, new, same):
    assert (code(file, old, new) == code()) is same


def test_what_only_words_a_run_outdates_a_result_where_it_is_named(tmp_path):
    (tmp_path / "simulation").mkdir()

    def digests(words):
        (tmp_path / "simulation" / "words.py").write_text(f"SAID = {words!r}\n", encoding="utf-8")
        (tmp_path / "simulation" / "session.py").write_text("STEPS = 1\n", encoding="utf-8")
        return [digest_of_sources(tmp_path, [name]) for name in ("simulation", "simulation.words", "")]

    assert [before == after for before, after in zip(digests("one"), digests("two"), strict=True)] == [True, False, False]


def test_a_source_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MissingSourceError, match=r"'kernels\.gone'"):
        digest_of_sources(tmp_path, ["kernels.gone"])


# ---- results and stamps on disk -----------------------------------------------------------------------------------------------------


def _study(**changes):
    """Return a small study."""
    parts = {
        "name": "exactness", "description": "d", "title": "t", "sources": ("losses",), "reads": (), "options": lambda parser: None,
        "measure": lambda options: {}, "judge": lambda results: [], "headline": lambda results: "All is well", "passage": lambda results: "",
        "numbers": lambda results: [], "quotes": lambda results: [], "citations": lambda results: {}, "pictures": lambda results: {},
    }  # fmt: skip
    return Study(**parts | changes)


def test_a_result_is_current_until_the_code_changes(tmp_path):
    study = _study()
    assert standing(study, tmp_path) == "no results"
    ResultsFile(study, tmp_path, "c").write({"a": 1})
    assert standing(study, tmp_path) == "current"
    assert standing(_study(sources=("losses", "linalg")), tmp_path).startswith("outdated")


def test_a_result_is_older_once_one_that_it_starts_from_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr("lib.stamps.RESULTS", tmp_path)
    first = _study(name="exceptions")
    second = _study(reads=("exceptions",))
    ResultsFile(first, tmp_path, "c").write({"a": 1})
    ResultsFile(second, tmp_path, "c").write({"b": 1})
    assert standing(second, tmp_path) == "current"
    ResultsFile(first, tmp_path, "c").write({"a": 2})
    assert standing(second, tmp_path).startswith("outdated")


def test_a_stamp_has_to_say_that_its_result_is_older_and_only_then(tmp_path):
    study = _study()
    ResultsFile(study, tmp_path, "c").write({"a": 1})
    stamp = stamps_in(tmp_path)["exactness"]
    write_stamp(tmp_path, "exactness", stamp | {"older": "Not repeated."})
    assert standing(study, tmp_path).startswith("mislabelled")
    assert standing(_study(sources=("linalg",)), tmp_path) == "older than the code: Not repeated."


def test_a_result_that_was_changed_is_not_the_stamped_one(tmp_path):
    study = _study()
    ResultsFile(study, tmp_path, "c").write({"a": 1})
    (tmp_path / "exactness.json").write_text('{"a": 2}\n')
    assert standing(study, tmp_path).startswith("not stamped")


def test_results_that_go_on_from_older_ones_stay_as_old(tmp_path):
    before = _study(sources=("linalg",))
    ResultsFile(before, tmp_path, "first").write({"a": 1, "b": 1})
    write_stamp(tmp_path, "exactness", stamps_in(tmp_path)["exactness"] | {"revision": "0000000", "older": "Not repeated."})
    now = _study()
    going_on = ResultsFile(now, tmp_path, "second")
    assert not going_on.is_current
    assert going_on.measure_parts(["b", "c"], lambda name: 2) == {"a": 1, "b": 2, "c": 2}
    stamp = stamps_in(tmp_path)["exactness"]
    assert (stamp["revision"], stamp["command"]) == ("0000000", "second")
    assert standing(now, tmp_path) == "older than the code: Not repeated."
    afresh = ResultsFile(now, tmp_path, "third")
    assert afresh.measure_parts(["a", "b", "c"], lambda name: 3) == {"a": 3, "b": 3, "c": 3}
    assert standing(now, tmp_path) == "current"


def _measured_rows(file, values, seeds=10):
    """Measure rows of part t and return the values that were measured."""
    measured = []

    def row(name, value):
        measured.append(value)
        return {"square": value**2}

    file.measure_rows({"t": values}, row, lambda name: {"seeds": seeds})
    return measured


def test_rows_that_the_present_code_has_measured_are_not_measured_again(tmp_path):
    study = _study()
    assert _measured_rows(ResultsFile(study, tmp_path, "c"), [3, 1]) == [3, 1]
    again = ResultsFile(study, tmp_path, "c")
    assert _measured_rows(again, [1, 2, 3]) == [2]
    assert again.read() == {"t": {"seeds": 10, "rows": [{"value": value, "square": value**2} for value in (1, 2, 3)]}}
    assert _measured_rows(ResultsFile(study, tmp_path, "c"), [1], seeds=20) == [1]
    assert again.read() == {"t": {"seeds": 20, "rows": [{"value": 1, "square": 1}]}}, "rows with other facts do not stay"


def test_rows_of_names_stay_in_the_order_in_which_they_are_asked_for(tmp_path):
    for names in (["late"], ["late", "early", "at no time"]):
        ResultsFile(_study(), tmp_path, "c").measure_rows({"t": names}, lambda name, value: {}, lambda name: {})
    assert _values_of_rows(tmp_path) == ["late", "early", "at no time"]


def test_tables_and_other_parts_that_are_measured_in_one_call_make_results_current(tmp_path):
    before, now = _study(sources=("linalg",)), _study()
    for study in (before, now):
        ResultsFile(study, tmp_path, "c").measure_rows({"t": [1], "u": ["a"]}, lambda name, value: {}, lambda name: {})
    assert standing(now, tmp_path) == "current"


def test_what_another_call_measures_meanwhile_stays(tmp_path):
    def while_another_measures(name, value):
        ResultsFile(_study(), tmp_path, "c").measure_rows({"other": [value]}, lambda name, value: {}, lambda name: {})
        return {}

    results = ResultsFile(_study(), tmp_path, "c").measure_rows({"t": [1, 2]}, while_another_measures, lambda name: {})
    assert {name: [row["value"] for row in part["rows"]] for name, part in results.items()} == {"t": [1, 2], "other": [1, 2]}


def test_rows_are_kept_as_soon_as_they_are_there(tmp_path):
    study = _study()

    def stops(name, value):
        if value == 2:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        ResultsFile(study, tmp_path, "c").measure_rows({"t": [1, 2, 3]}, stops, lambda name: {})
    assert _values_of_rows(tmp_path) == [1]
    assert standing(study, tmp_path) == "current"


def _values_of_rows(folder):
    return [row["value"] for row in json.loads((folder / "exactness.json").read_text(encoding="utf-8"))["t"]["rows"]]


def test_rows_of_earlier_code_are_measured_again_and_those_that_stay_say_that_they_are_older(tmp_path):
    before, now = _study(sources=("linalg",)), _study()
    _measured_rows(ResultsFile(before, tmp_path, "c"), [1, 2])
    write_stamp(tmp_path, "exactness", stamps_in(tmp_path)["exactness"] | {"older": "Not repeated."})
    assert _measured_rows(ResultsFile(now, tmp_path, "c"), [2]) == [2]
    assert _values_of_rows(tmp_path) == [1, 2]
    assert standing(now, tmp_path) == "older than the code: Not repeated."
    assert _measured_rows(ResultsFile(now, tmp_path, "c"), [1, 2]) == [1, 2]
    assert standing(now, tmp_path) == "current"


def test_a_stamp_names_no_place_of_this_machine():
    text = json.dumps(present_stamp(_study(), "python validation/run.py exactness"))
    assert str(VALIDATION) not in text
    assert "/" not in text.replace("validation/run.py", "")


# ---- agreement ----------------------------------------------------------------------------------------------------------------------


def test_the_same_run_has_one_name_however_it_is_given():
    assert run_name({"k": 10}, "erm") == run_name(mvsim.Parameters(k=10).model_dump(mode="json"), "erm", rtol=1e-3)
    others = [run_name({"k": 10}, "midpoint"), run_name({"k": 10}, "erm", 1), run_name({"k": 10}, "erm", t_end=1.0), run_name({"k": 11}, "erm")]
    assert run_name({"k": 10}, "erm") not in others
    assert len(set(others)) == 4


def test_two_passages_that_differ_on_a_run_are_found():
    stated = {"one": [Number("run", "steps", 10), Number("run", "gradients", 20)], "other": [Number("run", "steps", 11)]}
    assert contradictions(stated) == ["steps: 10 in one, 11 in other, of the run run"]
    assert contradictions({"one": stated["one"], "other": [Number("another run", "steps", 11)]}) == []


# ---- the command --------------------------------------------------------------------------------------------------------------------


def test_the_command_measures_judges_and_keeps(tmp_path, capsys):
    def options(parser):
        parser.add_argument("--size", type=int, default=1)

    study = _study(
        options=options,
        measure=lambda given: {"size": given.size, "pair": (1, 2)},
        judge=lambda results: [] if results["size"] < 3 else [f"size {results['size']}"],
        passage=lambda results: f"It is {results['size']}, {results['pair']}.",
    )
    assert run.run_study(study, ["--size", "2", "--results-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "All is well.\n\nIt is 2, [1, 2].\nexactness: holds\n"
    assert run.run_study(study, ["--size", "3", "--results-dir", str(tmp_path)]) == 1
    assert "Check failed: size 3\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "exactness.json").read_text()) == {"size": 3, "pair": [1, 2]}
    assert stamps_in(tmp_path)["exactness"]["command"] == "python validation/run.py exactness --size 3"


def test_a_study_draws_what_it_measured_and_again_from_its_results(tmp_path, capsys, monkeypatch):
    def pictures(results):
        figure = Figure(figsize=(1.0, 1.0))
        figure.text(0.1, 0.5, str(results["size"]))
        return {"size": figure}

    study = _study(options=lambda parser: None, measure=lambda given: {"size": 2}, pictures=pictures)
    assert run.run_study(study, ["--results-dir", str(tmp_path)]) == 0
    first = (tmp_path / "size.png").read_bytes()
    assert (tmp_path / "size.txt").read_text() == "size.png is made by: python validation/run.py exactness\n"
    (tmp_path / "size.png").unlink()
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "FIGURES", tmp_path)
    monkeypatch.setattr(Study, "load", lambda name: study)
    assert run.main(["--draw", "exactness"]) == 0
    assert capsys.readouterr().out.endswith("exactness: size\n")
    assert (tmp_path / "size.png").read_bytes() == first


def test_a_command_names_no_place_of_this_machine():
    given = ["--runs", "/tmp/runs", "--seeds", "1", "--results-dir=/tmp/results", "--only", "k=10, t=1e12"]
    assert run.command_of(_study(), given) == "python validation/run.py exactness --seeds 1 --only 'k=10, t=1e12'"


def test_the_command_refuses_what_it_does_not_know(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["exactitude"])
    assert "'exactness'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        run.main(["--results", "--note", "exactitude", "words"])
    assert "exactitude: has no results" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        run.main(["--draw", "exactitude"])
    assert "'exactness'" in capsys.readouterr().err
