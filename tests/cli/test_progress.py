"""What is shown while a run is under way."""

import io
import re
import sys

from looping import looping
from rich.console import Console

from mvsim.cli import progress
from mvsim.runs.simulation.pace import EscapeProgress

STATUS = {
    "step": 1200, "steps": 34000, "time": 7.2e4, "until": 2.04e6, "loss": 0.71234, "training_accuracy": 0.995,
    "classes": {"both": 26, "one": 20, "none": 4}, "rate": 412.3, "seconds_left": 79.6, "escapes": EscapeProgress(12, 20, 3.4e8, None),
}  # fmt: skip


def test_line_fits_a_terminal_and_says_everything():
    assert progress.pace(STATUS) == "step 1200 of 34000, 412 steps/s, 1 min 20 s left"
    assert progress.figures(STATUS) == "t = 7.2e+04, loss 0.7123, accuracy 0.995; learned: both 26, one 20, none 4"
    assert len(progress.figures(STATUS)) < 80


def test_unknown_end_and_rate():
    unknown = {**STATUS, "steps": None, "rate": 0.0, "seconds_left": None, "until": None}
    assert progress.pace(unknown) == "step 1200, 12 of 20 features escaped, next at t = 3.4e+08"
    all_come = {**unknown, "escapes": EscapeProgress(12, 20, 3.4e8, 1.1e10)}
    assert progress.pace(all_come).endswith("12 of 20 features escaped, next at t = 3.4e+08, last at 1.1e+10")
    nothing_comes = {**unknown, "escapes": EscapeProgress(10, 20, None, None)}
    assert progress.pace(nothing_comes) == "step 1200, goes on until training accuracy is 1 and nothing changes"
    assert progress.pace({**unknown, "escapes": None}) == progress.pace(nothing_comes)
    late = {**STATUS, "steps": None, "seconds_left": None}
    at_the_end = progress.pace({**late, "until": 5e8, "seconds_left": 79.6})
    assert at_the_end == "step 1200, 12 of 20 features escaped, next at t = 3.4e+08, 412 steps/s"
    assert progress.pace(late) == "step 1200, ends by t = 2.04e+06 unless something changes, 412 steps/s"
    assert progress.pace({**STATUS, "steps": None}).endswith("412 steps/s, 1 min 20 s left at the present pace")


@looping(("seconds", "text"), [(0.2, "0 s"), (59.6, "1 min 00 s"), (3599.7, "1 h 00 min"), (90000, "25 h 00 min")])
def test_time_left(seconds, text):
    assert progress.pace({**STATUS, "seconds_left": seconds}).endswith(f"{text} left")


def test_log_gets_a_line_every_30_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with progress.progress_on(stream=stream) as display:
        display.start({"compiling": False})
        for second in range(100):
            now[0] = float(second)
            display.update(STATUS)
        display.finish({})
    assert len(stream.getvalue().splitlines()) == 3
    assert all(line.startswith("mvsim: step 1200 of 34000") for line in stream.getvalue().splitlines())


def test_log_says_which_run_it_is_about():
    stream = io.StringIO()
    with progress.progress_on("run 3 of 20", stream) as display:
        display.start({"compiling": True})
    assert stream.getvalue() == f"mvsim: run 3 of 20: {progress.COMPILE_NOTICE}\n"


def test_a_narrow_terminal_shows_the_whole_pace():
    console = Console(file=io.StringIO(), force_terminal=True, width=50, legacy_windows=False)
    with progress.LiveProgress(console, "run 3 of 20") as display:
        display.start({})
        display.update({**STATUS, "steps": None, "seconds_left": None})
        display._live.refresh()
    shown = " ".join(re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", " ", console.file.getvalue()).split())
    assert "run 3 of 20" in shown
    assert "step 1200, ends by t = 2.04e+06 unless something changes, 412 steps/s" in shown


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


@looping(("steps", "said"), [(None, "mvsim: resuming at step 7\n"), (90, "mvsim: resuming at step 7 of 90\n")])
def test_log_says_where_a_run_is_resumed(steps, said):
    stream = io.StringIO()
    progress.LoggedProgress(stream).start({"compiling": False, "step": 7, "steps": steps})
    assert stream.getvalue() == said


def test_log_says_which_steps_are_done_again_and_how_long_a_run_takes():
    stream = io.StringIO()
    progress.LoggedProgress(stream).start({"compiling": False, "step": 573, "repeated": 610, "steps": None})
    progress.LoggedProgress(stream).start({"compiling": False, "step": 0, "repeated": 0, "steps": None, "seconds": (130.0, 4000.0)})
    first, second = stream.getvalue().splitlines()
    assert first == "mvsim: resuming at step 573; steps up to 610 are done again"
    assert second.startswith("mvsim: this run is expected to take 2 min to 67 min (--dry-run predicts it)")


@looping("encoding", ["utf-8", "ascii"])
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


def test_a_notebook_gets_a_bar_that_is_redrawn_in_place(monkeypatch):
    import types

    now, shown = [0.0], []
    handle = types.SimpleNamespace(update=lambda one: shown.append(("redrawn", one)))

    def display(one, display_id):
        assert display_id is True
        shown.append(("new", one))
        return handle

    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(HTML=str, display=display))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.progress_on() as bar:
        bar.start({"compiling": True})
        for _ in range(10):
            now[0] += 0.3
            bar.update(STATUS)
        bar.finish({"summary": "Both <features> learned.\n  more"})
    assert [how for how, _ in shown] == ["new", *["redrawn"] * 6]  # 3 seconds, twice a second at most, and the end
    assert progress.COMPILE_NOTICE in shown[0][1]
    assert "<progress value='1200' max='34000'" in shown[1][1]
    assert "step 1200 of 34000" in shown[1][1]
    assert "Both &lt;features&gt; learned." in shown[-1][1]
    assert "more" not in shown[-1][1]
