"""The folder of a sweep: made once, recognised, never mixed with another, and honest about each cell."""

import json
import os
import shutil
from contextlib import contextmanager

import pytest
from looping import looping
from matplotlib.text import Text
from sweep_folder import filled, made_up

import mvsim
from mvsim.base.errors import InUseError, UsageError
from mvsim.pictures.sweep_figure import sweep_figure
from mvsim.reports.content import sweep_command
from mvsim.runs.archive import write_run
from mvsim.runs.archive.writable import lock_run
from mvsim.sweeps import folder as module
from mvsim.sweeps.folder import STUDY_FILE, Standing, SweepFolder
from mvsim.sweeps.study import Study

VALUES = {"k": "3,4", "seed": "0:2", "method": "erm"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("made") / "runs", VALUES, leave_out=[3]).path


@pytest.fixture
def folder(made, tmp_path):
    """A folder in which all cells are done but the last."""
    return SweepFolder.open(shutil.copytree(made, tmp_path / "runs"))


def states(folder):
    return [folder.standing(cell).state for cell in folder.study.cells]


def test_cells_are_done_or_missing(folder):
    assert states(folder) == ["done", "done", "done", "missing"]
    assert states(SweepFolder.open(folder.path)) == states(folder)


def test_the_same_study_finds_its_folder_again(folder):
    before = (folder.path / STUDY_FILE).read_bytes()
    assert states(SweepFolder.create(folder.path, Study.of({"m": "2", **VALUES}))) == states(folder)
    assert (folder.path / STUDY_FILE).read_bytes() == before


def test_another_study_is_refused_and_nothing_changes(folder):
    before = (folder.path / STUDY_FILE).read_bytes()
    with pytest.raises(UsageError, match=r"holds another study, of 4 cells, 2 of which are among these 4; choose another folder$"):
        SweepFolder.create(folder.path, Study.of({"m": 2, **VALUES, "k": "4,5"}), extend=True)
    with pytest.raises(UsageError, match=r"2 of which are among these 2; choose another folder, or make these of them with --extend$"):
        SweepFolder.create(folder.path, Study.of({"m": 2, **VALUES, "k": 3}))
    with pytest.raises(UsageError, match=r"4 of which are among these 6; .* with --extend$"):
        SweepFolder.create(folder.path, Study.of({"m": 2, **VALUES, "seed": "0:3"}))
    assert (folder.path / STUDY_FILE).read_bytes() == before


def test_a_study_is_extended(folder):
    SweepFolder.create(folder.path, Study.of({"m": 2, **VALUES, "seed": "0:3"}), extend=True)
    assert states(SweepFolder.open(folder.path)) == ["done", "done", "missing", "done", "missing", "missing"]


def test_a_study_of_more_cells_stays(folder):
    before, asked = (folder.path / STUDY_FILE).read_bytes(), Study.of({"m": 2, **VALUES, "k": 4})
    part = SweepFolder.create(folder.path, asked, extend=True)
    assert (states(part), states(SweepFolder.open(folder.path))) == (["done", "missing"], states(folder))
    assert (folder.path / STUDY_FILE).read_bytes() == before
    part.establish(until=3e5)
    assert (SweepFolder.open(folder.path).until, states(SweepFolder.open(folder.path))) == (3e5, states(folder))


def test_runs_that_are_there_already_are_found(folder):
    (folder.path / STUDY_FILE).unlink()
    assert states(SweepFolder.create(folder.path, folder.study)) == ["done", "done", "done", "missing"]


def test_a_file_that_holds_another_run_is_not_the_cells(folder):
    first, second = (folder.path_of(folder.study.cells[index]) for index in (0, 1))
    second.write_bytes(first.read_bytes())
    standing = folder.standing(folder.study.cells[1])
    assert standing.state == "failed"
    assert "holds another run than its name says" in standing.message


WRONG = {
    "values": ({"values": 5}, r"study\.values=5"), "zip": ({"zip": 3}, r"study\.zip=3"), "zips": ({"zip": ["k"]}, r"study\.zip\.0='k'"),
    "regime": ({"regime": 1}, r"study\.regime=1"), "an unknown field": ({"k": 3}, r"study\.k=3: is not known there"),
    "a value": ({"values": {"k": [None]}}, "k=None"), "a deep value": ({"values": {"k": [json.loads("[" * 500 + "]" * 500)]}}, "k="),
    "an unknown name": ({"values": {"sed": [3]}}, "sed: is nothing that can be swept"),
}  # fmt: skip


@looping("until", ["-1", "0", "Infinity", "NaN", '"1"'])
def test_a_time_in_the_study_file_that_the_command_would_refuse_is_refused(folder, until):
    place = folder.path / STUDY_FILE
    saved = {**json.loads(place.read_text()), "until": 5.0}
    place.write_text(json.dumps(saved).replace('"until": 5.0', f'"until": {until}'))
    with pytest.raises(UsageError, match=r"sweep\.json: is not the study of a sweep, or was edited \(until="):
        SweepFolder.open(folder.path)


@pytest.mark.parametrize("case", WRONG)
def test_a_study_file_with_something_wrong_names_it(folder, case):
    wrong, fault = WRONG[case]
    place = folder.path / STUDY_FILE
    saved = json.loads(place.read_text())
    place.write_text(json.dumps({**saved, "study": {**saved["study"], **wrong}}))
    with pytest.raises(UsageError, match=rf"sweep\.json: is not the study of a sweep, or was edited \({fault}.*; move it away: runs are found"):
        SweepFolder.open(folder.path)


@looping(
    ("changed", "state", "words"),
    [
        *(({"status": status}, "unfinished", "") for status in ("running", "interrupted")),
        *(({"status": status}, "failed", "made up") for status in ("stalled", "diverged")),
        ({"version": "0.0.1"}, "failed", "was made by mvsim 0.0.1"),
    ],
)
def test_a_run_that_can_go_on_is_told_from_one_that_cannot_or_is_of_another_version(folder, changed, state, words):
    cell = folder.study.cells[0]
    run = made_up(cell)
    write_run(folder.path_of(cell), run.dataset, run.provenance | changed)
    assert folder.standing(cell).state == state
    assert words in folder.standing(cell).message


@pytest.mark.parametrize("place", [100, 3000, -200])
def test_a_damaged_run_is_not_done(folder, place):
    path = folder.path_of(folder.study.cells[1])
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert states(folder) == ["done", "failed", "done", "missing"]
    assert "move it away" in folder.standing(folder.study.cells[1]).message
    assert path.read_bytes() == data


def test_a_failure_is_kept_until_it_is_forgotten(folder):
    cell = folder.study.cells[3]
    folder.record_failure(cell, "StalledError", "stuck at t = 3")
    assert folder.standing(cell) == Standing("failed", "stuck at t = 3", undecided=True)
    assert folder.failure_of(cell).values == {"k": 4, "seed": 1}
    run = made_up(cell)
    write_run(folder.path_of(cell), run.dataset, run.provenance)
    assert states(folder)[3] == "done"  # another command has made it since
    folder.path_of(cell).unlink()
    folder.forget_failure(cell)
    folder.forget_failure(cell)
    assert states(folder)[3] == "missing"


def test_a_note_of_a_failure_that_was_damaged_still_says_that_it_failed(folder):
    cell = folder.study.cells[3]
    folder.record_failure(cell, "StalledError", "stuck")
    (note,) = folder.path.glob("*.failed.json")
    edited = {**json.loads(note.read_text()), "kind": 3}
    wrong = {"[": "not JSON", "[" * 100_000: "not JSON", "[]": "all of it=[]: must be a table", json.dumps(edited): "kind=3: input should be"}
    for text, fault in wrong.items():
        note.write_text(text)
        standing = folder.standing(cell)
        assert (standing.state, standing.undecided) == ("failed", False)
        assert standing.message.startswith(f"{note}: is not the note of a failed run, or was edited ({fault}")
        assert standing.message.endswith("move it away, and the run is made again")


def test_what_is_no_ordinary_file_is_not_waited_for(folder):
    cell = folder.study.cells[3]
    os.mkfifo(folder.path_of(cell).with_suffix(".failed.json"))
    assert "not an ordinary file; move it away" in folder.standing(cell).message
    (folder.path / STUDY_FILE).unlink()
    os.mkfifo(folder.path / STUDY_FILE)
    with pytest.raises(UsageError, match=r"sweep\.json: not an ordinary file; move it away"):
        SweepFolder.planned(folder.path, folder.study)
    with pytest.raises(UsageError, match=r"is a directory without sweep\.json"):
        SweepFolder.open(folder.path)


BROKEN = {"no JSON": "{", "a list": "[]", "a part is missing": '{"mvsim": "0.1.0", "cells": []}', "no text": b"\xff\xfe", "deep": "[" * 100_000}


@pytest.mark.parametrize("case", BROKEN)
def test_a_study_file_that_cannot_be_read_is_named(folder, case):
    text = BROKEN[case]
    (folder.path / STUDY_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=r"sweep\.json: is not the study of a sweep"):
        SweepFolder.open(folder.path)
    with pytest.raises(UsageError, match=r"sweep\.json: is not the study of a sweep"):
        SweepFolder.create(folder.path, folder.study)


def test_a_study_file_whose_cells_are_not_those_of_its_study_is_named(folder):
    place = folder.path / STUDY_FILE
    saved = json.loads(place.read_text())
    saved["study"]["values"]["seed"] = [0, 1, 2]
    place.write_text(json.dumps(saved))
    with pytest.raises(UsageError, match="does not name the runs of its study"):
        SweepFolder.open(folder.path)
    SweepFolder.create(folder.path, folder.study)
    assert states(SweepFolder.open(folder.path)) == states(folder)


@pytest.mark.parametrize("edited", [{"cells": []}, {"study": {"values": {"sed": [1]}, "zip": [], "regime": "scaled"}}])
def test_a_study_file_is_written_anew_by_the_same_command(folder, edited):
    place = folder.path / STUDY_FILE
    before = place.read_text()
    place.write_text(json.dumps({**json.loads(before), **edited}))
    with pytest.raises(UsageError, match=r"sweep\.json: "):
        SweepFolder.open(folder.path)
    SweepFolder.create(folder.path, folder.study)
    assert place.read_text() == before


def test_what_is_no_folder_of_a_sweep_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"is a directory without sweep\.json, so no sweep"):
        SweepFolder.open(tmp_path)
    (tmp_path / "file").write_text("")
    for name, said in (("file", "is a file, and a sweep is a folder; give the folder that"), ("nothing", "there is no such folder; give")):
        with pytest.raises(UsageError, match=f"{name}: {said}"):
            SweepFolder.open(tmp_path / name)
    with pytest.raises(UsageError, match="is a file, where the folder of the runs would be"):
        SweepFolder.create(tmp_path / "file", Study.of(VALUES))


def test_of_two_studies_that_begin_at_once_the_second_is_refused(tmp_path, monkeypatch):
    """The other one comes between the look at the folder and the writing of the study."""
    first, second = (SweepFolder.planned(tmp_path / "runs", Study.of({"k": k})) for k in (3, 4))
    alone = module._alone

    @contextmanager
    def later(place):
        monkeypatch.setattr(module, "_alone", alone)
        first.establish()
        with alone(place):
            yield

    monkeypatch.setattr(module, "_alone", later)
    with pytest.raises(UsageError, match="holds another study"):
        second.establish()
    assert SweepFolder.open(tmp_path / "runs").study.plain() == first.study.plain()


def test_a_study_file_that_another_process_writes_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_ATTEMPTS", 0.0)
    with lock_run(folder.path / STUDY_FILE), pytest.raises(InUseError):
        folder.establish(until=1e3)
    folder.establish(until=1e3)
    assert SweepFolder.open(folder.path).until == 1e3


def test_the_time_to_which_runs_went_on_is_kept_and_told(folder):
    folder.establish(until=1e3)
    folder.establish(until=10.0)
    again = SweepFolder.planned(folder.path, Study.of({"m": 2, **VALUES, "seed": "0:3"}), extend=True)
    again.establish()
    assert SweepFolder.open(folder.path).until == 1e3
    runs = mvsim.open_runs(folder.path)
    assert "--until 1000" in sweep_command(runs)
    figure = sweep_figure(runs)
    assert any("went on to t = 1000" in text.get_text().replace("\n", " ") for text in figure.findobj(Text))
