"""``mvsim simulate`` from words to a run file."""

import json
import warnings

import numpy as np
import pytest
from example_run import assert_same_bits

import mvsim as package
from mvsim.integrators import INTEGRATORS
from mvsim.objectives import OBJECTIVES
from mvsim.parameters import Parameters


def test_default_file_name_is_told(mvsim, tiny, tmp_path):
    result = mvsim("simulate", *tiny, "--method", "erm", "--seed", "5")
    assert result.code == 0
    assert result.err == ""
    assert result.out.splitlines()[-1] == "saved in mvsim-k3-erm-seed5.nc"
    assert [path.name for path in tmp_path.iterdir()] == ["mvsim-k3-erm-seed5.nc"]
    run = package.open_run("mvsim-k3-erm-seed5.nc")
    assert (run.method, run.seed, run.parameters.k, run.parameters.N) == ("erm", 5, 3, 30)
    assert " ".join(run.summary.split()) in " ".join(result.out.split())
    assert max(map(len, result.out.splitlines())) <= 150


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
    [
        ("delta3", "0.01"),
        ("d", str(3**20)),
        ("signal_layout", "fixed"),
        ("noise", "patch"),
        ("G", "4"),
        ("beta_law", '{"kind": "beta", "a": 2}'),
    ],
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
def test_divergence_has_its_own_exit_code(mvsim, monkeypatch):
    def diverge(*arguments, **options):
        raise package.DivergedError("eta=1e+300: the correlations are not finite after step 2")

    monkeypatch.setattr(package, "simulate", diverge)
    result = mvsim("simulate", "--k", "3")
    assert (result.code, result.out) == (3, "")
    assert result.err == "mvsim: eta=1e+300: the correlations are not finite after step 2\n"
