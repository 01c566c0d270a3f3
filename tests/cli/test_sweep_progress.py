"""What a sweep shows on stderr while it goes on."""

import io
import re

import pytest

from mvsim.cli.sweep_progress import MOST_WORKERS, SweepDisplay, summary
from mvsim.sweeps.engine import Event
from mvsim.sweeps.folder import SweepFolder
from mvsim.sweeps.job import Outcome
from mvsim.sweeps.study import Study
from mvsim.sweeps.sweep import jobs_of
from mvsim.sweeps.tally import Tally

STATUS = {"step": 12, "time": 3456.0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    times = {"now": 1000.0}
    monkeypatch.setattr("time.monotonic", lambda: times["now"])
    return times


@pytest.fixture
def tally(tmp_path):
    """A sweep of 40 cells of which nothing is done."""
    folder = SweepFolder.create(tmp_path / "runs", Study.of({"k": 3, "seed": "0:40", "method": "erm"}))
    standings = [folder.standing(cell) for cell in folder.study.cells]
    return Tally(standings, jobs_of(folder, standings))


def tell(display, tally, *event):
    tally.tell(Event(*event))
    display.update(tally, Event(*event))


def test_a_log_has_a_line_now_and_then_and_one_for_each_failure(tally, clock):
    stream = io.StringIO()
    with SweepDisplay(stream) as display:
        display.begin(tally, "2 worker processes")
        tell(display, tally, 0, "tcp://a", STATUS)
        tell(display, tally, 1, "tcp://b", {"compiling": True})
        tell(display, tally, 3, "tcp://127.0.0.1:41", STATUS)
        tell(display, tally, 0, "tcp://a", {}, Outcome("failed", "stuck at\x1b[31m t = 3", "StalledError"))
        clock["now"] += 31.0
        tell(display, tally, 2, "tcp://a", STATUS)
        tell(display, tally, 2, "tcp://a", STATUS)
    assert stream.getvalue().splitlines() == [
        "mvsim: 40 of 40 cells to do; 2 worker processes",
        "mvsim: cell 0 failed: stuck at\\x1b[31m t = 3",
        "mvsim: 0 of 40 cells done, 1 failed, 1 of them undecided (stalled or diverged); cell 3 (seed=3), step 12, t = 3.46e+03; "
        "tcp://a: cell 2 (seed=2), step 12, t = 3.46e+03; "
        "tcp://b: cell 1 (seed=1), compiling kernels, up to a minute, once for each method and command",
    ]


def test_a_terminal_shows_each_worker_of_the_first_few(tally, clock):
    stream = Terminal()
    with SweepDisplay(stream) as display:
        display.begin(tally, "workers")
        for worker in range(MOST_WORKERS + 3):
            tell(display, tally, worker, f"worker {worker}", STATUS)
        display._live.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "worker 3: cell 3 (seed=3), step 12" in shown
    assert "and 3 more workers" in shown


def test_the_time_that_is_left_follows_what_runs_have_taken(tally, clock):
    assert summary(tally) == "0 of 40 cells done"
    for index in range(20):
        tally.tell(Event(index, f"worker {index % 2}", {}))
        clock["now"] += 6.0
        tally.tell(Event(index, f"worker {index % 2}", {}, Outcome("done")))
    tally.tell(Event(20, "worker 0", STATUS))
    tally.tell(Event(21, "worker 1", STATUS))
    assert summary(tally) == "20 of 40 cells done, about 1 min 00 s left"  # 20 cells of 6 s on two workers
    clock["now"] += 3.0
    assert summary(tally) == "20 of 40 cells done, about 57 s left"


def test_a_cell_that_goes_on_elsewhere_is_shown_once(tally):
    tally.tell(Event(5, "worker 0", STATUS))
    tally.tell(Event(5, "worker 1", STATUS))
    assert [(name, one.job.cell.index) for name, one in tally.at_work.items()] == [("worker 1", 5)]


class Broken(io.StringIO):
    def write(self, text):
        raise OSError("nobody is there")


def test_nobody_has_to_read_it(tally):
    with SweepDisplay(Broken()) as display:
        display.begin(tally, "workers")
        tell(display, tally, 0, "tcp://a", {}, Outcome("failed", "stuck", "StalledError"))
    assert tally.counts["failed"] == 1
