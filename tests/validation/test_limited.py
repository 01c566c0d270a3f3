"""Runs of studies that are interrupted after a time."""

import os
import signal
import time
from contextlib import nullcontext
from functools import partial

import pytest
from lib import limited

import mvsim
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.over_runs import followed_run
from mvsim.runs.simulation.progress import Silent

PARAMETERS = mvsim.Parameters(k=3, m=2, N=12, P=9, d=40)


class Interrupting(Silent):
    """A display that presses Ctrl-C as soon as a run is on its way."""

    def update(self, status):
        """Interrupt."""
        os.kill(os.getpid(), signal.SIGINT)


def test_a_block_is_interrupted_after_its_time_and_a_short_one_is_not():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), limited.interrupted_after(0.05):
        time.sleep(60)
    with limited.interrupted_after(60.0):
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_runs_are_judged_as_far_as_they_came(tmp_path, monkeypatch):
    def cut(number, p, seed, folder, **options):
        progress = partial(nullcontext, Interrupting()) if seed == 1 else None
        return followed_run(number, p, seed, folder, progress=progress, **options)

    monkeypatch.setattr(judge_run, "replayed", partial(judge_run.replayed, part=0.02))
    monkeypatch.setattr(limited, "on_all_cores", lambda work, items: [work(item) for item in items])
    with monkeypatch.context() as patched:
        patched.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)
        patched.setattr(limited, "followed_run", cut)
        first = limited.judged_within(600.0, "4.6", PARAMETERS, 2, tmp_path, follow=False)
    assert [judgement.run.status for judgement in first.judgements] == ["finished", "interrupted"]
    assert (len(first.interrupted), first.stopped) == (1, [])
    assert first.finished == first.judgements[:1]
    assert first.interrupted[0].startswith("seed 1 after ")
    theorem = [v.status for v in first.judgements[1].verdicts if v.kind == "theorem"]
    assert "inconclusive" in theorem
    assert "holds" not in theorem
    later = limited.judged_within(600.0, "4.6", PARAMETERS, 2, tmp_path, follow=False)
    assert [judgement.run.status for judgement in later.judgements] == ["finished", "finished"]
    assert (later.interrupted, later.stopped) == ([], [])
    assert later.finished == later.judgements


def test_a_limit_within_which_nothing_is_saved_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(limited, "on_all_cores", lambda work, items: [None for item in items])
    with pytest.raises(RuntimeError, match=r"seed 0 of Theorem 4.6, k = 3: nothing was saved within 5 s; allow more"):
        limited.judged_within(5.0, "4.6", PARAMETERS, 1, tmp_path)
