"""How studies make their runs on all cores, and what the study of paths makes of the constants of single runs."""

import os

import pytest
from interrupting import StopAfter
from lib.bounds import BOUNDS
from lib.ended import STAGE, STAGES, Ended, Job, ended, followed, why_over
from lib.outcomes import tallied
from lib.runs import followed_side_by_side, on_all_cores
from studies import paths, permanence, proof_map

import mvsim
from mvsim.judging.statement import Request
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.over_runs import judgements_over_seeds
from mvsim.runs.run import Run
from mvsim.runs.simulation.identity import run_name

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@pytest.fixture
def environment(monkeypatch):
    """The environment, put back afterwards."""
    for name in THREADS:
        monkeypatch.setenv(name, "7")


@pytest.mark.usefixtures("environment")
def test_each_process_has_one_thread_and_the_order_is_kept():
    assert on_all_cores(os.getenv, [*THREADS, "NOT_THERE"]) == ["1", "1", "1", "1", None]


def test_runs_that_were_made_side_by_side_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("lib.runs.on_all_cores", lambda work, items: [work(item) for item in items])
    monkeypatch.setattr(judge_run, "replayed", lambda evidence: [])  # takes long
    p = mvsim.Parameters(k=3, m=2, N=12, P=9, d=40)
    followed_side_by_side("4.6", p, 2, tmp_path, follow=False)
    made = {path.name: path.read_bytes() for path in tmp_path.glob("*.nc")}
    assert len(made) == 2
    monkeypatch.setattr("mvsim.runs.simulation.run_cache.simulate", None)  # nothing is made any more
    judgements, stopped = judgements_over_seeds("4.6", p, Request(2, folder=tmp_path, follow=False))
    assert ([judgement.run.seed for judgement in judgements], stopped) == ([0, 1], [])
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.nc")} == made


def answer(k, constants, path="literal", **fields):
    return {"theorem": "4.6", "path": path, "k": k, "fields": fields, "constants": constants}


def test_slopes_are_those_along_each_path_alone():
    results = {
        "a": answer(10, {"Claim B.7 (outputs)": [10.0, 10.0], "Corollary B.9": [1.0], "Claim B.5": [2.0]}),
        "b": answer(6, {"Claim B.7 (outputs)": [6.0, 6.0], "Corollary B.9": [-1.0]}),
        "c": answer(6, {"Claim B.7 (outputs)": [36.0]}, "falling"),
        "d": answer(10, {"Claim B.7 (outputs)": [100.0]}, "falling"),
        "e": answer(10, {"Claim B.7 (outputs)": [1.0]}, "falling", P=6000),
    }
    found = paths.slopes(results)
    assert {path: list(parts) for path, parts in found.items()} == {path: ["Claim B.7 (outputs)"] for path in ("4.6, literal", "4.6, falling")}
    assert found["4.6, literal"]["Claim B.7 (outputs)"] == pytest.approx((1.0, 1.0, 1.0))
    assert found["4.6, falling"]["Claim B.7 (outputs)"] == pytest.approx((2.0, 2.0, 2.0))


def test_constants_that_go_against_their_bound_are_named_by_the_side_from_which_it_is():
    results = {
        k: answer(k, {"Claim B.7 (outputs)": [k, k], "Claim B.6 (afterwards)": [k, k], "Claim B.28 (final)": [1.0 / k] * 2, "Claim B.13": [2.0] * 2})
        for k in (6, 10)
    }
    assert paths._wrong(paths.slopes(results)) == {"4.6, literal": ["Claim B.7 (outputs)", "Claim B.28 (final)"]}
    said = paths._slopes_passage(results)
    assert "| Claim B.13 | above | 0 |" in said, "what is constant up to rounding has the exponent 0"
    assert "| Claim B.6 (afterwards) | below | 1 [1, 1] |" in said


def test_every_constant_of_the_proofs_has_a_side():
    measured = [name for name, claim in CLAIMS.items() if not claim.decides]
    assert [name for name in measured if name not in BOUNDS] == []


def test_steps_that_are_contradicted_are_counted_over_seeds():
    def verdict(name, right, of, undecided):
        count = {"right": right, "of": of, "undecided": undecided, "what": "runs"}
        return {"name": f"{name}, k = 6", "kind": "step", "count": count}

    results = {
        "a": answer(6, {}, paths.FALLING) | {"verdicts": [verdict("Claim B.17 (positivity)", 2, 4, 1), verdict("Corollary B.26", 0, 4, 0)]},
        "b": answer(6, {})
        | {"verdicts": [verdict("Claim B.17 (positivity)", 5, 5, 0), verdict("Claim B.22", 1, 5, 4), verdict("Corollary B.26", 0, 5, 0)]},
    }
    assert paths.contradicted(results) == {"Claim B.17 (positivity)": {"a": (1, 3), "b": (0, 5)}, "Corollary B.26": {"a": (4, 4), "b": (5, 5)}}
    assert paths._quoted_steps(results) == [
        "All 9 runs of Midpoint Mixup contradict step B.26 as we read it",
        "1 of 3 B.17 at default r0, 0 of 5 at d = k^20",
    ]
    assert "Claim B.17 (positivity): 1 of 3 at the default r0, 0 of 5 at d = k^20; Corollary B.26 (as we read it): 4 of 4" in paths._steps_passage(
        results
    )


def test_a_point_has_a_filled_and_a_hollow_fraction():
    share = paths._share({"count": {"right": 0, "of": 1, "undecided": 1}})
    assert (share.holds, share.at_most, share.low, share.high, share.decided) == (0.0, 1.0, 0.0, 1.0, False)


def without_gradient(run):
    """The same run, with a gradient of 0 at its end."""
    norms = run.dataset["gradient_norm"].copy()
    norms[-1] = 0.0
    return Run(run.dataset.assign(gradient_norm=norms), run.provenance)


def test_runs_end_when_nothing_can_change_any_more(run_folder, monkeypatch):
    erm, midpoint = (mvsim.open_run(run_folder / f"{method}.nc") for method in ("erm", "midpoint"))
    end = float(erm.dataset["final_time"])
    assert why_over(midpoint, 1e300) == "all learned"
    assert why_over(erm, end) == "views stay"
    assert why_over(erm, 1e300) == "", "a view that is on its way may come by then"
    assert why_over(without_gradient(erm), 1e300) == "at rest"
    unsettled = Run(erm.dataset, erm.provenance | {"settled": False})
    assert why_over(unsettled, end) == ""
    monkeypatch.setattr("lib.ended.MOST_GRADIENTS", 1)
    assert why_over(unsettled, end) == "gradients"
    assert why_over(Run(erm.dataset, unsettled.provenance | {"integrator": {"name": "gd", "learning_rate": 1.0}}), end) == ""


def test_outcomes_are_counted_over_runs_with_why_they_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("lib.ended.on_all_cores", lambda work, items: [work(item) for item in items])
    p = mvsim.Parameters(k=3, m=2, N=12, P=9, d=40)
    jobs = [Job(tmp_path, p, "erm", seed, 3e3, {}) for seed in (0, 1)]
    both = ended(jobs)
    for job, one in zip(jobs, both, strict=True):
        end, why = float(one.run.dataset["final_time"]), followed(job)  # the run is found
        assert (one.run.seed, why) == (job.seed, one.why)
        assert end == pytest.approx(3e3) if why == "last time" else end <= 3e3
    counts = tallied([*both, Ended(None, "lost")])
    assert (counts["runs"], counts["lost"], sum(counts["classes"].values()), sum(counts["ends"].values())) == (2, 1, 6, 3)


@pytest.mark.parametrize("options", [{}, {"integrator": "gd", "eta": 1.0}], ids=["flow", "gd"])
@pytest.mark.usefixtures("environment")
def test_a_run_that_was_interrupted_beyond_the_first_times_goes_on(tmp_path, monkeypatch, options):
    p, last = mvsim.Parameters(k=3, m=3, N=12, P=9, d=400), 4e3
    job = Job(tmp_path, p, "erm", 0, last, options)
    path = tmp_path / run_name(p, "erm", 0, options)
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)  # the display is told of every step
    with pytest.raises(mvsim.Interrupted):
        mvsim.simulate(p, "erm", 0, out=path, t_end=last, progress=StopAfter(lambda step: step == 40 if not options else step == 600), **options)
    assert last / STAGE**STAGES < float(mvsim.open_run(path).dataset["final_time"]) < last
    assert followed(job) in ("views stay", "all learned", "last time")
    assert mvsim.open_run(path).status == "finished"


def at_point(regime, **steps):
    """What the map has of one point: of each step the statuses of its runs."""
    return {"regime": regime, "steps": {name.replace("_B", " B."): {"statuses": statuses} for name, statuses in steps.items()}}


def test_the_map_says_which_contradictions_vanish():
    bad, good = "contradicted", "holds"
    results = {
        "scaled": at_point("scaled", Claim_B17=[bad, good], Claim_B22=[bad], Corollary_B23=[bad], Corollary_B26=[good]),
        "literal": at_point("literal", Claim_B17=[bad, good], Claim_B22=[good, good], Corollary_B23=["not applicable"], Corollary_B26=[bad]),
    }
    assert proof_map.where_scaled_contradicts(results) == {"Claim B.17": (1, 2), "Claim B.22": (0, 2), "Corollary B.23": (0, 0)}
    said = proof_map._vanish(results)
    assert "still contradicted by some run: Claim B.17 (1 of 2); contradicted by none: Claim B.22 (0 of 2); decided by no run: Corollary B.23" in said


def test_the_map_names_the_loss_and_the_reading():
    results = {
        "erm": at_point("scaled", Corollary_B8=["holds", "holds"]) | {"theorem": "4.6"},
        "midpoint": at_point("scaled", Claim_B17=["contradicted", "holds"], Corollary_B26=["contradicted"] * 2) | {"theorem": "4.7"},
    }
    said = "No run of ERM contradicts a step. Of 2 runs of Midpoint Mixup, 2 contradict B.26 (as we read it) and 1 B.17"
    assert proof_map.headline(results) == said
    assert proof_map.outcome(results["midpoint"]["steps"]["Claim B.17"]) == ("contradicted", "1/2")


def test_what_is_undone_after_a_run_has_settled_is_counted(run_folder):
    """A run beside itself, cut where it had settled; and again with a point and a feature lost at its last record."""
    far = mvsim.open_run(run_folder / "midpoint.nc")
    settled = Run(far.dataset.isel(time=slice(-3)), far.provenance)
    nothing = permanence.undone(Evidence(settled), Evidence(far))
    assert (nothing["accuracy_lost"], nothing["features_lost"], nothing["features"]) == (False, 0, 2 * far.parameters.k)
    dataset = far.dataset.copy(deep=True)
    dataset["training_accuracy"].values[-1] = 0.99
    dataset["feature_learned"].values[-1, 1, 0] = 0.95
    lost = permanence.undone(Evidence(settled), Evidence(Run(dataset, far.provenance)))
    assert (lost["accuracy_lost"], lost["features_lost"]) == (True, 1)
    assert "1 of 1 | 1 of 8" in permanence._undone_passage({"Midpoint Mixup": [lost]})


def asked(k, seeds, undecided, **more):
    """An answer of the study of paths, as far as its picture and table look at it."""
    name = f"Theorem 4.7 (features), k = {k}"
    detail = f"holds in 0 of {seeds}, 95% interval [0, 1]; 9 further runs would establish it; {undecided} undecided, counted as failing here"
    count = {"right": 0, "of": seeds, "what": "runs", "undecided": undecided}
    verdict = {"name": name, "measured": 0.0, "detail": detail, "status": "inconclusive", "kind": "theorem", "count": count}
    row = {"theorem": "4.7", "path": "literal", "k": k, "fields": {}, "seeds": seeds, "r0": 1e-7, "command": f"k = {k}", "constants": {}}
    return row | {"verdicts": [verdict]} | more


def test_a_point_that_is_undecided_in_every_run_has_a_hollow_mark_alone():
    results = {"all": asked(20, 1, 1, interrupted=["seed 0 after 9 gradients at t = 1"]), "some": asked(6, 5, 4)}
    marks = [line for line in paths.picture(results).axes[1].lines if line.get_marker() == paths.MARKERS["literal", ()]]
    drawn = {(round(float(line.get_xdata()[0])), float(line.get_ydata()[0]), line.get_markerfacecolor() != "white") for line in marks}
    assert drawn == {(1, 1.0, False), (0, 0.8, False), (0, 0.0, True)}  # k = 6 is the first
    passage = paths.passage(results)
    assert "holds in 0 of 1, 95% interval [0, 1]; 1 undecided; interrupted: seed 0 after 9 gradients at t = 1 |  |" in passage
    assert "holds in 0 of 5, 95% interval [0, 1]; 4 undecided |  |" in passage
