"""Making the runs of a sweep one after another: what is done is left alone, what failed is told, what was stopped goes on."""

import pytest
from example_run import assert_same_bits
from looping import looping
from small_sweeps import assert_same_runs, steps

import mvsim
from mvsim.base.errors import Interrupted, StalledError, UsageError
from mvsim.runs.archive import lock_run
from mvsim.runs.run import Run
from mvsim.runs.simulation.run_cache import kept_run
from mvsim.sweeps import job
from mvsim.sweeps.engine import Serial
from mvsim.sweeps.folder import SweepFolder
from mvsim.sweeps.job import do
from mvsim.sweeps.runs import open_sweep
from mvsim.sweeps.study import Study
from mvsim.sweeps.sweep import jobs_of, run_sweep, work_on

STUDY = steps(30)


class Record:
    """A display that keeps what it is told."""

    def __init__(self):
        self.begun, self.events = [], []

    def begin(self, tally, workers):
        self.begun.append((tally.left, tally.cells, workers))

    def update(self, tally, event):
        self.events.append((event.cell, None if event.outcome is None else event.outcome.state))


def states(folder):
    return [folder.standing(cell).state for cell in folder.study.cells]


def changed(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.path.iterdir()}


def test_runs_are_made_once(tmp_path):
    display = Record()
    folder = run_sweep(STUDY, tmp_path / "runs", display=display)
    assert states(folder) == ["done"] * 4
    assert display.begun == [(4, 4, "one run after another, in this process")]
    assert sorted(cell for cell, state in display.events if state == "done") == [0, 1, 2, 3]
    assert sorted(path.name for path in folder.path.iterdir()) == sorted([*folder.study.files, "sweep.json"])
    before = changed(folder)
    again = Record()
    run_sweep(STUDY, tmp_path / "runs", display=again)
    assert (again.begun, again.events) == ([], [])
    assert changed(folder) == before


def test_a_cell_is_the_run_that_simulate_makes(tmp_path):
    folder = run_sweep(STUDY, tmp_path / "runs")
    cell = folder.study.cells[3]
    alone = mvsim.simulate(cell.parameters, cell.method, cell.seed, **cell.options)
    assert_same_bits(mvsim.open_runs(folder.path).run(3).dataset, alone.dataset)


def test_runs_of_verification_are_not_made_again(tmp_path):
    folder = SweepFolder.create(tmp_path / "runs", Study.of(STUDY))
    cell = folder.study.cells[2]
    kept_run(folder.path, cell.parameters, cell.method, cell.seed, **cell.options)
    display = Record()
    run_sweep(STUDY, folder.path, display=display)
    assert display.begun[0][0] == 3


def test_only_one_cell_is_made(tmp_path):
    folder = SweepFolder.create(tmp_path / "runs", Study.of(STUDY))
    work_on(folder, Serial(), only=[2])
    assert states(folder) == ["missing", "missing", "done", "missing"]
    with pytest.raises(UsageError, match="cell=4: must be an integer from 0 to 3"):
        work_on(folder, Serial(), only=[4])
    with pytest.raises(UsageError, match="cell=7: must be 0, the number of a cell"):
        work_on(SweepFolder.create(tmp_path / "one", Study.of({"k": 3, "method": "erm"})), Serial(), only=[7])


def test_the_longest_runs_go_first(tmp_path):
    folder = SweepFolder.create(tmp_path / "runs", Study.of({"k": "4,10,6"}))
    jobs = jobs_of(folder, [folder.standing(cell) for cell in folder.study.cells])
    assert [one.cell.parameters.k for one in jobs] == [10, 6, 4]


def test_a_failure_is_recorded_and_the_others_go_on(tmp_path, monkeypatch):
    def made(path, parameters, method, seed, *arguments, **options):
        if (method, seed) == ("erm", 1):
            raise StalledError("stuck at t = 3")
        if (method, seed) == ("midpoint", 0):
            raise ZeroDivisionError("division by zero")
        return kept_run(path, parameters, method, seed, *arguments, **options)

    monkeypatch.setattr(job, "kept_run", made)
    folder = SweepFolder.create(tmp_path / "runs", Study.of(STUDY))
    tally = work_on(folder, Serial())
    assert states(folder) == ["done", "failed", "failed", "done"]
    assert dict(tally.counts) == {"missing": 0, "done": 2, "failed": 2}
    assert (tally.counts["failed"], tally.undecided("failed")) == (2, 1)  # one stalled; the other is a bug
    assert folder.standing(folder.study.cells[1]).message == "stuck at t = 3"
    assert "a bug of mvsim" in folder.standing(folder.study.cells[2]).message

    monkeypatch.setattr(job, "kept_run", kept_run)
    work_on(folder, Serial())
    assert states(folder) == ["done", "failed", "failed", "done"]
    work_on(folder, Serial(), retry=True)
    assert states(folder) == ["done"] * 4
    assert not list(folder.path.glob("*.failed.json"))


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A folder of which a run was stopped by Ctrl-C in its middle."""
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)  # the display is told of every step
    folder = SweepFolder.create(tmp_path / "runs", Study.of(STUDY))

    class Stop(Record):
        def update(self, tally, event):
            going = tally.at_work.get(event.worker)
            if event.cell == 2 and going is not None and going.status.get("step") == 13:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"interrupted with \d of 4 cells done; what was saved is in"):
        work_on(folder, Serial(), Stop())
    return folder


def test_a_run_that_was_stopped_goes_on(stopped, tmp_path):
    assert states(stopped)[2] == "unfinished"
    assert int(mvsim.open_runs(stopped.path).run(2).dataset["final_step"]) == 13
    run_sweep(STUDY, stopped.path)
    assert_same_runs(stopped.path, run_sweep(STUDY, tmp_path / "whole").path)


def test_a_run_that_has_not_settled_goes_on_if_asked(tmp_path):
    values = {**STUDY, "method": "erm", "seed": 0}
    values.pop("t_end")
    folder = SweepFolder.create(tmp_path / "runs", Study.of(values))
    cell = folder.study.cells[0]
    kept_run(folder.path, cell.parameters, cell.method, cell.seed, until=60.0, **cell.options)
    assert states(folder) == ["done"]
    assert work_on(folder, Serial()).counts["done"] == 1
    assert float(mvsim.open_runs(folder.path).run(0).dataset["final_time"]) == 60.0
    work_on(folder, Serial(), until=90.0)
    assert float(mvsim.open_runs(folder.path).run(0).dataset["final_time"]) == 90.0
    with pytest.raises(UsageError, match="until=-1"):
        work_on(folder, Serial(), until=-1)


def test_a_run_that_another_process_holds_is_neither_done_nor_failed(tmp_path):
    folder = SweepFolder.create(tmp_path / "runs", Study.of(STUDY))
    jobs = jobs_of(folder, [folder.standing(cell) for cell in folder.study.cells])
    with lock_run(folder.path_of(jobs[0].cell)):
        outcome = do(jobs[0], lambda status: None, patience=0.0)
    assert outcome.state == "busy"
    assert "another process is working on this run" in outcome.message
    assert states(folder) == ["missing"] * 4
    assert do(jobs[0], lambda status: None, patience=0.0).state == "done"


def test_a_run_that_cannot_be_read_is_left_and_named(tmp_path):
    folder = run_sweep(STUDY, tmp_path / "runs")
    path = folder.path_of(folder.study.cells[1])
    path.write_bytes(path.read_bytes()[:1000])
    assert work_on(folder, Serial(), retry=True).counts["failed"] == 1
    assert path.stat().st_size == 1000
    path.unlink()
    work_on(folder, Serial(), retry=True)
    assert states(folder) == ["done"] * 4


def test_progress_of_runs_says_how_long_the_rest_takes(tmp_path):
    left = []

    class Left(Record):
        def update(self, tally, event):
            left.append((tally.left, tally.seconds_left()))

    run_sweep(STUDY, tmp_path / "runs", display=Left())
    assert left[0] == (4, None)
    assert left[-1] == (0, 0.0)
    assert all(seconds > 0.0 for count, seconds in left if 0 < count < 4)


def test_the_result_is_a_run_of_mvsim(tmp_path):
    runs = mvsim.open_runs(mvsim.run_sweep(STUDY, tmp_path / "runs").path)
    assert all(isinstance(run, Run) for run in runs)
    assert list(runs.table["steps"]) == [30] * 4


WRONG_TYPES = [
    ("values", 3), ("values", {3: 1}), ("out", None), ("out", ""), ("out", "a\0b"), ("zips", 3), ("zips", ["k,d"]), ("regime", 3), ("extend", 1),
    ("engine", "serial"), ("retry", "yes"), ("until", "x"), ("checkpoint_seconds", None), ("display", 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_named(tmp_path, name, value):
    with pytest.raises(UsageError, match=f"^{name}=.*: must be "):
        run_sweep(**{"values": steps(1), "out": tmp_path / "runs", name: value})
    assert not (tmp_path / "runs").exists()


@looping("where", [None, 3, "", b"x"])
def test_a_folder_that_is_none_is_named(where):
    with pytest.raises(UsageError, match=r"^path=.*: must be the name of the folder of a sweep"):
        open_sweep(where)


def test_a_cell_is_asked_for_by_an_integer(tmp_path):
    runs = open_sweep(run_sweep(steps(1), tmp_path / "runs").path)
    for index in (4, -1, "1", None, 1.0):
        with pytest.raises(UsageError, match=r"^index=.*: must be an integer from 0 to 3"):
            runs.run(index)
    with pytest.raises(UsageError, match=r"^notice=3: must be a function or None"):
        open_sweep(tmp_path / "runs", 3)
