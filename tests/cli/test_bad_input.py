"""Whatever is wrong with the input: exit code 2, one line that names it, no traceback, nothing left behind."""

import json
import re
import shutil

import pytest
from looping import looping

NASTY = "\x1b[31m" + "x" * 5000 + "\u202e"
"""A value that a terminal would obey, and that fills it."""

TINY = ("--k", "3", "--N", "30", "--t-end", "60", "--quiet")

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
    "time not finite": (["--k", "3", "--t-end", "inf"], "--t-end=inf"),
    "no fresh draws": (["--k", "3", "--n-test", "0"], "--n-test=0"),
    "no time between saves": (["--k", "3", "--checkpoint-seconds", "0"], "--checkpoint-seconds=0"),
    "law without its shape": (["--k", "3", "--beta_law", '{"kind": "beta"}'], "beta_law.a: is required"),
    "law without its atoms": (["--k", "3", "--beta_law", '{"kind": "discrete"}'], "beta_law.atoms: is required"),
    "number of thousands of digits in a law": (["--k", "3", "--beta_law", '{"kind": "beta", "a": ' + "9" * 5000 + "}"], "beta_law={"),
    "literal regime with another d": (["--k", "3", "--regime", "literal", "--d", "50"], "regime='literal', d='50'"),
    "features that do not fit": (["--k", "3", "--d", "5"], "d=5: must be at least 2 k = 6"),
    "bound of thirty digits": (["--k", "3", "--rho", "1e-31"], "must be > 0, and at least 1e-30"),
    "too many threads": (["--k", "3", "--threads", "9" * 30], "threads=999"),
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


@looping("case", BAD)
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


@looping(
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


@pytest.mark.parametrize("wanted", ["", "1"])
def test_a_bug_asks_to_be_reported_and_traces_back_on_request(wanted, mvsim, monkeypatch):
    """An exception that nobody expects is not dressed up as bad input."""

    def fail(*arguments, **options):
        raise ZeroDivisionError("by \x1b[31m nothing")

    monkeypatch.setattr("mvsim.cli.simulate.mvsim.simulate", fail)
    monkeypatch.setenv("MVSIM_TRACEBACK", wanted)
    result = mvsim("simulate", "--k", "3")
    assert result.code == 70
    assert "please report" in result.err
    assert "ZeroDivisionError: by \\x1b[31m nothing" in result.err
    assert ("Traceback" in result.err) == bool(wanted)
    assert "MVSIM_TRACEBACK" in mvsim("--help").out


@looping(
    "words",
    [
        ["simulate", "--k", NASTY],
        ["simulate", "--k", "3", "--seed", NASTY],
        ["simulate", "--k", "3", "--t-end", NASTY],
        ["simulate", "--k", "3", "--method", NASTY],
        ["simulate", "--k", "3", f"--{NASTY}"],
        ["simulate", "--k", "3", f"--{NASTY}=1"],
        ["simulate", "--k", "3", NASTY],
        ["simulate", "--k", "3", "--beta_law", "{" + NASTY],
        ["simulate", "--k", "3", "--beta_law", '{"kind": "' + "x" * 5000 + '"}'],
        ["simulate", "--k", "3", "--beta_law", '{"kind": "beta", "a": 1, "' + "x" * 5000 + '": 1}'],
        ["simulate", "--k", "3", "--mixing", NASTY, "--method", "mixup"],
        ["simulate", "--k", "3", "--out", NASTY],
        ["simulate", "--config", "nasty.toml"],
        ["simulate", "--config", NASTY],
        ["plot", NASTY],
        ["plot", "missing.nc", "-o", NASTY],
        ["verify", NASTY],
        ["verify", f"midpoint/{NASTY}"],
        [NASTY],
    ],
)
def test_what_a_message_repeats_is_short_and_printable(words, mvsim, tmp_path):
    (tmp_path / "nasty.toml").write_text(f'k = 3\n"{"x" * 5000}\\u001b[31m" = 4\n')
    result = mvsim(*words)
    assert_refused(result, "")
    assert result.err[:-1].isprintable()


@looping("digits", ["9" * 5000, "0x" + "f" * 5000, "[" + "9" * 5000 + "]", "[0x" + "f" * 5000 + "]"])
@looping("key", ["k", "seed", "beta_law", "t_end", "threads"])
def test_integers_of_thousands_of_digits_in_a_file(key, digits, mvsim, tmp_path):
    (tmp_path / "long.toml").write_text(f"{key} = {digits}\n" + ("" if key == "k" else "k = 3\n"))
    result = mvsim("simulate", "--config", "long.toml")
    assert_refused(result, "long.toml: ")
    assert re.search(rf"long\.toml: (line 1, )?{key} ?=", result.err), result.err


def test_a_word_behind_two_dashes_does_not_suggest_itself(mvsim):
    assert_refused(mvsim("simulate", "--", "--k", "3"), "follows --")


@pytest.fixture
def no_directory(tmp_path, monkeypatch):
    """A working directory that was deleted."""
    gone = tmp_path / "gone"
    gone.mkdir()

    def leave():
        monkeypatch.chdir(gone)
        gone.rmdir()

    return leave


@pytest.mark.parametrize(
    "words", [["simulate", "--k", "3", "--out", "a.nc"], ["plot", "erm.nc", "-o", "a.png"], ["verify", "erm.nc", "--out", "a.json"]]
)
def test_a_working_directory_that_is_gone(words, mvsim, no_directory, run_folder):
    no_directory()
    result = mvsim(*(run_folder / word if word == "erm.nc" else word for word in words))
    assert_refused(result, f"{words[-1]}: the working directory cannot be found")


def test_a_full_disk_leaves_nothing_behind(mvsim, tmp_path, full_disk, run_folder):
    shutil.copy(run_folder / "erm.nc", tmp_path)
    assert_refused(mvsim("plot", "erm.nc", "-o", "new.png"), "new.png: could not be written: No space left on device; correct that")
    assert [path.name for path in tmp_path.iterdir()] == ["erm.nc"]


def test_the_name_of_a_result_is_printable(mvsim):
    result = mvsim("simulate", *TINY, "--out", "a\x1b[31m.nc")
    assert result.code == 0
    assert "saved in a\\x1b[31m.nc\n" in result.out
    assert mvsim("plot", "a\x1b[31m.nc").out == "saved in a\\x1b[31m.png\n"


def test_the_current_directory_is_no_run(mvsim):
    for name in (".", "/", ".."):
        assert_refused(mvsim("plot", name), f"{name}: is a directory")


@looping("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le with a mark", "utf-16-be with a mark"])
@looping("end", ["\n", "\r\n", "\r"])
def test_text_files_are_read_as_editors_write_them(mvsim, tmp_path, encoding, end):
    text = end.join(["# \u00e9t\u00e9", 'method = "erm"', "k = [3, 4]", ""])
    name, _, marked = encoding.partition(" ")
    (tmp_path / "study.toml").write_bytes((("\ufeff" if marked else "") + text).encode(name))
    assert mvsim("sweep", "study.toml", "--cells").out == "2\n"


def test_a_text_file_in_an_unknown_encoding_is_named(mvsim, tmp_path):
    for content in ("# \u00e9t\u00e9\nk = 3\n".encode("latin-1"), "k = 3\n".encode("utf-16-le"), b"k = 3\x00\n"):
        (tmp_path / "study.toml").write_bytes(content)
        result = mvsim("sweep", "study.toml", "--cells")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "study=study.toml: " in result.err
        assert "; save the file as UTF-8" in result.err


def test_an_unknown_key_is_refused_without_the_whole_list_of_options(mvsim, tmp_path):
    (tmp_path / "settings.toml").write_text(f'"{chr(0xF36A4) * 60}" = 3\n')
    result = mvsim("simulate", "--config", "settings.toml")
    assert_refused(result, "is not an option; mvsim simulate --help lists them")
    assert len(result.err) < 450
    (tmp_path / "settings.toml").write_text("json_ = 3\n")
    result = mvsim("simulate", "--config", "settings.toml")
    assert_refused(result, "settings.toml: json_ is not an option, did you mean json?")
    assert len(result.err) < 450


@looping(
    ("words", "said"),
    [
        (("--K", "6"), "Unknown option: --K. Did you mean --k?"),
        (("--k", "3", "--beta-law", "beta"), "--beta-law='beta': must be a table of names and values"),
        (("--k", "3", "--beta-law", '{"kind": "Beta"}'), "--beta-law={'kind': 'Beta'}: kind must be one of uniform, beta, "),
        (("--k", "3", "--beta-law", '{"a": 2}'), "--beta-law={'a': 2}: kind must be given"),
        (("--k", "3", "--seed", "0:10"), "for several runs: mvsim sweep with --seed 0:10"),
        (("--k", "3", "--seed", "0-10"), "for several runs: mvsim sweep with --seed 0:11"),
        (("--k", "3", "--seed", "1e-4"), "'1e-4' must be an integer"),
        (("--k", "3", "--method", "mixup", "--mixing", "nonsense", "--resume", "--out", "new.nc"), "mixing='nonsense': must be a number, "),
    ],
)
def test_a_message_names_what_was_typed_and_what_would_do(mvsim, words, said):
    result = mvsim("simulate", *words)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert said in result.err


def test_whole_numbers_may_be_written_with_an_exponent(mvsim):
    result = mvsim("simulate", "--k", "3", "--d", "1e4", "--n-test", "1e1", "--seed", "2.5e3", "--quiet", "--dry-run", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["file"] == "mvsim-k3-midpoint-seed2500-d10000-n_test10.nc"
