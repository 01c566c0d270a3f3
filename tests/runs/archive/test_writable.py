import os

import pytest

from mvsim.base.errors import UsageError
from mvsim.runs.archive import ensure_writable


@pytest.mark.parametrize("options", [{}, {"force": True}, {"resume": True}])
def test_a_new_file_is_fine_and_leaves_nothing(tmp_path, options):
    ensure_writable(tmp_path / "run.nc", **options)
    assert os.listdir(tmp_path) == []


def test_an_existing_file_needs_force_or_resume(saved):
    before = saved.read_bytes()
    with pytest.raises(UsageError, match=r"run\.nc: exists already; .*--resume.*--force"):
        ensure_writable(saved)
    ensure_writable(saved, force=True)
    ensure_writable(saved, resume=True)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["run.nc"]


def test_force_and_resume_contradict(tmp_path):
    with pytest.raises(UsageError, match="force=True, resume=True: "):
        ensure_writable(tmp_path / "run.nc", force=True, resume=True)


@pytest.mark.parametrize("options", [{}, {"force": True}, {"resume": True}])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "is a directory"),
        ("missing/run.nc", "missing does not exist"),
        ("file/run.nc", "file does not exist"),
        ("pipe", "not an ordinary file"),
        ("loop", "not an ordinary file"),
        ("/dev/null", "not an ordinary file"),
        ("/proc/run.nc", "nothing can be created in /proc"),
        ("x" * 240, "nothing can be created"),
        ("x" * 300, "File name too long"),
        ("a\0b", "not a file name"),
    ],
)
def test_places_where_no_run_can_be(tmp_path, place, message, options):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=message) as caught:
        ensure_writable(tmp_path / place, **options)
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "loop", "pipe"]


def test_an_empty_name_is_no_name():
    with pytest.raises(UsageError, match=r"^out='': not a file name"):
        ensure_writable("")


def test_a_read_only_file_is_not_replaced(saved, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to any file
    with pytest.raises(UsageError, match="is read-only"):
        ensure_writable(saved, force=True)
