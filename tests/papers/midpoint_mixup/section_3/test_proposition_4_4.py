"""Proposition 4.4: certificates are proofs, tampered ones are not, and both answers of the linear program are checked exactly."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import mvsim
from mvsim.papers.midpoint_mixup.section_3 import farkas
from mvsim.papers.midpoint_mixup.section_3.proposition_4_4 import construction, not_separable, proposition_4_4


def strong(k=5, N=200, **fields):
    """Parameters whose noise is above the signal: (P - 2 C_P) delta3 >= C_P delta2 / 2."""
    return mvsim.Parameters(**{"k": k, "N": N, "P": 40 * k**2} | fields)


@pytest.fixture(scope="module")
def data():
    return mvsim.sample_dataset(construction(strong()), 0)


@pytest.fixture(scope="module")
def certificate(data):
    return farkas.any_certificate(data)


@pytest.mark.parametrize("fields", [{}, {"noise": "point"}, {"noise": "patch", "k": 3, "N": 40}, {"V": 3}, {"V": 1, "Q": 1}])
def test_exact_sums_are_those_of_the_patches(fields):
    data = mvsim.sample_dataset(strong(**fields), 0)
    for i in (0, 7):
        patches = data.to_patches()[i].reshape(data.P, -1)
        expected = {f: sum(Fraction(float(x)) for x in patches[:, f]) for f in np.flatnonzero(patches.any(axis=0))}
        assert farkas.exact_sum(data, i) == expected


def test_a_certificate_refutes_every_classifier_by_its_own_arithmetic(data, certificate):
    """sum_{i,s} mu_{i,s} (h_{y_i}(x_i) - h_s(x_i)) = 0 exactly, for random weights in fractions."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        w = [[Fraction(int(value)) for value in row] for row in rng.integers(-1000, 1000, (data.k, 2 * data.k))]
        total = Fraction(0)
        for i, s, weight in zip(certificate.points, certificate.against, certificate.weights, strict=True):
            x, y = farkas.exact_sum(data, i), int(data.labels[i])
            total += weight * sum(value * (w[y][feature] - w[s][feature]) for feature, value in x.items())
        assert total == 0


def test_a_certificate_that_was_changed_is_none(data, certificate):
    assert certificate.is_valid(data)
    first, second, *rest = certificate.weights
    tiny = Fraction(1, 10**30)
    assert not replace(certificate, weights=(first + tiny, second - tiny, *rest)).is_valid(data)
    assert not replace(certificate, weights=(first + tiny, second, *rest)).is_valid(data)
    assert not replace(certificate, weights=tuple(-weight for weight in certificate.weights)).is_valid(data)
    assert not replace(certificate, points=(certificate.points[1], *certificate.points[1:])).is_valid(data)
    own = int(data.labels[certificate.points[0]])
    assert not replace(certificate, against=(own, *certificate.against[1:])).is_valid(data)
    assert not farkas.Certificate((), (), ()).is_valid(data)
    other = mvsim.sample_dataset(construction(strong()), 1)
    assert not certificate.is_valid(other)


def test_weights_below_0_are_no_proof(data):
    """Twice one certificate less another one keeps the equations and the sum 1, but some of its weights are negative."""
    one, other = islice(farkas.certificates(data, 2), 2)
    points, against = one.points + other.points, one.against + other.against
    weights = (*(2 * weight for weight in one.weights), *(-weight for weight in other.weights))
    assert sum(weights) == 1
    assert not farkas.Certificate(points, against, weights).is_valid(data)
    halves = tuple(weight / 2 for weight in one.weights + other.weights)
    assert farkas.Certificate(points, against, halves).is_valid(data)


def test_a_weight_of_0_is_no_proof(data, certificate):
    points, against = (*certificate.points, certificate.points[0]), (*certificate.against, certificate.against[0])
    assert not farkas.Certificate(points, against, (*certificate.weights, Fraction(0))).is_valid(data)


def test_a_point_against_its_own_class_is_no_proof(data):
    """Its two terms cancel for any point, so that the equations hold."""
    assert not farkas.Certificate((0,), (int(data.labels[0]),), (Fraction(1),)).is_valid(data)


def test_a_coefficient_changed_by_one_bit_is_noticed(data, certificate):
    coefficients = data.signal_coefficients.copy()
    i = certificate.points[0]
    coefficients[i, 0, 0] = np.nextafter(coefficients[i, 0, 0], 1.0)
    assert not certificate.is_valid(replace(data, signal_coefficients=coefficients))


def test_separable_points_have_a_classifier_and_no_certificate():
    data = mvsim.sample_dataset(mvsim.Parameters(k=4, N=60, P=16), 0)
    assert farkas.any_certificate(data) is None
    assert farkas.separable(data) is True
    weights = farkas.separating_classifier(data)
    scores = np.einsum("nps,ys->ny", data.to_patches().reshape(data.N, data.P, -1), weights)
    assert (scores.argmax(axis=1) == data.labels).all()
    assert not farkas.is_perfect(data, -weights)
    assert not farkas.is_perfect(data, np.zeros_like(weights))  # a tie is not a win


def test_points_with_certificates_have_no_classifier(data):
    assert farkas.separating_classifier(data) is None
    assert farkas.separable(data) is False


@pytest.mark.parametrize("size", [2, 3, 4])
def test_certificates_on_several_classes(size):
    data = mvsim.sample_dataset(strong(k=5, N=100), 0)
    found = list(farkas.certificates(data, size, tries=5))
    assert found
    assert all(certificate.is_valid(data) and len(certificate.classes(data)) <= size for certificate in found)


@pytest.mark.parametrize(("k", "seed"), [(4, 0), (4, 1), (6, 0)])
def test_noise_of_one_size_is_proved_too(k, seed):
    """With delta3 = delta4 the components of all sums add up to one number but for rounding, which the fractions see."""
    p = construction(mvsim.Parameters(k=k, N=40 * k, delta3=k**-1.5, delta4=k**-1.5))
    totals = [sum(farkas.exact_sum(mvsim.sample_dataset(p, seed), i).values()) for i in range(p.N)]
    assert 0 < max(totals) - min(totals) < 1e-12
    assert not_separable("Proposition 4.4", p, seed).status == "holds"


def test_where_the_first_vertex_cannot_be_made_exact_another_one_is_tried(monkeypatch):
    """Noise of one size in few patterns: here no first solution of the linear program has an exact one on its support."""
    data = mvsim.sample_dataset(mvsim.Parameters(k=4, N=160, delta3=0.125, delta4=0.125), 2)
    assert farkas.any_certificate(data).is_valid(data)
    monkeypatch.setattr(farkas, "VERTICES", 1)
    assert farkas.any_certificate(data) is None


def test_equal_points_of_two_classes_are_the_smallest_certificate():
    patches = np.zeros((2, 1, 2, 2))
    patches[:, 0, 0, 0] = 0.3
    data = mvsim.Dataset.from_patches([0, 1], patches)
    certificate = farkas.any_certificate(data)
    assert certificate.weights == (Fraction(1, 2), Fraction(1, 2))
    assert certificate.points == (0, 1)


def test_exact_solutions():
    assert farkas.solved([[Fraction(2), Fraction(1), Fraction(3)], [Fraction(1), Fraction(3), Fraction(4)]]) == [1, 1]
    assert farkas.solved([[Fraction(1), Fraction(2)], [Fraction(1), Fraction(2)]]) == [2]
    assert farkas.solved([[Fraction(1), Fraction(2)], [Fraction(1), Fraction(3)]]) is None
    assert farkas.solved([[Fraction(1), Fraction(1), Fraction(2)]]) is None
    assert farkas.solved([[Fraction(0), Fraction(1)], [Fraction(3), Fraction(1)]]) is None


@pytest.mark.parametrize("k", [5, 8])
def test_verdicts(k):
    assert [verdict.status for verdict in proposition_4_4(strong(k, 40 * k), 0)] == ["holds", "holds"]
    assert not_separable("Proposition 4.4", strong(k, 40 * k, delta3=1e-6, delta4=1e-6), 0).status == "fails"


def test_two_classes_have_no_third_whose_noise_they_share():
    construction_of_two, _ = proposition_4_4(mvsim.Parameters(k=2, N=80), 0)
    assert (construction_of_two.status, construction_of_two.measured) == ("not applicable", None)
    assert not_separable("Proposition 4.4", construction(mvsim.Parameters(k=2, N=80)), 0).status == "fails"


def test_where_nothing_is_proved_nothing_is_decided(monkeypatch):
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.section_3.proposition_4_4.any_certificate", lambda data, sizes: None)
    assert not_separable("Proposition 4.4", construction(strong()), 0).status == "inconclusive"
