"""Whatever is wrong with the input: exit code 2, one line that names it, no traceback, nothing left behind."""

import pytest

TOML = {
    "unknown.toml": "k = 3\nsed = 4\n",
    "command.toml": "k = 3\nplot = 4\n",
    "syntax.toml": "k = [",
    "binary.toml": b"\xff\xfe\x00",
    "type.toml": "k = 'three'\n",
    "flag.toml": "k = 3\nresume = 'maybe'\n",
    "number.toml": "k = 3\nseed = 1.5\n",
    "nested.toml": "k = 3\n[beta_law]\nkind = 'gamma'\n",
    "itself.toml": "k = 3\nconfig = 'itself.toml'\n",
}

BAD = {
    "no k": ([], "k: is required"),
    "k is no number": (["--k", "abc"], "k='abc'"),
    "k too small": (["--k", "1"], "k='1'"),
    "k not finite": (["--k", "nan"], "k='nan'"),
    "k has too many digits": (["--k", "9" * 5000], "k='999"),
    "several fields": (["--k", "3", "--m", "0", "--alpha", "-1"], "m='0'"),
    "fields that contradict": (["--k", "3", "--delta1", "0.9"], "delta1=0.9"),
    "letter in the wrong case": (["--k", "3", "--c_p", "2"], "--C_P"),
    "unknown option": (["--k", "3", "--frobnicate", "1"], "--frobnicate"),
    "missing value": (["--k"], "--k"),
    "option instead of a value": (["--k", "3", "--out", "--json"], "--out"),
    "twice": (["--k", "3", "--k", "4"], "--k"),
    "extra word": (["--k", "3", "extra"], "extra"),
    "unknown method": (["--k", "3", "--method", "magic"], "midpoint"),
    "unknown integrator": (["--k", "3", "--integrator", "magic"], "gd"),
    "unknown backend": (["--k", "3", "--backend", "magic"], "numba"),
    "seed is no integer": (["--k", "3", "--seed", "1.5"], "--seed"),
    "seed is negative": (["--k", "3", "--seed", "-3"], "seed=-3"),
    "step size not finite": (["--k", "3", "--eta", "nan"], "eta=nan"),
    "step size zero": (["--k", "3", "--eta", "0"], "eta=0"),
    "time not finite": (["--k", "3", "--t-end", "inf"], "t_end=inf"),
    "no fresh draws": (["--k", "3", "--n-test", "0"], "n_test=0"),
    "no time between saves": (["--k", "3", "--checkpoint-seconds", "0"], "checkpoint_seconds=0"),
    "malformed law": (["--k", "3", "--beta_law", '{"kind'], "beta_law"),
    "unknown law": (["--k", "3", "--beta_law", '{"kind": "gamma"}'], "beta_law"),
    "asymmetric law": (["--k", "3", "--beta_law", '{"kind": "discrete", "atoms": [0.1]}'], "symmetric"),
    "missing directory": (["--k", "3", "--out", "missing/run.nc"], "missing"),
    "directory as file": (["--k", "3", "--out", "."], "directory"),
    "overwrite and continue": (["--k", "3", "--force", "--resume"], "resume"),
    "too large": (["--k", "1000000", "--m", "1000000"], "memory"),
    "no such config": (["--config", "missing.toml"], "missing.toml"),
    "config without end": (["--config", "/dev/zero"], "/dev/zero: is not a file"),
    "unknown key": (["--config", "unknown.toml"], "did you mean seed?"),
    "key that is a command": (["--config", "command.toml"], "plot is not an option"),
    "key that is config": (["--config", "itself.toml"], "config is not an option"),
    "not TOML": (["--config", "syntax.toml"], "syntax.toml"),
    "not text": (["--config", "binary.toml"], "binary.toml"),
    "wrong type in config": (["--config", "type.toml"], "k='three'"),
    "wrong flag in config": (["--config", "flag.toml"], "resume"),
    "wrong number in config": (["--config", "number.toml"], "seed"),
    "wrong table in config": (["--config", "nested.toml"], "beta_law"),
}


def assert_refused(result, named):
    """Fail unless a command was refused in one line that contains ``named``."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("mvsim: ")
    assert result.err.count("\n") == 1
    assert named in result.err
    assert len(result.err) < 1000


@pytest.mark.parametrize("case", BAD)
def test_simulate_refuses(case, mvsim, tmp_path):
    words, named = BAD[case]
    for name in set(words) & set(TOML):
        content = TOML[name]
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.iterdir())
    assert_refused(mvsim("simulate", *words), named)
    assert sorted(tmp_path.iterdir()) == before


def test_unknown_command(mvsim):
    assert_refused(mvsim("simulat", "--k", "3"), "simulate")


def test_existing_run_is_refused_and_kept(mvsim, tmp_path):
    run = tmp_path / "mvsim-k3-midpoint-seed0.nc"
    run.write_text("precious")
    assert_refused(mvsim("simulate", "--k", "3"), run.name)
    assert run.read_text() == "precious"


def test_resuming_a_file_that_is_no_run(mvsim, tmp_path):
    (tmp_path / "notes.nc").write_text("precious")
    assert_refused(mvsim("simulate", "--k", "3", "--out", "notes.nc", "--resume"), "notes.nc")
    assert (tmp_path / "notes.nc").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "RUN"),
        (["missing.nc"], "missing.nc"),
        (["missing.nc", "-o"], "-o"),
        (["missing.nc", "-o", "picture.gif"], "picture.gif"),
        (["missing.nc", "-o", "missing/picture.png"], "missing"),
        (["notes.txt"], "notes.txt"),
    ],
)
def test_plot_refuses(words, named, mvsim, tmp_path):
    (tmp_path / "notes.txt").write_text("precious")
    assert_refused(mvsim("plot", *words), named)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "No space left on device", "run.nc"), MemoryError("cannot allocate")])
def test_machine_that_gives_out(error, mvsim, monkeypatch):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("mvsim.cli.simulate.mvsim.simulate", fail)
    assert_refused(mvsim("simulate", "--k", "3"), "memory" if isinstance(error, MemoryError) else "run.nc: No space left on device")


def test_bug_traces_back(mvsim, monkeypatch):
    """An exception that nobody expects is not dressed up as bad input."""

    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr("mvsim.cli.simulate.mvsim.simulate", fail)
    with pytest.raises(ZeroDivisionError):
        mvsim("simulate", "--k", "3")
