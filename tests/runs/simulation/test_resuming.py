"""A resumed run is the uninterrupted one, bit for bit, and is refused where it would be another."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from example_run import assert_same_bits
from tiny_run import FLOW, OPTIONS, RATE, TINY, Stop, simulate, uninterrupted
from tolerances import DISSIPATED

import mvsim
from mvsim.runs.archive import read_run, write_run
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.simulation.session import Session


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("at", [1, 8, 43])
def test_a_resumed_run_is_the_uninterrupted_one(case, at, tmp_path, monkeypatch):
    method, options = OPTIONS[case]
    out = tmp_path / "run.nc"
    with monkeypatch.context() as patch:
        Stop(patch, at)
        with pytest.raises(mvsim.Interrupted, match="saved in"):
            simulate(method, out, **options)
    saved = mvsim.open_run(out)
    assert saved.status == "interrupted"
    assert int(saved.dataset["final_step"]) == at - 1
    resumed = simulate(method, out, resume=True, **options)
    assert_same_bits(resumed.dataset, uninterrupted(case))
    assert_same_bits(mvsim.open_run(out).dataset, uninterrupted(case))
    assert resumed.status == "finished"
    assert resumed.provenance["wall_seconds"] > saved.provenance["wall_seconds"]


@pytest.mark.parametrize("at", [0, 1, 10, 57])
def test_a_run_that_ended_between_a_save_and_the_record_of_its_state_is_resumed(at, tmp_path, monkeypatch):
    record = Recorder.record

    def stop(recorder, state):
        if state.step == at:
            raise KeyboardInterrupt
        record(recorder, state)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "record", stop)
        with pytest.raises((mvsim.Interrupted, KeyboardInterrupt)):
            simulate("midpoint", tmp_path / "run.nc", checkpoint_seconds=1e-9)
    assert_same_bits(simulate("midpoint", tmp_path / "run.nc", resume=True).dataset, uninterrupted("midpoint"))


@pytest.mark.parametrize("options", [{}, {**FLOW, "t_end": 2e4}], ids=["gd", "flow"])
def test_what_resuming_needs_is_that_of_the_uninterrupted_run_too(options, tmp_path):
    cut, whole = tmp_path / "cut.nc", tmp_path / "whole.nc"
    simulate("midpoint", cut, **{**options, "t_end": 0.5 * options["t_end"]} if options else {"steps": 40})
    simulate("midpoint", cut, **options, resume=True)
    simulate("midpoint", whole, **options)
    (one, _), (other, _) = read_run(cut), read_run(whole)
    assert any(str(name).startswith("resume_") for name in one.variables)
    assert_same_bits(one, other)


@pytest.mark.parametrize("options", [{"t_end": 180.0}, {**FLOW, "t_end": 2e3}], ids=["gd", "flow"])
def test_slices_shorter_than_any_checkpoint_get_further(options, tmp_path, monkeypatch):
    """Every start takes a few steps and is stopped; what was reached is kept, so that the run ends, and as it does without a stop."""
    out, arrive, stops = tmp_path / "run.nc", Session._arrive, []

    def stop_after_a_few(session, visit):
        arrive(session, visit)
        session.taken = getattr(session, "taken", 0) + 1
        if session.taken == 8 and not (visit.mark and session._finished()):
            stops.append(session.state.step)
            raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_arrive", stop_after_a_few)
    for _ in range(200):
        with contextlib.suppress(mvsim.Interrupted):
            run = simulate("midpoint", out, **options, resume=True)
            break
    monkeypatch.undo()
    assert len(stops) > 5
    assert stops == sorted(set(stops))
    assert_same_bits(run.dataset, simulate("midpoint", **options).dataset)


@pytest.mark.parametrize("first", [40, 45])  # 45 is a step at which runs are recorded anyway, 40 is not
def test_a_run_extended_in_time_is_the_longer_run(first, tmp_path):
    simulate("midpoint", tmp_path / "run.nc", steps=first)
    assert_same_bits(simulate("midpoint", tmp_path / "run.nc", steps=57, resume=True).dataset, uninterrupted("midpoint"))


def test_a_flow_is_resumed_bit_for_bit_with_what_it_has_dissipated(tmp_path):
    whole = simulate("erm", **FLOW, t_end=1e5)
    simulate("erm", tmp_path / "run.nc", **FLOW, t_end=1e4)
    assert_same_bits(simulate("erm", tmp_path / "run.nc", **FLOW, t_end=1e5, resume=True).dataset, whole.dataset)
    loss = whole.dataset["loss"].to_numpy()
    for name, lost in (("dissipation", loss[0] - loss), ("log_dissipation", np.log(loss[0] / loss))):
        assert lost[-1] > 0.01
        assert np.abs(whole.dataset[name].to_numpy() - lost).max() <= DISSIPATED * lost[-1]


def test_a_flow_whose_memory_is_not_whole_does_not_go_on(tmp_path):
    out = tmp_path / "run.nc"
    simulate("erm", out, **FLOW, t_end=100.0)
    dataset, provenance = read_run(out)
    name = next(str(name) for name in dataset if str(name).startswith("memory_stepper"))
    write_run(out, dataset.drop_vars(name), provenance)
    before = out.read_bytes()
    with pytest.raises(mvsim.UsageError, match=rf"run\.nc: cannot go on: the file lacks {name}, which the integrator needs; make the run again with"):
        simulate("erm", out, resume=True, **FLOW, t_end=200.0)
    assert out.read_bytes() == before


def test_a_finished_run_is_left_as_it_is(tmp_path):
    once = simulate("erm", tmp_path / "run.nc")
    assert_same_bits(simulate("erm", tmp_path / "run.nc", resume=True).dataset, once.dataset)
    with pytest.warns(UserWarning, match=r"t_end=\S+: .*run\.nc has finished at t = \S+ already, and is left as it is"):
        earlier = simulate("erm", tmp_path / "run.nc", steps=10, resume=True)
    assert_same_bits(earlier.dataset, once.dataset)


def test_resuming_as_another_run_is_refused(tmp_path):
    kept = simulate("mixup", tmp_path / "run.nc", mixing=0.3, steps=5)
    for change, named in (
        ({"N": 13}, "N=13"),
        ({"seed": 1}, "seed=1"),
        ({"eta": 2.0}, r"eta=2\.0"),
        ({"n_test": 5}, "n_test=5"),
        ({"mixing": 0.4}, r"mixing=0\.4"),
        ({**FLOW, "t_end": 1e3}, r"holds another run: integrator='flow' \(saved: 'gd'\); give"),  # the only difference that is named
    ):
        with pytest.raises(mvsim.UsageError, match=named):
            simulate("mixup", tmp_path / "run.nc", resume=True, **{"mixing": 0.3, **change})
    assert_same_bits(mvsim.open_run(tmp_path / "run.nc").dataset, kept.dataset)


def test_resuming_takes_over_eta(tmp_path):
    simulate("midpoint", tmp_path / "run.nc", steps=40)
    resumed = simulate("midpoint", tmp_path / "run.nc", resume=True, eta=None)
    assert_same_bits(resumed.dataset, uninterrupted("midpoint"))


def test_a_run_that_was_interrupted_does_not_go_back_in_time(tmp_path):
    simulate("erm", steps=40, out=tmp_path / "run.nc")
    dataset, provenance = read_run(tmp_path / "run.nc")
    write_run(tmp_path / "run.nc", dataset, {**provenance, "status": "interrupted"})
    before = (tmp_path / "run.nc").read_bytes()
    with pytest.raises(mvsim.UsageError, match=r"t_end=\S+: .*run.nc is at t = \d+ already"):
        simulate("erm", steps=4, out=tmp_path / "run.nc", resume=True)
    assert (tmp_path / "run.nc").read_bytes() == before


def test_a_finished_run_keeps_its_origin_and_lists_what_continued_it(tmp_path):
    first = simulate("erm", tmp_path / "run.nc", steps=10)
    bits = (tmp_path / "run.nc").read_bytes()
    simulate("erm", tmp_path / "run.nc", steps=10, resume=True)
    assert (tmp_path / "run.nc").read_bytes() == bits  # nothing was left to do, nothing was written
    longer = simulate("erm", tmp_path / "run.nc", steps=20, resume=True)
    assert longer.provenance["created"] == first.provenance["created"]
    assert len(mvsim.open_run(tmp_path / "run.nc").provenance["continued"]) == 1


def test_a_run_on_given_data_knows_them_again(tmp_path):
    p = mvsim.Parameters(**TINY)
    own, other = mvsim.sample_dataset(p, 3), mvsim.sample_dataset(p, 4)
    given = mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 40, n_test=4, data=own)
    assert_same_bits(simulate("erm", seed=3, steps=40).dataset, given.dataset)
    out = tmp_path / "run.nc"
    run = mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 10, out=out, n_test=4, data=other)
    assert run.provenance["options"]["data"] == other.digest() != own.digest()
    mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 20, out=out, n_test=4, data=other, resume=True)
    for data in (None, own):
        with pytest.raises(mvsim.UsageError, match="data="):
            mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 30, out=out, n_test=4, data=data, resume=True)
    with pytest.raises(mvsim.UsageError, match=f"N={p.N + 1}: the data have N = {p.N}"):
        mvsim.simulate(p.replace(N=p.N + 1), "erm", data=own)
    with pytest.raises(mvsim.UsageError, match=r"data=.*must be a data set"):
        mvsim.simulate(p, "erm", data=own.to_patches())


def test_a_finished_run_says_nothing_of_other_kernels(tmp_path, recwarn):
    out = tmp_path / "run.nc"
    ended = simulate("erm", out, **FLOW, t_end=1e4, backend="numba")
    assert_same_bits(simulate("erm", out, **FLOW, t_end=1e4, backend="array", resume=True).dataset, ended.dataset)
    assert not [warning for warning in recwarn if "goes on with" in str(warning.message)]


@pytest.mark.parametrize(("method", "begun", "resumed"), [("erm", "numba", "array"), ("midpoint", "array", "numba")])
def test_a_run_goes_on_with_other_kernels_and_says_so(method, begun, resumed, tmp_path):
    whole = simulate(method, **FLOW, t_end=3e4, backend=begun)
    out = tmp_path / "run.nc"
    simulate(method, out, **FLOW, t_end=3e3, backend=begun)
    with pytest.warns(UserWarning, match=r"run\.nc: computed with .* so far, goes on with .*; results agree within the tolerance of the run"):
        other = simulate(method, out, **FLOW, t_end=3e4, backend=resumed, resume=True)
    size = np.abs(whole.final_correlations).max(axis=(2, 3), keepdims=True)
    assert np.max(np.abs(other.final_correlations - whole.final_correlations) / size) <= 10.0 * other.provenance["integrator"]["rtol"]
    assert other.provenance["options"]["backend"] == begun
    assert [each["backend"] for each in mvsim.open_run(out).provenance["continued"]] == [resumed]
    again = simulate(method, out, **FLOW, t_end=3.1e4, backend=resumed, resume=True)  # with the kernels of last time: nothing to say
    assert [each["backend"] for each in again.provenance["continued"]] == [resumed, resumed]
