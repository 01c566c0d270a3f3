"""``mvsim simulate`` from words to a run file."""

import json
import warnings

import numpy as np
import pytest
from example_run import assert_same_bits

import mvsim as package
from mvsim.cli.dispatch import exit_code
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.parameters import Parameters, dimension


def test_default_file_name_is_told(mvsim, tiny, tmp_path):
    result = mvsim("simulate", *tiny, "--method", "erm", "--seed", "5")
    assert result.code == 0
    assert result.err == ""
    assert result.out.splitlines()[-1] == "saved in mvsim-k3-erm-seed5-N30.nc"
    assert [path.name for path in tmp_path.iterdir()] == ["mvsim-k3-erm-seed5-N30.nc"]
    run = package.open_run("mvsim-k3-erm-seed5-N30.nc")
    assert (run.method, run.seed, run.parameters.k, run.parameters.N) == ("erm", 5, 3, 30)
    assert " ".join(run.summary.split()) in " ".join(result.out.split())
    assert max(map(len, result.out.splitlines())) <= 150


def test_a_run_with_the_default_name_is_resumed_by_the_same_words(mvsim, tmp_path):
    words = ("simulate", "--k", "3", "--N", "30", "--method", "erm", "--t-end")
    assert mvsim(*words, "30").code == 0
    assert mvsim(*words, "60", "--resume").code == 0
    (run,) = tmp_path.iterdir()
    assert package.open_run(run).dataset["final_time"] == 60.0
    assert mvsim(*words, "60", "--force").code == 0
    assert list(tmp_path.iterdir()) == [run]


DIFFERENT = (
    (), ("--seed", "1"), ("--d", "400"), ("--C_P", "1"), ("--method", "erm"), ("--integrator", "gd"), ("--integrator", "gd", "--eta", "3"),
    ("--rtol", "0.01"), ("--n-test", "3"), ("--method", "mixup"), ("--method", "mixup", "--mixing", "0.3"), ("--method", "mixup", "--pairs", "9"),
    ("--beta_law", '{"kind": "beta", "a": 2}'), ("--beta_law", '{"kind": "beta", "a": 3}'), ("--regime", "literal"), ("--model", "linear"),
)  # fmt: skip
"""Words of runs that differ from each other."""


def test_runs_that_differ_have_names_that_differ(mvsim, tiny, monkeypatch):
    names = [json.loads(mvsim("simulate", "--k", "3", *words, "--dry-run", "--json").out)["file"] for words in DIFFERENT]
    assert len(set(names)) == len(DIFFERENT)
    assert names[:7] == [
        "mvsim-k3-midpoint-seed0.nc", "mvsim-k3-midpoint-seed1.nc", "mvsim-k3-midpoint-seed0-d400.nc", "mvsim-k3-midpoint-seed0-C_P1.nc",
        "mvsim-k3-erm-seed0.nc", "mvsim-k3-midpoint-gd-seed0.nc", "mvsim-k3-midpoint-gd-seed0-eta3.0.nc",
    ]  # fmt: skip
    again = json.loads(mvsim("simulate", "--k", "3", "--t-end", "9", "--settled-factor", "3", "--quiet", "--dry-run", "--json").out)
    assert again["file"] == names[0]  # a later end is the same run


def test_a_dry_run_predicts_and_makes_nothing(mvsim, tiny, tmp_path):
    result = mvsim("simulate", *tiny, "--integrator", "gd", "--eta", "2", "--dry-run", "--json")
    told = json.loads(result.out)
    assert (result.code, list(tmp_path.iterdir())) == (0, [])
    assert told["gradients"] == [30, 30]  # 60 in steps of 2
    assert 0.0 < told["gradient_seconds"] < told["seconds"][0] < told["seconds"][1]
    assert told["memory_bytes"] > 2**27
    words = mvsim("simulate", *tiny, "--integrator", "gd", "--eta", "2", "--dry-run").out
    assert words.startswith("This run would take ")
    assert " on an idle machine.\n" in words
    assert "Gradients: 30 expected" in words
    assert "exists already" not in words
    assert "(k^20" not in words
    assert "r0 = " in mvsim("simulate", *tiny, "--dry-run", "--verbose").out  # how it departs from the regime of the theorems
    mvsim("simulate", *tiny, "--integrator", "gd", "--eta", "2")
    assert "exists already" in mvsim("simulate", *tiny, "--integrator", "gd", "--eta", "2", "--dry-run").out
    assert mvsim("simulate", "--k", "1000000", "--m", "1000000", "--dry-run").code == 2


GD = ("simulate", "--k", "3", "--N", "30", "--integrator", "gd", "--eta", "2", "--quiet", "--out", "run.nc")
"""A run of gradient descent; how far it goes is left open."""


def test_a_dry_run_that_resumes_says_what_is_left(mvsim):
    assert mvsim(*GD, "--t-end", "60").code == 0
    done = mvsim(*GD, "--t-end", "60", "--resume", "--dry-run")
    assert (done.code, done.out.partition(". ")[0]) == (0, "run.nc has finished: nothing would be done")
    told = json.loads(mvsim(*GD, "--t-end", "60", "--resume", "--dry-run", "--json").out)
    assert (told["finished"], told["gradients"]) == (True, [0, 0])
    longer = " ".join(mvsim(*GD, "--t-end", "80", "--resume", "--dry-run").out.split())
    assert "from its start; what is saved of it is not subtracted" in longer
    assert longer.endswith("File: run.nc (goes on from what is saved).")
    assert "(exists already: --resume continues it, --force overwrites it)" in mvsim(*GD, "--t-end", "60", "--dry-run").out
    other = mvsim(*GD, "--t-end", "60", "--resume", "--dry-run", "--n-test", "7")
    assert (other.code, "run.nc: holds another run: --n-test=7 (saved: 20)" in other.err) == (2, True)
    assert "give only one of them" in mvsim(*GD, "--t-end", "60", "--resume", "--force", "--dry-run").err


def test_what_is_no_run_is_not_offered_to_be_continued(mvsim, tmp_path):
    (tmp_path / "run.nc").write_text("precious")
    assert "(exists already, and would be overwritten)" in mvsim(*GD, "--t-end", "60", "--dry-run", "--force").out
    predicted = " ".join(mvsim(*GD, "--t-end", "60", "--dry-run").out.split())
    assert "(exists already and is no run that could be continued: --force overwrites it)" in predicted
    refused = mvsim(*GD, "--t-end", "60")
    ways = "overwrite it (--force, force=True), or choose another file"
    assert refused.err == f"mvsim: run.nc: exists already and is no run that could be continued; {ways}\n"
    assert (tmp_path / "run.nc").read_text() == "precious"


@pytest.mark.parametrize(("place", "said"), [("none/run.nc", "the directory"), (".", "is a directory")])
def test_a_dry_run_refuses_the_place_that_the_run_would_refuse(place, said, mvsim, tiny):
    result = mvsim("simulate", *tiny, "--out", place, "--dry-run")
    assert (result.code, said in result.err) == (2, True)


def test_a_dry_run_reckons_with_where_the_run_ends(mvsim):
    def most(*words):
        return json.loads(mvsim("simulate", "--k", "3", "--N", "60", "--method", "erm", "--quiet", "--dry-run", "--json", *words).out)["gradients"][1]

    assert most("--t-end", "1e3") < most() == most("--settled-factor", "10") < most("--settled-factor", "1e3") < most("--t-end", "1e30")


def test_r0_stands_for_d(mvsim):
    def file(*words):
        return json.loads(mvsim("simulate", "--k", "3", "--N", "60", "--quiet", "--dry-run", "--json", *words).out)["file"]

    assert file("--r0", "0.2") == file("--d", str(dimension(0.2, 3, 1 / 3)))
    assert "each follows from the other" in mvsim("simulate", "--k", "3", "--r0", "0.2", "--d", "400").err
    assert "literal regime has d = k^20" in mvsim("simulate", "--k", "3", "--r0", "0.2", "--regime", "literal").err


def test_a_flow_is_predicted_to_within_the_range(mvsim):
    """At k = 3 with few points a run of seconds is enough to count its gradients."""
    words = ("simulate", "--k", "3", "--N", "60", "--method", "erm", "--quiet")
    least, most = json.loads(mvsim(*words, "--dry-run", "--json").out)["gradients"]
    assert mvsim(*words, "--out", "run.nc").code == 0
    assert least <= int(package.open_run("run.nc").dataset["final_evaluations"]) <= most <= 20 * least


def test_verbose_lists_the_regime(mvsim, tiny):
    short = mvsim("simulate", *tiny, "--out", "run.nc").out
    run = package.open_run("run.nc")
    assert run.regime[0].statement not in short
    words = " ".join(mvsim("simulate", *tiny, "--out", "run.nc", "--force", "--verbose").out.split())
    assert all(f"{deviation.name}: {deviation.statement}" in words for deviation in run.regime)


def test_options_are_written_with_either_sign(mvsim, tiny):
    for words in (("--signal-layout", "fixed", "--n_test", "3"), ("--signal_layout", "fixed", "--n-test", "3")):
        assert mvsim("simulate", *tiny, *words, "--out", "run.nc", "--force").code == 0
        run = package.open_run("run.nc")
        assert (run.parameters.signal_layout, run.provenance["options"]["n_test"]) == ("fixed", 3)


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_finished_run_that_is_asked_to_end_earlier_is_left_and_says_so(mvsim, tiny):
    words = ("simulate", *tiny[:4], "--integrator", "gd", "--eta", "1", "--quiet", "--out", "run.nc")
    assert mvsim(*words, "--t-end", "60").code == 0
    result = mvsim(*words, "--t-end", "30", "--resume")
    assert result.code == 0
    assert result.err == "mvsim: warning: t_end=30: run.nc has finished at t = 60 already, and is left as it is\n"
    assert mvsim(*words, "--t-end", "60", "--resume").err == ""
    assert mvsim(*words, "--t-end", "59.5", "--resume").err == ""  # step 60 is the first that reaches it


def test_resuming_what_is_not_there_says_so(mvsim, tiny):
    words = ("simulate", *(word for word in tiny if word != "--quiet"), "--resume", "--out", "new.nc")
    said = "mvsim: new.nc: nothing was saved there, so the run starts from the beginning"
    assert said in mvsim(*words).err
    assert said not in mvsim(*words).err


def test_each_command_tells_its_own_exit_codes(mvsim):
    told = {
        name: " ".join(mvsim(name, "--help").out.split("Exit codes:")[1].split()) for name in ("simulate", "show", "diff", "plot", "verify", "sweep")
    }
    assert len(set(told.values())) == 5  # show and plot have no others than all
    assert "contradicted" in told["verify"]
    assert not any("contradicted" in text for name, text in told.items() if name != "verify")
    assert "they differ" in told["diff"]
    assert all("130 interrupted" in text for text in told.values())


def test_tab_completion_knows_commands_and_options(mvsim, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert mvsim("--install-completion", "--shell", "bash", "--output", tmp_path / "completion").code == 0
    script = (tmp_path / "completion").read_text()
    for word in ("simulate", "verify", "--method", "midpoint", "--dry-run", "--delta3"):
        assert word in script


def test_run_is_the_one_of_the_python_function(mvsim, tiny):
    mvsim("simulate", *tiny, "--seed", "2", "--integrator", "gd", "--eta", "3", "--C_P", "1", "--out", "run.nc")
    run = package.open_run("run.nc")
    same = package.simulate(Parameters(k=3, N=30, C_P=1), seed=2, integrator="gd", eta=3, t_end=60)
    assert np.array_equal(run.final_correlations, same.final_correlations)


def test_json_is_all_of_stdout(mvsim, tiny):
    result = mvsim("simulate", *tiny, "--json", "--out", "run.nc")
    answer = json.loads(result.out)
    run = package.open_run("run.nc")
    assert answer["file"] == "run.nc"
    assert answer["method"] == "midpoint"
    assert answer["time"] == float(run.dataset["time"][-1])
    assert answer["loss"] == float(run.dataset["loss"][-1])
    assert sum(answer["classes"].values()) == 3
    assert [entry["name"] for entry in answer["regime"]] == [deviation.name for deviation in run.regime]
    assert Parameters(**answer["parameters"]) == run.parameters


@pytest.mark.parametrize(
    ("field", "text"),
    [("delta3", "0.01"), ("d", str(3**20)), ("signal_layout", "fixed"), ("noise", "patch"), ("G", "4"), ("beta_law", '{"kind": "beta", "a": 2}')],
)
def test_any_field_is_a_flag(field, text, mvsim, tiny):
    assert mvsim("simulate", *tiny, f"--{field}", text, "--out", "run.nc").code == 0
    value = json.loads(text) if text.startswith("{") else text
    assert getattr(package.open_run("run.nc").parameters, field) == getattr(Parameters(**{"k": 3, field: value}), field)


def test_help_names_every_field_method_and_integrator(mvsim):
    text = mvsim("simulate", "--help").out
    for name in [*Parameters.model_fields, "seed", "out", "resume", "force", "config", "json", "quiet", "t-end"]:
        assert f"--{name}" in text
    for name in [*OBJECTIVES, *INTEGRATORS]:
        assert name in text


def test_config_file_is_read_and_the_command_line_wins(mvsim, tmp_path):
    (tmp_path / "run.toml").write_text(
        """
        k = 4
        N = 30
        seed = 7
        method = "erm"
        t_end = 40
        n-test = 3
        quiet = true
        out = "from-file.nc"
        beta_law = {kind = "beta", a = 2}
        """
    )
    assert mvsim("simulate", "--config", "run.toml", "--k", "3", "--seed", "8").code == 0
    run = package.open_run("from-file.nc")
    assert (run.parameters.k, run.seed) == (3, 8)
    assert (run.parameters.N, run.method, run.parameters.beta_law.a) == (30, "erm", 2)
    assert run.provenance["integrator"]["t_end"] == 40
    assert run.provenance["options"]["n_test"] == 3


def test_config_takes_a_law_for_each_class(mvsim, tmp_path):
    laws = '[{kind = "beta", a = 2}, {kind = "uniform"}, {kind = "beta", a = 3}]'
    (tmp_path / "laws.toml").write_text(f"k = 3\nN = 30\nt_end = 40\nquiet = true\nbeta_law = {laws}\n")
    assert mvsim("simulate", "--config", "laws.toml", "--out", "run.nc").code == 0
    assert [law.kind for law in package.open_run("run.nc").parameters.beta_law] == ["beta", "uniform", "beta"]


def test_resume_goes_on_to_a_later_time_as_if_never_stopped(mvsim, tiny):
    words = ("simulate", *tiny[:4], "--integrator", "gd", "--eta", "1", "--quiet")
    assert mvsim(*words, "--t-end", "30", "--out", "two.nc").code == 0
    assert mvsim(*words, "--t-end", "60", "--out", "two.nc", "--resume").code == 0
    assert mvsim(*words, "--t-end", "60", "--out", "one.nc", "--resume").code == 0
    assert_same_bits(package.open_run("one.nc").dataset, package.open_run("two.nc").dataset)


def test_resuming_with_other_parameters_is_refused(mvsim, tiny):
    mvsim("simulate", *tiny, "--out", "run.nc")
    result = mvsim("simulate", *tiny, "--out", "run.nc", "--resume", "--delta3", "0.001")
    assert result.code == 2
    assert "delta3" in result.err
    assert result.err.count("\n") == 1


def test_force_overwrites(mvsim, tiny):
    mvsim("simulate", *tiny, "--out", "run.nc")
    assert mvsim("simulate", *tiny, "--out", "run.nc", "--seed", "1").code == 2
    assert package.open_run("run.nc").seed == 0
    assert mvsim("simulate", *tiny, "--out", "run.nc", "--seed", "1", "--force").code == 0
    assert package.open_run("run.nc").seed == 1


@pytest.mark.filterwarnings("always::UserWarning")
def test_warnings_are_one_line_each(mvsim, monkeypatch):
    def warn(*arguments, **options):
        warnings.warn("eta=3000 exceeds 2 / lambda_max = 100", stacklevel=2)
        raise package.DivergedError("stopped")

    monkeypatch.setattr(package, "simulate", warn)
    assert mvsim("simulate", "--k", "3").err == "mvsim: warning: eta=3000 exceeds 2 / lambda_max = 100\nmvsim: stopped\n"


@pytest.mark.filterwarnings("always::UserWarning")
@pytest.mark.parametrize(("error", "code"), [("StalledError", 3), ("DivergedError", 3), ("UsageError", 2), ("Interrupted", 130)])
def test_an_error_decides_the_exit_code(error, code):
    assert exit_code(getattr(package, error)("x")) == code


def test_ctrl_c_before_anything_was_saved_says_that_nothing_was_written(mvsim, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(package, "simulate", interrupted)
    result = mvsim("simulate", "--k", "3", "--method", "erm", "--out", "early.nc")
    assert (result.code, result.err) == (130, "mvsim: interrupted before anything was saved; nothing was written to early.nc\n")


def test_divergence_has_its_own_exit_code(mvsim, monkeypatch):
    def diverge(*arguments, **options):
        raise package.DivergedError("eta=1e+300: the correlations are not finite after step 2")

    monkeypatch.setattr(package, "simulate", diverge)
    result = mvsim("simulate", "--k", "3")
    assert (result.code, result.out) == (3, "")
    assert result.err == "mvsim: eta=1e+300: the correlations are not finite after step 2\n"


@pytest.mark.parametrize(("rtol", "told"), [("0.004", True), ("0.003", False)])
def test_a_coarse_tolerance_is_told_of(rtol, told, mvsim, tiny):
    result = mvsim("simulate", *tiny, "--method", "erm", "--rtol", rtol, "--out", "run.nc")
    assert result.code == 0
    assert ("mvsim: rtol=0.004: `mvsim verify` cannot tell so coarse a run from a changed one" in result.err) == told


def test_a_refusal_stands_alone(mvsim):
    result = mvsim("simulate", "--k", "3", "--rtol", "0.1", "--nodes", "1")
    assert (result.code, result.err) == (2, "mvsim: nodes=1: midpoint has no such option; it takes none\n")


def test_a_tolerance_of_escapes_is_coarse_only_beyond_what_its_states_keep_to(mvsim, tiny):
    for rtol, told in (("0.005", False), ("0.02", True)):
        result = mvsim("simulate", *tiny, "--integrator", "escapes", "--rtol", rtol, "--dry-run")
        assert ("cannot tell so coarse a run" in result.err) == told


def test_which_integrator_is_taken_is_told(mvsim):
    words = ("--k", "20", "--m", "2", "--N", "20", "--P", "80", "--method", "midpoint", "--n-test", "2", "--quiet", "--t-end", "50")
    assert "Integrator: escapes, chosen by auto." in mvsim("simulate", *words, "--dry-run").out
    assert json.loads(mvsim("simulate", *words, "--rtol", "1e-3", "--dry-run", "--json").out)["integrator"] == "flow"
    told = " ".join(mvsim("simulate", *words, "--out", "run.nc").out.split())
    assert "of the gradient flow, from escape to escape, with rtol = 0.005" in told
    assert "Integrator: escapes (rtol=0.005, " in mvsim("show", "run.nc").out
    mvsim("simulate", *words, "--integrator", "flow", "--out", "run.nc", "--force")
    assert "Integrator: flow, chosen by auto." in mvsim("simulate", *words[:-1], "60", "--out", "run.nc", "--resume", "--dry-run").out
    plan = mvsim("sweep", "--k", "6,20", *words[2:-3], "--out", "runs", "--dry-run", "--quiet").out
    assert [line.split()[3] for line in plan.splitlines()[2:4]] == ["flow", "escapes"]
