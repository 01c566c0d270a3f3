"""Parameters: defaults follow the scalings of Assumption 4.3, several wrong fields are named at once, nothing changes after construction."""

import json
import math

import pydantic
import pytest
from looping import looping

import mvsim
from mvsim import Parameters, UsageError
from mvsim.base.inputs import MOST_FAULTS

FIELDS = {"k", "m", "d", "P", "C_P", "Q", "N", "alpha", "rho", "delta1", "delta2", "delta3", "delta4"}
FIELDS |= {"model", "V", "signal_layout", "noise", "G", "beta_law", "codebook_seed"}


@looping("k", [2, 3, 10, 50, 1000])
def test_defaults_follow_the_scalings(k):
    p = Parameters(k=k)
    assert (p.k, p.m, p.C_P, p.Q, p.alpha) == (k, k, 2, min(2, k - 1), 8)
    assert max(k**2, min(12 * k**2, 4800)) == p.P
    assert max(400, min(math.ceil(6 * k**1.5), 500), 10 * k) == p.N
    assert math.isclose(p.rho, 1 / k)
    assert (p.delta1, p.delta2) == (0.1, 1.0)
    assert math.isclose(p.delta3, 0.05 * k**-1.5)
    assert math.isclose(p.delta4, 0.1 * k**-1.5)
    assert p.d == max(2 * k, math.ceil(2 * math.log(k) / (0.34 * k**-0.22 * p.rho) ** 2))
    assert math.isclose(p.r0, 0.34 * k**-0.22, rel_tol=0.02)  # d is rounded up
    assert (p.signal_layout, p.noise, p.G, p.codebook_seed, p.beta_law.kind) == ("random", "codebook", 25, 0, "uniform")


def test_the_fields_are_the_documented_letters_and_each_is_described():
    assert set(Parameters.model_fields) == FIELDS
    for name, field in Parameters.model_fields.items():
        assert field.description, name


WRONG = {
    "k": [1, 0, -3, 2.5, "many", None, math.nan, [3]],
    "m": [0, 1.5],
    "d": [0, -1, math.inf],
    "P": [0, 1, 9.5],
    "C_P": [0],
    "Q": [0],
    "N": [0, -5],
    "alpha": [0.5, math.nan, math.inf, "eight"],
    "rho": [0, -0.1, math.nan, math.inf],
    "delta1": [0, -1, math.nan],
    "delta2": [0, math.inf],
    "delta3": [-0.1, math.nan],
    "delta4": [-0.1, math.inf],
    "signal_layout": ["anywhere", 3],
    "noise": ["loud", None],
    "G": [0],
    "codebook_seed": [-1],
}


@looping(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_value_out_of_its_domain_is_named_with_its_value(name, value):
    with pytest.raises(UsageError) as caught:
        Parameters(**{"k": 5, name: value})
    message = str(caught.value)
    assert message.startswith(f"{name}=")
    assert repr(value) in message
    assert "\n" not in message
    assert "pydantic" not in message


@looping("name", sorted(FIELDS))
@looping("wrap", [lambda n: n, lambda n: [n], lambda n: {"kind": "beta", "a": n}])
def test_integers_of_thousands_of_digits_are_named(name, wrap):
    for make in (Parameters, Parameters.literal, Parameters.assumption_4_3):
        with pytest.raises(UsageError, match=rf"(^|; ){name}") as caught:
            make(**{"k": 5, name: wrap(10**5000)})
        assert len(str(caught.value)) < 500


def test_several_wrong_fields_are_reported_in_one_line():
    wrong = {name: values[0] for name, values in WRONG.items() if name != "k"}
    with pytest.raises(UsageError) as caught:
        Parameters(k=5, **wrong)
    *faults, more = str(caught.value).split("; ")
    assert 2 <= len(faults) <= MOST_FAULTS
    assert {fault.split("=")[0] for fault in faults} <= set(wrong)
    assert more == f"and {len(wrong) - len(faults)} more"


@looping(
    ("fields", "said"),
    [
        ({}, r"^k: is required"),
        ({"k": 5, "d": 9}, r"^d=9: must be at least 2 k = 10"),
        ({"k": 5, "gamma": 3}, r"^gamma: .*is not a parameter"),
        ({"k": 40, "beta_law": [{"kind": "x" * 100}] * 40}, r"^beta_law\.0=.*; and \d+ more$"),
    ],
)
def test_what_is_wrong_is_said_in_a_short_message(fields, said):
    with pytest.raises(UsageError, match=said) as caught:
        Parameters(**fields)
    assert len(str(caught.value)) < 450
    assert Parameters(k=5, rho=1e6).d == 10  # features fit by default, too


@looping(
    ("fields", "named"),
    [
        ({"P": 5, "C_P": 3}, "P=5"),
        ({"Q": 5}, "Q=5"),
        ({"delta1": 0.6}, "delta1=0.6"),
        ({"delta3": 0.2, "delta4": 0.1}, "delta3=0.2"),
        ({"G": 1, "Q": 2}, "G=1"),
        ({"beta_law": [{"kind": "uniform"}] * 4}, "beta_law"),
        ({"beta_law": {"kind": "triangular"}}, "beta_law"),
        ({"beta_law": {"kind": "beta", "a": 0}}, "beta_law"),
        ({"beta_law": {"kind": "discrete", "atoms": [0.2]}}, "beta_law"),
        ({"beta_law": {"kind": "discrete", "atoms": []}}, "beta_law"),
        ({"beta_law": {"kind": "discrete", "atoms": [0.2, 0.8], "probabilities": [0.6, 0.4]}}, "beta_law"),
        ({"beta_law": {"kind": "discrete", "atoms": [0.2, 0.8], "probabilities": [0.3, 0.3]}}, "beta_law"),
        ({"beta_law": {"kind": "discrete", "atoms": [-0.5, 1.5]}}, "beta_law"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(fields, named):
    with pytest.raises(UsageError) as caught:
        Parameters(k=5, **fields)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_contradictions_are_reported_together():
    with pytest.raises(UsageError) as caught:
        Parameters(k=5, P=3, Q=7, delta1=0.7, delta3=2.0, delta4=1.0)
    for named in ("P=3", "Q=7", "delta1=0.7", "and 1 more"):
        assert named in str(caught.value)


def test_parameters_are_frozen():
    p = Parameters(k=5)
    with pytest.raises((pydantic.ValidationError, UsageError, AttributeError)):
        p.d = 7
    assert p.d != 7


def test_equal_parameters_are_equal():
    assert Parameters(k=5) == Parameters(k=5)
    assert Parameters(k=5) != Parameters(k=5, d=17)


def test_replace_keeps_the_rest_and_validates():
    p = Parameters(k=5, d=1234)
    q = p.replace(N=9)
    assert (q.N, q.d, p.N) == (9, 1234, 400)
    assert p.replace() == p
    with pytest.raises(UsageError, match=r"^N=0"):
        p.replace(N=0)


def test_literal_assumption():
    p = Parameters.assumption_4_3(50)
    assert p.d == 50**20  # an exact integer, far beyond float64
    assert (p.m, p.P, p.alpha) == (50, 2500, 8)
    assert p.rho == 1 / 50
    assert p.delta3 == p.delta4 == 50**-1.5
    assert p.deviations() == []


@looping("k", [2, 10])
def test_literal_assumption_at_other_k(k):
    p = Parameters.assumption_4_3(k)
    assert p.d == k**20
    assert {item.name for item in p.deviations()} <= ({"P"} if k == 2 else set())  # 2 C_P patches do not fit in k^2 - 1 < 4


DEPARTURES = {
    "d": 50,
    "P": 200,
    "N": 150,
    "G": 14,
    "m": 30,
    "rho": 0.3,
    "alpha": 3,
    "delta3": 0.02,
    "delta4": 0.2,
    "beta_law": {"kind": "discrete", "atoms": [0.5]},
}


@looping("name", DEPARTURES)
def test_each_departure_is_named_alone(name):
    found = Parameters.assumption_4_3(10, **{name: DEPARTURES[name]}).deviations()
    assert [item.name for item in found] == [name, *(["noise"] if name == "delta3" else [])]  # less noise is also not far above the signal
    assert found[0].statement
    assert found[0].assumed


@looping(("V", "least"), [(2, 4 + 50), (3, 6 + 34)])
def test_noise_is_compared_with_the_average_signal_of_a_feature(V, least):
    """(P - V C_P) delta3 against C_P delta2 / V, with C_P = 2, delta2 = 1 and delta3 = 0.02: 50 and 33 1/3 noise patches."""
    few, enough = (Parameters(k=10, V=V, C_P=2, P=P, delta3=0.02, delta4=0.02, delta2=1.0) for P in (least - 1, least))
    assert "P delta3" in {item.name for item in few.deviations()}
    assert "P delta3" not in {item.name for item in enough.deviations()}


@looping("k", range(4, 21))
def test_up_to_k_20_default_data_cannot_be_fitted_by_linear_models(k):
    names = {item.name for item in Parameters(k=k).deviations()}
    assert not names & {"P delta3", "N", "G"}
    assert "noise" in names
    assert not {"noise", "P delta3"} & {item.name for item in Parameters(k=k, P=200 * k**2, delta3=k**-1.5, delta4=k**-1.5).deviations()}
    assert "P delta3" in {item.name for item in Parameters(k=k, P=k**2).deviations()}
    assert "N" in {item.name for item in Parameters(k=k, N=4 * k).deviations()}
    assert "G" in {item.name for item in Parameters(k=k, G=k + 4).deviations()}
    assert "G" not in {item.name for item in Parameters(k=k, G=k + 4, noise="point").deviations()}  # it has no codebook


def test_default_parameters_say_that_d_is_not_the_literal_one():
    by_name = {item.name: item for item in Parameters(k=10).deviations()}
    assert "k^20" in by_name["d"].assumed
    assert str(Parameters(k=10).d) in by_name["d"].value


LAWS = [
    {"kind": "uniform"},
    {"kind": "beta", "a": 0.25},
    {"kind": "discrete", "atoms": [0.0, 0.5, 1.0], "probabilities": [0.25, 0.5, 0.25]},
    [{"kind": "uniform"}, {"kind": "beta", "a": 3}, {"kind": "discrete", "atoms": [0.5]}],
]


@looping("law", LAWS)
@looping("k", [3])
def test_json_round_trip(law, k):
    p = Parameters(k=k, beta_law=law, noise="point", d=k**50, alpha=2.5)
    text = json.dumps(p.model_dump(mode="json"))
    q = Parameters(**json.loads(text))
    assert q == p
    assert q.d == 3**50
    assert json.dumps(q.model_dump(mode="json")) == text


def test_public_names():
    assert issubclass(UsageError, ValueError)
    assert mvsim.Parameters is Parameters
