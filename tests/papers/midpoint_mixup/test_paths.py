"""Paths in k: which d belongs to each number of classes."""

import math

import pytest

import mvsim
from mvsim import Parameters, UsageError
from mvsim.papers.midpoint_mixup.paths import describe_path, path_in_k


@pytest.mark.parametrize("k", [4, 10, 50])
def test_a_power_of_k_is_r0(k):
    for text, r0 in (("r0=0.5*k^-0.3", 0.5 * k**-0.3), ("r0 = 2 * k^-1.5", 2 * k**-1.5), ("r0=.25", 0.25), ("R0=1e-1*K^-2e-1", 0.1 * k**-0.2)):
        p = path_in_k(text)(k, N=300)
        assert p.N == 300
        assert p.r0 == pytest.approx(r0, rel=1e-3)
        assert p.r0 <= r0  # d is rounded up
        assert p.replace(d=p.d - 1).r0 > r0 or p.d == 2 * k


def test_words():
    assert path_in_k("literal")(6).d == 6**20
    assert path_in_k("default")(6) == Parameters(k=6)
    assert path_in_k("default")(6, d=777).d == 777


def test_other_texts_are_one_line_with_the_paths_that_there_are():
    for text in ("", "square", "r0", "r0=", "r0=0.3*k", "r0=k^-1", "r0=0.3*k^", "r0=-1", "r0=nan", "d=5", "r0=0.3*k^-0.3;", 3, None):
        with pytest.raises(UsageError, match=r"path=.*must be literal .*; default .*; r0="):
            path_in_k(text)


def test_d_is_given_once():
    for text in ("literal", "r0=0.3"):
        with pytest.raises(UsageError, match=r"d='?5000'?: the path says what d is"):
            path_in_k(text)(4, d=5000)


def test_r0_beyond_what_d_can_be_is_refused():
    for text in ("r0=0", "r0=1e-200", "r0=1*k^-400", "r0=1*k^999"):
        with pytest.raises(UsageError, match=r"r0 = .* at k = 10"):
            path_in_k(text)(10)


def test_r0_beyond_that_of_the_least_d_is_refused():
    largest = mvsim.Parameters(k=3, d=6).r0
    with pytest.raises(UsageError, match=rf"path=r0=1e5: r0 = 1e\+05 at k = 3; must be at most {largest:.4g}, where d = V k = 6"):
        path_in_k("r0=1e5")(3)
    assert path_in_k(f"r0={0.999 * largest:.6g}")(3).d >= 6


def test_only_a_falling_r0_is_a_path_of_the_theorems():
    def said(text, *ks):
        return describe_path({k: path_in_k(text)(k) for k in ks})

    assert "not a path" not in said("literal", 4, 6)
    assert "not a path" not in said("r0=0.5*k^-0.3", 20, 4)
    for text in ("r0=0.3", "r0=0.1*k^0.2"):
        assert "r0 does not fall with k, so this is not a path of the theorems" in said(text, 4, 20)
    assert said("r0=0.3", 4).startswith("r0 = 0.3 at k = 4")
    assert not math.isnan(path_in_k("r0=0.3")(4).r0)
