import errno
import os
import signal
import subprocess
import sys

import pytest
from example_run import example_run

from mvsim.base.errors import UsageError
from mvsim.runs.archive import lock_run, write_run

HOLD = "import sys; from mvsim.runs.archive import lock_run\nwith lock_run(sys.argv[1]): print('held', flush=True); sys.stdin.read()"

TAKE_TURNS = """
import os, sys
from mvsim.runs.archive import lock_run
from mvsim.base.errors import UsageError
path, inside = sys.argv[1:]
turns = 0
while turns < 30:
    try:
        with lock_run(path):
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails if another process is inside
            os.unlink(inside)
            turns += 1
    except UsageError:
        pass
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of run.nc until its standard input is closed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "run.nc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused(tmp_path, holder, monkeypatch):
    (tmp_path / "link.nc").symlink_to("run.nc")
    monkeypatch.chdir(tmp_path)
    for name in (tmp_path / "run.nc", "run.nc", "./../" + tmp_path.name + "/run.nc", "link.nc"):
        with pytest.raises(UsageError, match=r"(run|link)\.nc: another process is working on this run; .*$"), lock_run(name):
            pass
    with lock_run(tmp_path / "other.nc"):
        pass
    holder.communicate()
    assert holder.returncode == 0
    assert os.listdir(tmp_path) == ["link.nc"]
    with lock_run("run.nc"):
        pass


def test_a_killed_process_holds_no_lock(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.listdir(tmp_path) == [".run.nc.lock"]
    with lock_run(tmp_path / "run.nc"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_second_lock_in_one_process_is_refused(tmp_path):
    with lock_run(tmp_path / "run.nc"):
        with pytest.raises(UsageError, match="is working on this run"), lock_run(tmp_path / "run.nc"):
            pass
        assert os.listdir(tmp_path) == [".run.nc.lock"]  # the refusal has not taken the lock away
    assert os.listdir(tmp_path) == []


def test_the_lock_ends_with_an_error(tmp_path):
    with pytest.raises(KeyError), lock_run(tmp_path / "run.nc"):
        raise KeyError
    with lock_run(tmp_path / "run.nc"):
        pass


def test_processes_take_turns(tmp_path):
    command = [sys.executable, "-c", TAKE_TURNS, tmp_path / "run.nc", tmp_path / "inside"]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert os.listdir(tmp_path) == []


def test_only_what_killed_writers_of_this_run_left_is_removed(saved):
    foreign = ["run.nc.tmp", ".run.nc.tmp", ".run.nc.0123456789abcdeg.tmp", ".runxnc.0123456789abcdef.tmp", ".a.run.nc.0123456789abcde.tmp"]
    for name in [*foreign, ".run.nc.0123456789abcdef.tmp", ".run.nc.ffffffffffffffff.tmp"]:
        (saved.parent / name).write_bytes(b"half")
    with lock_run(saved):
        assert sorted(os.listdir(saved.parent)) == sorted([*foreign, "run.nc", ".run.nc.lock"])


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "is a directory"),
        ("missing/run.nc", "does not exist"),
        ("/dev/null", "not an ordinary file"),
        ("/proc/run.nc", "nothing can be created in /proc"),
        ("x" * 252, "File name too long"),
    ],
)
def test_places_that_cannot_be_locked(tmp_path, place, message):
    with pytest.raises(UsageError, match=message), lock_run(tmp_path / place):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, 524])
def test_a_file_system_without_locks_is_used_without_them_and_nothing_is_left(number, tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(number, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    warned = pytest.warns(UserWarning, match=r"its file system has no locks, so that nothing keeps a second .*; start only one")
    with warned, lock_run(tmp_path / "run.nc"):
        write_run(tmp_path / "run.nc", *example_run())
    assert os.listdir(tmp_path) == ["run.nc"]


def test_another_error_of_a_lock_leaves_nothing(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(UsageError, match=r"run\.nc: cannot be locked.*Bad file descriptor; choose another file"), lock_run(tmp_path / "run.nc"):
        pass
    assert os.listdir(tmp_path) == []
