"""The report of runs and of sweeps: one valid HTML file that refers to nothing else, and says what the verdicts say."""

import html
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from sweep_folder import filled
from synthetic import saved, synthetic_run

import mvsim
from mvsim.base.errors import UsageError
from mvsim.judging.answer_text import answer_sentences, regime_sentence, regime_words
from mvsim.judging.number_text import short_margin
from mvsim.judging.statement import Section
from mvsim.judging.verdict import Count, Verdict
from mvsim.multi_view.parameters import regime_word
from mvsim.papers.midpoint_mixup.paper import PAPER
from mvsim.reports.content import Report, report_of_runs, report_of_sweep, sweep_command
from mvsim.reports.page import page
from mvsim.sweeps.study import Study

VOID = {"meta", "input", "br", "link", "img", "hr"}
SVG_ONLY = {"path", "use", "g", "defs", "clippath", "rect", "style", "svg", "text", "line"}

REGIME = "scaled: d, premises of the proofs"
VERDICTS = [
    Verdict(
        "Theorem 4.6 (features)",
        "holds",
        "exactly one feature & no other",
        0.95,
        0.9,
        0.0556,
        "19 of 20 classes <of all>",
        None,
        "scaled: d, premises of the proofs",
        "theorem",
        "4.6",
        "features",
        subject="Theorem 4.6",
        count=Count(19, 20, "classes", outcome="ERM learned exactly one feature"),
    ),
    Verdict("Definition 4.5", "measured", "fraction of features", 0.5, number="4.5"),
    Verdict("Corollary B.26", "measured", "correlations do not fall", 0.4, 0.01, -39.0, "worst neuron"),
    Verdict("Replay (states)", "fails", "records are met", 0.9, 1.0, -0.1, kind="evidence"),
    Verdict("Claim B.22", "contradicted", "is negative", 0.9, 1.0, -0.1),
    Verdict("Gradient flow", "inconclusive", "no tolerance is named", kind="evidence"),
    Verdict("Claim B.24", "not applicable", "no class has a gap"),
]
SECTIONS = [Section("erm.nc", VERDICTS, "in erm.nc", [["d", "premises of the proofs"]], "<made up>")]


class Checked(HTMLParser):
    """Collects what is wrong with a page: tags that do not match, names given twice, references to nothing or to somewhere else."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.ids, self.used, self.text, self.rows = [], [], [], [], [], 0
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [f"id {name} twice" for name in sorted(set(self.ids)) if self.ids.count(name) > 1]
        self.faults += [f"#{name} is nowhere" for name in sorted(set(self.used) - set(self.ids))]

    def handle_starttag(self, tag, attributes):
        self._look_at(tag, dict(attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self._look_at(tag, dict(attributes))
        if tag not in SVG_ONLY | VOID:
            self.faults.append(f"<{tag}/> is no void element")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def _look_at(self, tag, attributes):
        self.rows += "data-status" in attributes
        self.ids += [attributes["id"]] if "id" in attributes else []
        for name in ("href", "xlink:href", "for"):
            target = attributes.get(name)
            if target is not None:
                self.used.append(target.removeprefix("#"))
        self.used += re.findall(r"url\(#([^)]+)\)", " ".join(value or "" for value in attributes.values()))
        for name in ("src", "srcset", "action", "data", "poster"):
            if name in attributes:
                self.faults.append(f"<{tag} {name}=...>")


def test_the_checks_see_faults():
    assert Checked('<p id="a"></p><p id="a"></p>').faults == ["id a twice"]
    assert Checked("<p><b></p>").faults
    assert Checked('<a href="#b"></a>').faults == ["#b is nowhere"]
    assert Checked('<a href="https://x.org"></a>').faults == ["#https://x.org is nowhere"]
    assert Checked('<img src="x.png">').faults == ["<img src=...>"]
    assert Checked('<p id="a"><br></p><a href="#a">b</a>').faults == []


OWN_DEPARTURE = {"name": "V", "value": "3", "assumed": "2", "statement": "as if V = 3 instead of 2"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs: the second has not settled, and has a departure of its own."""
    usual = synthetic_run("midpoint", k=4).provenance["regime"]
    made = synthetic_run("erm", k=4), synthetic_run("midpoint", k=4, settled=False, regime=[*usual, OWN_DEPARTURE])
    folder = tmp_path_factory.mktemp("report")
    return [saved(run, folder / f"{run.method}.nc") for run in made]


@pytest.fixture(scope="module")
def of_runs(runs):
    return page(report_of_runs(runs, SECTIONS, "mvsim report erm.nc midpoint.nc"))


@pytest.fixture
def of_sweep(tmp_path):
    values = {"k": 3, "r0": "0.1,0.4", "method": "erm,midpoint", "seed": "0:2"}
    folder = filled(tmp_path / "runs", values, leave_out=[1])
    folder.record_failure(folder.study.cells[1], "StalledError", "stuck at <t> = 3")
    return page(report_of_sweep(mvsim.open_runs(folder.path), SECTIONS, "mvsim report runs"))


@pytest.mark.parametrize("which", ["of_runs", "of_sweep"])
def test_a_page_is_valid_and_needs_nothing_else(request, which):
    text = request.getfixturevalue(which)
    checked = Checked(text)
    assert checked.faults == []
    assert text.startswith("<!DOCTYPE html>")
    outside = set(re.findall(r"https?://[^\s\"'<]+", text)) - {"http://www.w3.org/1999/xlink"}
    assert outside == set()
    assert "@import" not in text


def test_a_linear_run_is_called_that_in_the_title(tmp_path):
    run = mvsim.simulate(mvsim.Parameters(k=3, model="linear", N=9, d=10), "erm", t_end=1.0, n_test=2)
    report = report_of_runs([run], [], "mvsim report a.nc")
    assert report.title == report.provenance[0].title == "linear model, ERM, k = 3, seed 0"
    assert regime_word(run.regime) in run.summary  # which has a part of its own in a report
    (told,) = report.summary
    assert told.splitlines() == run.summary.splitlines()[:-1]


def test_what_departs_is_told_for_each_regime():
    regimes = [["d", "P delta3"], ["N"], []]
    assert regime_sentence(regimes) == "Departs from what the theorems assume in d and P delta3 or N or nothing."
    assert regime_words(regimes, "") == "departs in d, P delta3 / departs in N / as the theorems assume"
    assert regime_words([["d", "P delta3"], ["d", "N"]], "") == "d below k^20; 2 more departures"
    assert regime_words([], "as written") == "as written"


def test_all_checks_and_the_headline_are_there(of_runs):
    checked = Checked(of_runs)
    assert checked.rows == len(VERDICTS) + 2  # theorems and definition stand at the top too
    words = " ".join("".join(checked.text).split())
    answer = "Theorem 4.6 holds in erm.nc (ERM learned exactly one feature in 19 of 20 classes). 0 of 2 checks of the runs passed: "
    assert f"ERM, k = 4, seed 0; Midpoint Mixup, k = 4, seed 0 {answer}Replay (states) fails, Gradient flow is undecided." in words
    for part in ("exactly one feature & no other", "19 of 20 classes <of all>", "+6%", "measured, beyond the bound"):
        assert part in words
    assert "3900" not in words  # per cent, which say nothing beyond a hundred
    assert of_runs.index('class="summary"') < of_runs.index("data-status")
    for part in ("(7 checks; <made up>)", "delta3", "mvsim simulate --k 3", "mvsim report erm.nc midpoint.nc", "sources", "numpy"):
        assert part in words


def test_the_regime_is_that_of_the_verdicts(of_runs):
    words = " ".join("".join(Checked(of_runs).text).split())
    assert "Departs from what the theorems assume in d and premises of the proofs. Departures of the parameters from Assumption 4.3:" in words


def test_a_departure_that_not_all_runs_have_is_told_with_those_that_have_it(runs, of_runs):
    items = re.findall(r'<li>(.*?)(?: <span class="detail">\((.*)\)</span>)?</li>', of_runs)
    common = {departure.statement: "" for departure in runs[0].regime}
    assert {html.unescape(statement): which for statement, which in items} == common | {OWN_DEPARTURE["statement"]: "midpoint, k = 4, seed 0"}


def test_a_page_tells_the_run_that_has_settled_from_the_one_that_has_not(of_runs):
    states = re.findall(r'<summary>([^<]*)</summary>\s*<table>.*?<th scope="row">state</th><td>(.*?)</td>', of_runs, flags=re.DOTALL)
    assert states == [("ERM, k = 4, seed 0", "finished, settled"), ("Midpoint Mixup, k = 4, seed 0", "finished, not settled")]


@pytest.mark.parametrize(("margin", "told"), [(0.004, ""), (0.05, "+5%"), (0.5, "+50%"), (-0.75, "-75%"), (0.99, "+99%"), (1.0, ""), (-39.0, "")])
def test_a_margin_is_told_unless_it_is_nothing_or_everything(margin, told):
    assert short_margin(Verdict("Claim B.26", "measured", "s", 1.0, 2.0, margin)) == told


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("established", "is established (probability at least 1 - 1/k, to the end of the runs) at k = 5 (holds in 9 of 10 runs, 1 undecided)."),
        ("consistent", "is consistent with the runs but not established at k = 5 (holds in 9 of 10 runs, 1 undecided)."),
        ("inconclusive", "is undecided at k = 5 (holds in 9 of 10 runs, 1 undecided)."),
        ("contradicted", "is contradicted by the runs at k = 5 (holds in 9 of 10 runs, 1 undecided)."),
    ],
)
def test_the_answer_names_the_theorem_and_counts_the_checks_apart(status, words):
    about = {"kind": "theorem", "number": "4.6", "subject": "Theorem 4.6"}
    joint = Verdict("Theorem 4.6, k = 5", status, "all of it", count=Count(9, 10, "runs", undecided=1), **about)
    part = Verdict("Theorem 4.6 (features), k = 5", "consistent", "one", part="features", **about)
    trend = Section("Theorem 4.6, trend in k", [Verdict("Theorem 4.6 (trend in k)", "measured", "largest", 1.0, **about)])
    sections = [Section("Theorem 4.6, k = 5, 10 runs", [joint] if status == "established" else [joint, part], "at k = 5"), trend]
    assert Report("", [], sections, {}).answer == f"Theorem 4.6 {words}"
    on_the_way = Verdict("Replay", "holds", "records are met", kind="evidence")
    sections += [Section("", [on_the_way])]
    assert Report("", [], sections, {}).answer == f"Theorem 4.6 {words} 1 of 1 checks of the runs passed."


def test_the_answer_on_a_run_says_what_was_learned():
    about = {"kind": "theorem", "number": "4.7", "subject": "Theorem 4.7"}
    both = Count(3, 4, "classes", outcome="Midpoint Mixup learned both features")
    parts = [
        Verdict("what the network says", "fails", "accuracy", 0.9, part="training accuracy", **about),
        Verdict("what it has learned", "inconclusive", "both", part="features", count=both, **about),
    ]
    said = "Theorem 4.7 fails in a.nc (Midpoint Mixup learned both features in 3 of 4 classes, training accuracy 0.9)"
    assert answer_sentences([Section("a.nc", parts, "in a.nc")]) == [f"{said}."]
    many = [Section(f"{name}.nc", parts[1:], f"in {name}.nc") for name in "abcde"]
    assert answer_sentences(many)[0].endswith("in c.nc (Midpoint Mixup learned both features in 3 of 4 classes) and 2 more.")
    of_lemma = {"kind": "theorem", "number": "3.2", "subject": "Lemma 3.2", "gathered": "everywhere"}
    results = [
        Verdict(f"Lemma 3.2 ({part}), k = {k}", status, "it is so", part=part, **of_lemma)
        for k in (5, 6)
        for part, status in (("sufficiency", "holds"), ("necessity", "holds"), ("as written", "fails"))
    ]
    assert answer_sentences([Section("Lemma 3.2", results)]) == ["Lemma 3.2: fails (as written); holds (sufficiency and necessity)."]


def test_without_a_theorem_the_answer_says_so():
    none = Verdict("Theorems 4.6 and 4.7", "not applicable", "accuracy", kind="theorem")
    passed = Verdict("Replay", "holds", "records are met", kind="evidence")
    told = ["No theorem was judged, and no check of the runs failed.", "1 of 1 checks of the runs passed."]
    assert answer_sentences([Section("mixup.nc", [none, passed])]) == told


def test_the_answer_is_about_what_was_asked():
    verdicts = [
        Verdict("Theorem 4.6", "contradicted", "one", kind="theorem", number="4.6", subject="Theorem 4.6"),
        Verdict("Corollary B.26", "holds", "sign", number="B.26"),
    ]
    asked_by_name = Report("", [], [Section("", verdicts)], {}, statements=[PAPER.statement("B.26"), PAPER.statement("B.22")], code=0)
    assert asked_by_name.answer == "Steps that were asked for: 1 holds. B.22 is about losses of mixed points: nothing is said of it here."
    both = [replace(verdicts[0], status="established"), replace(verdicts[1], status="contradicted")]
    strict = Report("", [], [Section("", both)], {}, statements=[PAPER.statement("4.6")], strict=True, code=1)
    contradicted = "Steps that were asked for: 1 contradicted (Corollary B.26)."
    assert strict.answer == f"Theorem 4.6 is established (probability at least 1 - 1/k, to the end of the runs). {contradicted}"


def test_contradicted_steps_that_nobody_asked_for_are_told_beside_the_answer():
    holds = Verdict("Theorem 4.6", "holds", "one", kind="theorem", number="4.6", subject="Theorem 4.6")
    steps = [
        Verdict(f"Corollary {number}, k = {k}", "contradicted", "s", number=number, check=f"Corollary {number}")
        for number in ("B.18", "B.26")
        for k in (4, 6)
    ]
    answer = Report("", [], [Section("", [holds, *steps])], {}).answer
    assert answer == ("Theorem 4.6 holds. Steps of the proofs that are contradicted, which decides no theorem: Corollary B.18, Corollary B.26.")
    assert Report("", [], [Section("", [holds])], {}).answer == "Theorem 4.6 holds."


def test_a_sweep_says_what_is_done_and_what_failed(of_sweep):
    words = " ".join("".join(Checked(of_sweep).text).split())
    assert "7 of 8 cells are done, 1 failed" in words
    assert "stuck at <t> = 3" in words
    assert "--r0 0.1,0.4" in words


@pytest.mark.parametrize(
    ("values", "zips", "regime"),
    [
        ({"k": "3,4", "r0": "0.1,0.4", "method": "erm,midpoint", "seed": "0:3"}, (), "scaled"),
        ({"k": "6,10", "d": "5000,20000", "n_test": 7, "t_end": 1e6}, [["k", "d"]], "scaled"),
        ({"k": "3,4", "method": "mixup", "mixing": [0.3, {"distribution": "beta", "args": [2, 2]}], "C_P": 1}, (), "literal"),
        ({"k": 3, "signal_layout": "fixed", "integrator": "gd", "eta": 3}, (), "scaled"),
    ],
)
def test_the_command_in_the_report_makes_the_same_cells(tmp_path, capsys, values, zips, regime):
    import shlex

    from mvsim.cli import main
    from mvsim.sweeps.folder import SweepFolder
    from mvsim.sweeps.runs import SweepRuns

    folder = SweepFolder.create(tmp_path / "runs", Study.of(values, zips, regime))
    words = shlex.split(sweep_command(SweepRuns(folder)))
    assert words[0] == "mvsim"
    assert main([*words[1:], "--cells"]) == 0
    assert int(capsys.readouterr().out) == len(folder.study.cells)
    assert main([*words[1:], "--cell", str(len(folder.study.cells))]) == 2  # the folder took it for its own study, which has no such cell
    assert "cell=" in capsys.readouterr().err


def test_the_same_page_each_time(runs, of_runs):
    assert page(report_of_runs(runs, SECTIONS, "mvsim report erm.nc midpoint.nc")) == of_runs


def test_without_verdicts_it_says_so(runs):
    words = "".join(Checked(page(report_of_runs(runs[:1], [], "mvsim report"))).text)
    assert "The runs were not judged." in words
    assert "holds" not in words


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r"report: needs Jinja2, which is not installed; install it with `pip install \"\.\[report\]\"` where"):
        page(Report("", [], [], {}))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("size", ["390,800", "1300,900"])
def test_a_browser_shows_it(of_runs, tmp_path, size):
    """The search is run in the page itself: what a reader types leaves the rows that have it. Nothing is wider than a phone."""
    probe = """<script>window.addEventListener("load", function () {
      var box = document.getElementById("words"); box.value = "records ARE MET"; box.dispatchEvent(new Event("input"));
      document.title = "shown " + document.querySelectorAll("#checks tbody tr:not([hidden])").length
        + " wide " + (document.documentElement.scrollWidth > window.innerWidth); });</script></body>"""
    place = tmp_path / "report.html"
    place.write_text(of_runs.replace("</body>", probe))
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={size}", f"--user-data-dir={tmp_path / 'profile'}"]
    answer = subprocess.run([*command, "--dump-dom", place.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"<title>(.*?)</title>", answer.stdout)[1] == "shown 1 wide false"
