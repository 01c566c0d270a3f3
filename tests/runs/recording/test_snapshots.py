"""Which states of a trajectory are kept in full: at round steps, and where escapes or gaps pass a power of two."""

import weakref

import numpy as np
from looping import looping

from mvsim.flow import State
from mvsim.runs.recording.snapshots import Snapshots

K, M, V = 4, 3, 2
ROUND = [0, 1, 2, 5, 10, 20, 50]


def kept(records, escapes=(), opens=()):
    """Return the steps that are kept of records at these steps, given at which step views escape and from which step on classes are open."""
    snapshots, entry_step, previous = Snapshots(K), np.full((K, M, V), -1), None
    for step in records:
        for i, escape in enumerate(escapes):
            if escape <= step:
                entry_step[i // V, 1, i % V] = escape
        gap = np.array([np.log(K) * (1.0 if i < len(opens) and opens[i] <= step else 0.99) for i in range(K)])
        snapshots.consider(State(step, float(step), np.zeros((K, M, K, V))), gap, entry_step, previous)
        previous = step
    return list(snapshots.records["snapshot_step"])


def test_round_steps_are_kept():
    assert kept(range(60)) == ROUND
    assert kept([0, 99, 100, 101, 200, 300, 500, 4000, 5000, 20_000]) == [0, 100, 200, 500, 5000, 20_000]


@looping("what", ["escapes", "opens"])
def test_powers_of_two_of_events_are_kept(what):
    """The first, the second and the fourth, not the third."""
    assert kept(range(60), **{what: [33, 37, 41, 43]}) == sorted([*ROUND, 33, 37, 43])


def test_an_event_between_two_records_counts_at_the_later():
    assert kept([0, 30, 36, 40], escapes=[33]) == [0, 36]
    assert kept([0, 30, 36, 40], escapes=[30]) == [0, 30]


def test_events_at_one_record_are_one_state():
    assert kept([0, 30, 36, 40], escapes=[31, 32, 33, 34, 35], opens=[34, 35]) == [0, 36]


def test_more_neurons_of_a_view_are_no_new_escape():
    snapshots, entry_step = Snapshots(K), np.full((K, M, V), -1)
    for step, neuron in ((31, 0), (33, 1), (37, 2)):
        entry_step[0, neuron, 0] = step
        snapshots.consider(State(step, float(step), np.zeros((K, M, K, V))), np.zeros(K), entry_step, step - 2)
    assert list(snapshots.records["snapshot_step"]) == [31]


def test_what_lies_after_a_step_is_forgotten():
    snapshots = Snapshots(K)
    for step in (0, 1, 2, 5):
        snapshots.consider(State(step, float(step), np.zeros((K, M, K, V))), np.zeros(K), np.full((K, M, V), -1), None)
    snapshots.forget_after(2, keep=False, view_gaps=np.zeros((1, K)))
    assert list(snapshots.records["snapshot_step"]) == [0, 1]


def test_what_the_integrator_carries_is_not_kept():
    """It is several times as large as the state."""
    snapshots, memory = Snapshots(K), np.zeros(3)
    snapshots.consider(State(1, 1.0, np.zeros((K, M, K, V)), memory=memory), np.zeros(K), np.full((K, M, V), -1), None)
    carried = weakref.ref(memory)
    del memory
    assert list(snapshots.records["snapshot_step"]) == [1]
    assert carried() is None
