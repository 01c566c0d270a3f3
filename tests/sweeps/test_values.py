"""Values of a study: what can be written, and what is refused."""

import pytest
from looping import looping

import mvsim
from mvsim.base.errors import UsageError
from mvsim.sweeps.values import canonical_text, read_values

LAW = {"distribution": "beta", "args": [2, 2]}

GOOD = {
    "a number": (6, (6,)),
    "numbers in text": ("6,10", (6, 10)),
    "spaces": (" 6 , 10 ", (6, 10)),
    "floats": ("0.1,2e-3", (0.1, 0.002)),
    "words": ("erm,midpoint", ("erm", "midpoint")),
    "a range": ("0:4", (0, 1, 2, 3)),
    "a range with a step": ("4:11:3", (4, 7, 10)),
    "a negative range": ("-2:1", (-2, -1, 0)),
    "ranges and numbers": ("0:2,7,9:11", (0, 1, 7, 9, 10)),
    "a list": ([6, 10], (6, 10)),
    "a list with ranges": (["0:2", 5], (0, 1, 5)),
    "JSON": ('[{"atoms": [0.5], "probabilities": [1]}, 0.3]', ({"atoms": [0.5], "probabilities": [1]}, 0.3)),
    "a law": (LAW, (LAW,)),
    "objects": ([mvsim.SymmetricBetaLaw(a=2.0), mvsim.UniformLaw()], ({"kind": "beta", "a": 2.0}, {"kind": "uniform"})),
    "an object": (mvsim.UniformLaw(), ({"kind": "uniform"},)),
    "laws": ([LAW, 0.3], (LAW, 0.3)),
    "a large integer": (str(10**25), (10**25,)),
    "true": ("true,false", (True, False)),
}


@looping("case", GOOD)
def test_values_are_read(case):
    given, values = GOOD[case]
    assert read_values("x", given) == values


BAD = {
    "nothing": ("", "is empty"),
    "an empty list": ([], "is empty"),
    "a comma too many": ("6,", "missing beside a comma"),
    "twice": ("6,7,6", "x=6: is given twice"),
    "twice, in another form": ([6, 6.0], "is given twice"),
    "twice, by a range": ("3,0:5", "x=3: is given twice"),
    "an empty range": ("5:5", "a range has from 1"),
    "a range backwards": ("5:0", "a range has from 1"),
    "a range of nearly everything": ("0:999999999", "a range has from 1"),
    "a range without steps": ("0:5:0", "a range has from 1"),
    "not a number": (float("nan"), "x=nan: must be a finite number, a word, or a law"),
    "infinity in a law": ([{"atoms": [float("inf")]}], "must be a finite number"),
    "nothing in a list": ([None], "x=None: must be a finite number"),
    "bytes": (b"3", "must be a finite number"),
    "too many digits": (10**4300, "must be a finite number"),
    "JSON without an end": ('[{"a": 1}', "not valid JSON"),
}


@looping("case", BAD)
def test_other_values_are_refused_by_name(case):
    given, words = BAD[case]
    with pytest.raises(UsageError, match=words) as error:
        read_values("x", given)
    assert str(error.value).startswith("x")


def test_a_value_has_one_text():
    assert canonical_text(6) == canonical_text(6.0)
    assert canonical_text({"b": 1, "a": 2}) == canonical_text({"a": 2, "b": 1})
    assert len({canonical_text(value) for value in (True, 1, "1", "true", 1.5)}) == 5
