"""The committed results: each says what measured it, the page is rendered from them, README and documentation quote them, and judges see faults."""

import argparse
import copy
import json
import re
import shlex

from lib.faults import TargetMissed, headed
from lib.page import ORDER, page
from lib.paths import FIGURES, PAGE, RESULTS, ROOT
from lib.release import QUOTED, outside
from lib.results import read, results_of
from lib.stamps import commits_since, git
from lib.study import Study, study_names

MEASURED = sorted(path.stem for path in RESULTS.glob("*.json"))


def without_counts(text):
    """The page without the counts of later commits, which change with every commit."""
    return re.sub(r"\((\d+|\?) commits? since\)", "(since)", text)


def test_each_result_says_what_measured_it():
    assert sorted(ORDER) == study_names()
    assert set(MEASURED) == set(ORDER)
    for name in MEASURED:
        for stamp in read(RESULTS / f"{name}.json")["measured"]:
            assert stamp.keys() == {"revision", "date", "machine", "versions", "command"}, name
            assert stamp["command"].startswith("python validation/run.py "), name
            assert re.fullmatch("[0-9a-f]{7}", stamp["revision"]), name
            assert "/" not in json.dumps(stamp).replace("validation/run.py", ""), f"{name}: a stamp names no place of a machine"


def test_the_page_is_rendered_from_the_results():
    text = PAGE.read_text(encoding="utf-8")
    assert without_counts(text) == without_counts(page(RESULTS)), "run python validation/run.py --results"
    assert len(re.findall(r"\(\d+ commits? since\)", text)) == sum(len(read(RESULTS / f"{name}.json")["measured"]) for name in MEASURED)


def test_commits_of_a_revision_that_the_clone_lacks_are_not_counted():
    assert commits_since("0000000") == "? commits"
    assert commits_since("HEAD") == ("0 commits" if git("rev-parse", "HEAD") else "? commits")


def test_passages_begin_with_what_came_out_and_what_is_wrong():
    text = PAGE.read_text(encoding="utf-8")
    overview = text.split("\n## ")[0]
    for name in MEASURED:
        study, results = Study.load(name), results_of(name)
        headline = study.headline(results)
        assert headline, name
        assert headline in overview, name
        assert not headline.endswith("."), name
        faults = [f"- **{kind}:** {words}" for kind, words in map(headed, study.judge(results))]
        begins = f"## {study.title}\n\n{headline}.\n\n" + ("\n".join(faults) + "\n\n" if faults else "") + "*Revision "
        assert begins in text, name


def test_the_readme_says_what_was_measured():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    quotes = [quote for name in MEASURED for quote in Study.load(name).quotes(results_of(name))]
    assert len(quotes) >= 20
    assert [quote for quote in quotes if " ".join(quote.split()) not in readme] == []


def test_every_quoted_number_has_an_interval_in_which_it_lies():
    quoting = {name: quotes for name in MEASURED if (quotes := Study.load(name).quotes(results_of(name)))}
    assert quoting.keys() == QUOTED.keys()
    assert [words for name, quotes in quoting.items() for words in outside(name, quotes)] == []


def test_a_quoted_number_that_leaves_its_interval_is_found():
    (quote,) = Study.load("main_job_escapes").quotes(results_of("main_job_escapes"))
    assert outside("main_job_escapes", [re.sub(r"after \d+ minutes", "after 90 minutes", quote)]) != []
    assert outside("main_job_escapes", [quote.replace("both", "no")]) != []
    assert outside("main_job_escapes", []) != []


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


def test_pictures_are_drawn_from_results():
    for name in MEASURED:
        for picture, figure in Study.load(name).pictures(results_of(name)).items():
            assert (FIGURES / f"{picture}.png").exists(), picture
            assert f"run.py {name}" in (FIGURES / f"{picture}.txt").read_text(encoding="utf-8"), picture
            assert figure.get_suptitle(), f"{picture}: a picture says in its title what there is to see"


def test_studies_describe_themselves_and_need_no_options():
    for name in study_names():
        study, parser = Study.load(name), argparse.ArgumentParser()
        assert study.description, name
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
    "default_separability": _set("default", "10", "not", 9),
    "default_regime": _set("rates", "rows", 0, "rule", [0.25, 0.03, 0.001]),
    "escapes": _set("k = 6, seed 0", "other_features", 3),
    "escape_bounds": _set("k = 10, seed 1", "as they are", "escapes", "times", 0, 0, 1.0),
    "escape_costs": _set("k = 20", "parts", "gradient of all neurons", "calls", 10**9),
    "escape_references": _set("k = 50, seed 0, flow, rtol = 0.0001", "times", 1, 1, 4.54e8),
    "flow_accuracy": _set("erm, rtol = 0.001", "error", 0.1),
    "flow_literal": _set("rows", 0, "rise", 0.02),
    "flow_runs": _set("k=6 literal midpoint", "settled", False),
    "integrator_designs": _set("k=20: escapes", "evaluations", 10**9),
    "gpu": _set("exactness", "rows", 0, "gradient", 1e-9),
    "linear_in_network": _set("lost", 1),
    "linear_verdicts": _set("rows", 0, "status", 1, "fails"),
    "linear_regime": _set("separability", "over_k", 0, "status", "inconclusive"),
    "main_job": _set("settled", False),
    "main_job_escapes": _set("settled", False),
    "performance": _set("general", "checks", 0, "ok", False),
    "midpoint_escapes": _set("k=10", "runs", 0, "tau", 0.1),
    "minimum_variance_figures": _set("forgetting", "0.05", "slope", 1.0),
    "minimum_variance_views": _set("rows", "unequal, label smoothing 0.1", "interval", [0.4, 0.5]),
    "proof_map": _set("erm scaled k=4", "broken", ["seed 0: Replay (states)"]),
    "readme_figure": _set("runs", "midpoint", "classes", "both", 9),
    "theorems": _set("controls", "sections", 0, "verdicts", 0, "status", "fails"),
    "invariants": _set("rows", 0, "broken", ["the loss rises"]),
    "sweeps": _set("kills", "different_runs", [3]),
}
"""For each study a change of its results that it must judge as a fault."""


def test_a_judge_sees_a_fault():
    assert SPOILED.keys() == set(study_names())
    for name, spoil in SPOILED.items():
        judge, results = Study.load(name).judge, results_of(name)
        spoiled = copy.deepcopy(results)
        spoil(spoiled)
        assert len(judge(spoiled)) > len(judge(results)), name


def test_a_missed_target_is_told_from_a_failed_check():
    results = results_of("main_job") | {"status": "interrupted", "settled": False, "seconds": 1801.0, "peak_bytes": 1, "verify_exit_code": 1}
    assert list(map(headed, Study.load("main_job").judge(results))) == [
        ("Target missed", "stopped at 1801 s, not settled; target 300 s"),
        ("Check failed", "mvsim verify ends with exit code 1"),
    ]
    assert isinstance(TargetMissed("300 s"), str)
