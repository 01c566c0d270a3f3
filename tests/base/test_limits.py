"""What a process may take is the least of what limits it, wherever that stands."""

import resource

import pytest

from mvsim.base import limits
from mvsim.base.limits import available_bytes, available_cores, bytes_of_text

BATCH = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "PBS_RESC_MEM", "PBS_NCPUS", "NCPUS", "NSLOTS")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Return a function that writes a file of a made-up system of 64 cores and 1e11 free bytes."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in BATCH:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    write("proc/meminfo", "MemTotal: 200000000 kB\nMemAvailable: 100000000 kB\n")
    write("proc/self/statm", "1000 500 100")
    return write


def test_a_machine_without_limits(system):
    assert (available_bytes(), available_cores()) == (102_400_000_000, 64)


def test_the_least_group_up_to_the_root_of_version_2(system):
    system("proc/self/cgroup", "0::/user/job/step\n")
    for place, limit, used in (("", "max", 5), ("user", "9000000000", 10**9), ("user/job", "1500000000", 10**8), ("user/job/step", "max", 1)):
        system(f"sys/fs/cgroup/{place}/memory.max", f"{limit}\n")
        system(f"sys/fs/cgroup/{place}/memory.current", f"{used}\n")
    assert available_bytes() == 1_400_000_000
    system("sys/fs/cgroup/user/job/memory.stat", "anon 1\ninactive_file 50000000\n")
    assert available_bytes() == 1_450_000_000
    system("sys/fs/cgroup/user/cpu.max", "250000 100000\n")
    system("sys/fs/cgroup/user/job/cpu.max", "max 100000\n")
    assert available_cores() == 2
    system("sys/fs/cgroup/user/job/step/cpu.max", "50000 100000\n")
    assert available_cores() == 1


def test_groups_of_version_1(system):
    system("proc/self/cgroup", "7:cpu,cpuacct:/job\n4:memory:/job/x\n1:name=systemd:/job\n0::/\n")
    system("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000000")
    system("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500000000")
    system("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000")
    system("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    assert (available_bytes(), available_cores()) == (1_500_000_000, 4)


def test_a_limit_on_the_address_space(system, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (3 * 10**9, -1) if which == resource.RLIMIT_AS else (-1, -1))
    assert available_bytes() == 3 * 10**9 - 1000 * resource.getpagesize()


@pytest.mark.parametrize(
    ("environment", "size", "cores"),
    [
        ({"SLURM_MEM_PER_NODE": "4096", "SLURM_CPUS_PER_TASK": "3"}, 4 * 2**30, 3),
        ({"SLURM_MEM_PER_NODE": "4G", "SLURM_CPUS_PER_TASK": ""}, 4 * 2**30, 64),
        ({"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_PER_TASK": "2"}, 2000 * 2**20, 2),
        ({"PBS_RESC_MEM": "8gb", "PBS_NCPUS": "5"}, 8 * 2**30, 5),
        ({"SLURM_MEM_PER_NODE": "nonsense", "NCPUS": "many"}, 102_400_000_000, 64),
        ({"SLURM_MEM_PER_NODE": "0"}, 102_400_000_000, 64),
    ],
)
def test_what_a_batch_system_gave(environment, size, cores, system, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (available_bytes(), available_cores()) == (size, cores)


def test_open_files_are_allowed_up_to_the_hard_limit(monkeypatch):
    limits_there, none = {}, resource.RLIM_INFINITY
    monkeypatch.setattr("resource.getrlimit", lambda which: limits_there["now"])
    monkeypatch.setattr("resource.setrlimit", lambda which, pair: limits_there.update(now=pair))
    for before, allowed, after in (
        ((64, 100), 80, (80, 100)),
        ((64, 70), 70, (70, 70)),
        ((64, none), 80, (80, none)),
        ((none, none), 80, (none, none)),
        ((200, 300), 80, (200, 300)),
    ):
        limits_there["now"] = before
        assert (limits.allow_files(80), limits_there["now"]) == (allowed, after)


def test_sizes_as_people_write_them():
    assert [bytes_of_text(text) for text in ("8G", "8 GiB", "1.5e9", "512mb", "7", "8X", "-1", "")] == [
        8 * 2**30, 8 * 2**30, 1_500_000_000, 512 * 2**20, 7, None, None, None,
    ]  # fmt: skip


def test_memory_that_is_asked_for_is_the_limit(system, monkeypatch):
    monkeypatch.setenv(limits.MEMORY, "")
    limits.limit_memory("2G")
    assert available_bytes() == 2 * 2**30
    limits.limit_memory(None)
    assert available_bytes() == 2 * 2**30
    for wrong in ("plenty", "0", "-1"):
        with pytest.raises(limits.UsageError, match=r"^memory='.*': must be a size, for example 8G"):
            limits.limit_memory(wrong)
