"""Whatever stops a save, the previous one stays as it was and nothing is left beside it."""

import contextlib
import errno
import io
import os
import resource
import signal
import stat

import numpy as np
import pytest
from example_run import example_run

from mvsim.base.errors import UsageError
from mvsim.runs.archive import ensure_writable, lock_run, read_run, write_run
from mvsim.runs.archive.atomic import write_atomically
from mvsim.runs.archive.netcdf import write_netcdf


@contextlib.contextmanager
def largest_file(size):
    """Let this process write no file beyond ``size`` bytes; Python ignores the signal, so writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_contents_and_name_reach_the_disk_in_this_order(tmp_path, monkeypatch):
    """A crash of the machine after any of them leaves the old file or the new one."""
    done, fsync, replace = [], os.fsync, os.replace

    def told_fsync(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "contents")
        fsync(descriptor)

    def told_replace(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", told_fsync)
    monkeypatch.setattr(os, "replace", told_replace)
    write_atomically(tmp_path / "file", b"new")
    assert done == ["contents", "name", "folder"]


@pytest.mark.parametrize("size", [0, 1, 4096, 20_000])
def test_full_disk(saved, size):
    before = saved.read_bytes()
    with largest_file(size), pytest.raises(UsageError, match=r"run\.nc: could not be saved: File too large; .*--resume$"):
        write_run(saved, *example_run(step=8))
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["run.nc"]


def test_full_disk_before_the_first_save(tmp_path):
    with largest_file(4096), pytest.raises(UsageError, match="could not be saved"):
        write_run(tmp_path / "run.nc", *example_run())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("save", [lambda path: write_run(path, *example_run(step=8)), ensure_writable], ids=["save", "check"])
def test_ctrl_c_while_the_temporary_file_is_created(save, tmp_path, monkeypatch):
    """The system call has made the file when Python hears of the signal."""

    def create(path, *arguments):
        os.close(real(path, *arguments))
        raise KeyboardInterrupt

    real = os.open
    monkeypatch.setattr(os, "open", create)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("when", ["fsync", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_interrupted_save(saved, monkeypatch, when, error):
    def stop(*_):
        raise error

    before = saved.read_bytes()
    monkeypatch.setattr(*{"fsync": (os, "fsync", stop), "replace": ("pathlib.Path.replace", stop)}[when])
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else UsageError):
        write_run(saved, *example_run(step=8))
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["run.nc"]


@pytest.mark.parametrize("place", ["missing/run.nc", "file/run.nc", ".", "/proc/run.nc", "x" * 300])
def test_places_where_nothing_can_be_written(tmp_path, place):
    (tmp_path / "file").write_text("a file, not a directory")
    with pytest.raises(UsageError, match=r"could not be saved: [^\n]*$"):
        write_run(tmp_path / place, *example_run())
    assert os.listdir(tmp_path) == ["file"]


def test_a_pipe_stays_a_pipe(tmp_path):
    path = tmp_path / "run.nc"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="not an ordinary file"):
        write_run(path, *example_run())
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["run.nc"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "run.nc"
    link.symlink_to("elsewhere/real.nc")
    for step in (1, 2):
        write_run(link, *example_run(step=step))
        assert link.is_symlink()
        assert os.listdir(tmp_path / "elsewhere") == ["real.nc"]
        assert read_run(link)[0]["final_step"] == step


class Failing(io.BytesIO):
    """A file in which one write goes wrong, once: what a disk does that has room again."""

    def __init__(self, at, act):
        super().__init__()
        self.left, self.act = at, act

    def write(self, data):
        self.left -= 1
        if self.left == 0:
            self.act()
        return super().write(data)


def many_values():
    """A run large enough to be compressed in pieces."""
    dataset, _ = example_run()
    return dataset.assign(slow=(("records", "neurons"), np.arange(10_000.0).reshape(100, 100)))


def writes(compress):
    """Return how many writes a save takes."""
    whole = Failing(0, None)
    write_netcdf(whole, many_values(), {}, compress=compress)
    return -whole.left


@pytest.mark.parametrize("compress", [True, False])
def test_an_error_of_any_write_is_raised_as_it_is(compress, capfd):
    """HDF5 would print some, raise others in words of its own, and lose the last."""

    def fail():
        raise OSError(errno.ENOSPC, "No space left on device")

    count = writes(compress)
    assert count > 10
    for at in range(1, count + 1):
        with pytest.raises(OSError, match="No space left on device"):
            write_netcdf(Failing(at, fail), many_values(), {}, compress=compress)
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_within_a_write_waits_for_the_end_of_the_save(capfd):
    """Where HDF5 has called Python it would be lost, and the file with a checksum but without a part of its contents."""
    whole = Failing(0, None)
    write_netcdf(whole, many_values(), {})
    for at in range(1, writes(compress=False) + 1):
        file = Failing(at, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            write_netcdf(file, many_values(), {})
        assert file.getvalue() == whole.getvalue()
    assert capfd.readouterr() == ("", "")


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_run(tmp_path / "run.nc", *example_run())
    finally:
        os.umask(old)
    assert (tmp_path / "run.nc").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("failing", ["fsync", "open", "listdir"])
@pytest.mark.parametrize("number", [errno.EBADF, errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EINVAL])
def test_a_folder_that_cannot_be_synced_or_read_keeps_what_is_saved(failing, number, tmp_path, monkeypatch, recwarn):
    real = {name: getattr(os, name) for name in ("fsync", "open", "listdir")}

    def fail(argument, *arguments, **options):
        is_folder = os.path.isdir(argument) if not isinstance(argument, int) else stat.S_ISDIR(os.fstat(argument).st_mode)
        if is_folder:
            raise OSError(number, os.strerror(number))
        return real[failing](argument, *arguments, **options)

    monkeypatch.setattr(os, failing, fail)
    with lock_run(tmp_path / "run.nc"):
        write_run(tmp_path / "run.nc", *example_run())
    monkeypatch.undo()
    assert read_run(tmp_path / "run.nc")[0]["final_step"] == 7
    assert os.listdir(tmp_path) == ["run.nc"]
    assert not recwarn.list


def test_another_fault_of_the_folder_after_the_rename_is_a_warning(tmp_path, monkeypatch):
    fsync = os.fsync

    def fail(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.warns(UserWarning, match="a crash may undo the last save"):
        write_run(tmp_path / "run.nc", *example_run())
    assert read_run(tmp_path / "run.nc")[0]["final_step"] == 7
