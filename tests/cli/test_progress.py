"""What is shown while a run is under way."""

import io

import pytest
from rich.console import Console

from mvsim.cli import progress

STATUS = {
    "step": 1200, "steps": 34000, "time": 7.2e4, "until": 2.04e6, "loss": 0.71234, "training_accuracy": 0.995,
    "classes": {"both": 26, "one": 20, "none": 4}, "rate": 412.3, "eta_seconds": 79.6,
}  # fmt: skip


def test_line_fits_a_terminal_and_says_everything():
    assert progress.pace(STATUS) == "step 1200 of 34000, 412 steps/s, 1 min 20 s left"
    assert progress.figures(STATUS) == "t = 7.2e+04, loss 0.7123, accuracy 0.995; learned: both 26, one 20, none 4"
    assert len(progress.figures(STATUS)) < 80


def test_unknown_end_and_rate():
    unknown = {**STATUS, "steps": None, "rate": 0.0, "eta_seconds": None, "until": None}
    assert progress.pace(unknown) == "step 1200, until training accuracy is 1 and nothing changes any more"
    assert progress.pace({**STATUS, "steps": None, "eta_seconds": None}) == "step 1200, at least to t = 2.04e+06, 412 steps/s"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (59.6, "1 min 00 s"), (3599.7, "1 h 00 min"), (90000, "25 h 00 min")])
def test_time_left(seconds, text):
    assert progress.pace({**STATUS, "eta_seconds": seconds}).endswith(f"{text} left")


def test_log_gets_a_line_every_30_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with progress.progress_on(stream) as display:
        display.start({"compiling": False})
        for second in range(100):
            now[0] = float(second)
            display.update(STATUS)
        display.finish({})
    assert len(stream.getvalue().splitlines()) == 3
    assert all(line.startswith("mvsim: step 1200 of 34000") for line in stream.getvalue().splitlines())


def test_log_says_that_kernels_are_compiled():
    stream = io.StringIO()
    progress.LoggedProgress(stream).start({"compiling": True})
    assert progress.COMPILE_NOTICE in stream.getvalue()


def test_log_survives_a_reader_that_left():
    tried = []

    class Closed(io.StringIO):
        def write(self, text):
            tried.append(text)
            raise BrokenPipeError

    progress.LoggedProgress(Closed()).start({"compiling": True})
    assert tried


@pytest.mark.parametrize(("steps", "said"), [(None, "mvsim: resuming at step 7\n"), (90, "mvsim: resuming at step 7 of 90\n")])
def test_log_says_where_a_run_is_resumed(steps, said):
    stream = io.StringIO()
    progress.LoggedProgress(stream).start({"compiling": False, "step": 7, "steps": steps})
    assert stream.getvalue() == said


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_live_display_on_a_terminal_of_any_encoding(encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(file=stream, force_terminal=True, width=80, legacy_windows=False)
    with progress.LiveProgress(console) as display:
        display.start({"compiling": True})
        display.start({"compiling": False})
        display.update(STATUS)
        display.finish({})
    shown = raw.getvalue().decode(encoding)
    assert "step 1200 of 34000" in shown
    assert "both 26" in shown
