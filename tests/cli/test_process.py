"""What only a process of its own shows: start-up time, signals, pipes, bare environments."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys

import pytest
from child_processes import PATIENCE, wait_for
from looping import looping

import mvsim
from mvsim.cli import main

COMMAND = [sys.executable, "-m", "mvsim"]
ENDLESS = [
    *("simulate", "--k", "3", "--N", "30", "--integrator", "gd", "--eta", "1e-3", "--t-end", "1e9"),
    *("--out", "run.nc", "--checkpoint-seconds", "0.1"),
]


@pytest.fixture
def endless(ending, tmp_path):
    """Start a command that would go on for days."""

    def start():
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return ending(subprocess.Popen([*COMMAND, *ENDLESS], cwd=tmp_path, **streams))

    return start


def processor_seconds(*words):
    """Return the output of a command and the processor time that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_is_quick_and_light():
    """A third of the processor time that importing what a run needs takes, at most: a bound in seconds would be one on the machine."""
    for _ in range(10):
        whole = processor_seconds(sys.executable, "-c", "import mvsim; mvsim.simulate")[1]
        out, seconds = processor_seconds(*COMMAND, "--help")
        if seconds < whole / 3:
            break
    assert "simulate" in out
    assert seconds < whole / 3
    code = "import sys, mvsim.cli; mvsim.cli.main(['--help']); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
    assert not {"numpy", "numba", "scipy", "xarray", "matplotlib", "pydantic", "h5py"} & set(modules)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_signal_saves_the_state_and_the_told_command_resumes(number, tmp_path, endless, monkeypatch, capsys):
    process = endless()
    wait_for((tmp_path / "run.nc").exists, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    told = err.splitlines()[-1]
    assert "Traceback" not in err
    assert told.endswith(f"resume with: mvsim {' '.join(ENDLESS)} --resume")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.nc"]
    stopped = mvsim.open_run(tmp_path / "run.nc")
    assert stopped.status == "interrupted"
    step = int(stopped.dataset["final_step"])
    assert step > 0

    words = [*ENDLESS, "--resume", "--quiet", "--json"]
    words[words.index("1e9")] = str(1e-3 * (step + 5))
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["step"] == step + 5


@pytest.mark.slow
def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path, endless):
    """As under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = endless()
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for((tmp_path / "run.nc").exists, process)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)


@pytest.mark.slow
def test_reader_that_leaves_costs_nothing_but_lines(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    words = ["simulate", "--k", "3", "--N", "30", "--t-end", "60", "--quiet"]
    answer = subprocess.run([*COMMAND, *words], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert mvsim.open_run(tmp_path / "mvsim-k3-midpoint-seed0-N30.nc").status == "finished"


@looping("words", [["simulate", "--help"], ["--version"]])
def test_reader_of_the_help_that_leaves(words):
    reading, writing = os.pipe()
    os.close(reading)
    answer = subprocess.run([*COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (answer.returncode, answer.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_stdout_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        answer = subprocess.run([*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (2, "mvsim: standard output: No space left on device\n")


def test_closed_streams(tmp_path):
    command = shlex.join([*COMMAND, "simulate", "--k", "3", "--N", "30", "--t-end", "60"])
    assert subprocess.run(f"{command} >&- 2>&-", shell=True, cwd=tmp_path, check=False).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mvsim-k3-midpoint-seed0-N30.nc"]


@pytest.mark.slow
def test_bare_environment(tmp_path):
    """No HOME, no terminal, a locale and streams that know only ASCII, nowhere to keep caches."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    for words in (["--help"], ["simulate", "--k", "3", "--N", "30", "--t-end", "60"], ["plot", "mvsim-k3-midpoint-seed0-N30.nc"]):
        answer = subprocess.run([*COMMAND, *words], cwd=tmp_path, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        assert answer.returncode == 0, answer.stderr
        assert (answer.stdout + answer.stderr).isascii()
        assert b"\x1b" not in answer.stdout
