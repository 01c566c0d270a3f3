"""The command that measures studies: what it writes and draws, what it keeps, and what it refuses."""

import json

import pytest
import run
from lib import stamps
from lib.paths import VALIDATION
from lib.results import ResultsFile, read
from lib.study import Study
from matplotlib.figure import Figure


def study(**changes):
    """Return a small study."""
    parts = {
        "name": "sweeps", "description": "d", "title": "t", "options": lambda parser: None, "measure": lambda options: {},
        "judge": lambda results: [], "headline": lambda results: "All is well", "passage": lambda results: "",
        "quotes": lambda results: [], "citations": lambda results: {}, "pictures": lambda results: {},
    }  # fmt: skip
    return Study(**parts | changes)


def test_the_command_measures_judges_and_keeps(tmp_path, capsys):
    one = study(
        options=lambda parser: parser.add_argument("--size", type=int, default=1),
        measure=lambda given: {"size": given.size, "pair": (1, 2)},
        judge=lambda results: [] if results["size"] < 3 else [f"size {results['size']}"],
        passage=lambda results: f"It is {results['size']}, {results['pair']}.",
    )
    assert run.run_study(one, ["--size", "2", "--results-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "All is well.\n\nIt is 2, [1, 2].\nsweeps: holds\n"
    assert run.run_study(one, ["--size", "3", "--results-dir", str(tmp_path)]) == 1
    assert "Check failed: size 3\n" in capsys.readouterr().out
    file = json.loads((tmp_path / "sweeps.json").read_text())
    assert file["results"] == {"size": 3, "pair": [1, 2]}
    (stamp,) = file["measured"]
    assert stamp["command"] == "python validation/run.py sweeps --size 3"
    assert str(VALIDATION) not in json.dumps(stamp)


def test_a_study_draws_what_it_measured_and_again_from_its_results(tmp_path, capsys, monkeypatch):
    def pictures(results):
        figure = Figure(figsize=(1.0, 1.0))
        figure.text(0.1, 0.5, str(results["size"]))
        return {"size": figure}

    one = study(measure=lambda given: {"size": 2}, pictures=pictures)
    assert run.run_study(one, ["--results-dir", str(tmp_path)]) == 0
    first = (tmp_path / "size.png").read_bytes()
    assert (tmp_path / "size.txt").read_text() == "size.png is made by: python validation/run.py sweeps\n"
    (tmp_path / "size.png").unlink()
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "FIGURES", tmp_path)
    monkeypatch.setattr(run, "results_of", lambda name: read(tmp_path / f"{name}.json")["results"])
    monkeypatch.setattr(Study, "load", lambda name: one)
    assert run.main(["--draw", "sweeps"]) == 0
    assert capsys.readouterr().out.endswith("sweeps: size\n")
    assert (tmp_path / "size.png").read_bytes() == first


def test_the_release_fails_if_a_quoted_number_leaves_its_interval(tmp_path, capsys, monkeypatch):
    (tmp_path / "main_job_escapes.json").write_text(json.dumps({"measured": [{"command": "python validation/run.py main_job_escapes --limit 9"}]}))
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "QUOTED", ["main_job_escapes"])
    monkeypatch.setattr(run, "results_of", lambda name: None)
    measured = []
    monkeypatch.setattr(run, "run_study", lambda one, arguments: measured.append(arguments))
    for both, code in ((50, 0), (40, 1)):
        quote = f"after 16 minutes {both} of 50 classes have both features"
        monkeypatch.setattr(Study, "load", lambda name, quote=quote: study(name=name, quotes=lambda results: [quote]))
        assert run.main(["--release"]) == code
    assert measured == [["--limit", "9"]] * 2
    assert "40 of 50" in capsys.readouterr().out


def test_a_command_names_no_place_of_this_machine():
    given = ["--runs", "/tmp/runs", "--seeds", "1", "--results-dir=/tmp/results", "--only", "k=10, t=1e12"]
    assert run.command_of(study(), given) == "python validation/run.py sweeps --seeds 1 --only 'k=10, t=1e12'"


def test_the_command_refuses_what_it_does_not_know(capsys):
    for arguments in (["exactitude"], ["--draw", "exactitude"]):
        with pytest.raises(SystemExit, match="2"):
            run.main(arguments)
        assert "'sweeps'" in capsys.readouterr().err


def test_results_are_written_from_committed_code_only(monkeypatch, capsys):
    monkeypatch.setattr(stamps, "git", lambda *words: "abcdefg" if words[0] == "rev-parse" else " M mvsim/version.py")
    assert run.main(["main_job"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mvsim/version.py is not committed: ")
    assert said.count("\n") == 1
    assert stamps.present_stamp("c", committed=False)["revision"] == "abcdefg-dirty"
    monkeypatch.setattr(stamps, "git", lambda *words: "")
    assert run.main(["main_job"]) == 2
    assert "there is no git revision" in capsys.readouterr().err


def test_parts_are_kept_with_the_stamps_of_what_measured_them(tmp_path):
    ResultsFile("sweeps", tmp_path, "first").write({"a": 1, "b": 1})
    file = read(tmp_path / "sweeps.json") | {"note": "Beside other work."}
    file["measured"][0]["revision"] = "0000000"
    (tmp_path / "sweeps.json").write_text(json.dumps(file))
    more = ResultsFile("sweeps", tmp_path, "second")
    assert not more.is_current
    assert more.measure_parts(["b", "c"], lambda name: 2) == {"a": 1, "b": 2, "c": 2}
    file = read(tmp_path / "sweeps.json")
    assert ([stamp["command"] for stamp in file["measured"]], file["note"]) == (["first", "second"], "Beside other work.")
    ResultsFile("sweeps", tmp_path, "third").measure_parts(["a", "b", "c"], lambda name: 3)
    file = read(tmp_path / "sweeps.json")
    assert ([stamp["command"] for stamp in file["measured"]], file["note"]) == (["third"], "")


def test_a_part_is_kept_as_soon_as_it_is_there_beside_those_of_another_call(tmp_path):
    def measure(name):
        if name == "b":
            raise KeyboardInterrupt
        ResultsFile("sweeps", tmp_path, "other").measure_parts(["other"], lambda name: 0)
        return 1

    with pytest.raises(KeyboardInterrupt):
        ResultsFile("sweeps", tmp_path, "c").measure_parts(["a", "b"], measure)
    file = read(tmp_path / "sweeps.json")
    assert file["results"] == {"other": 0, "a": 1}
    assert [stamp["command"] for stamp in file["measured"]] == ["other", "c"]
