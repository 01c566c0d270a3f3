"""Laws of beta and of lambda, as JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from fuzzing.command import Command, words_of

LAWS = (
    *('{"kind": "uniform"}', '{"kind": "beta", "a": 2}', '{"kind": "beta", "a": 1e-3}', '{"kind": "discrete", "atoms": [0.5]}'),
    '{"kind": "discrete", "atoms": [0.1, 0.9], "probabilities": [0.5, 0.5]}',
    '[{"kind": "uniform"}, {"kind": "beta", "a": 0.5}, {"kind": "discrete", "atoms": [0, 1]}]',
)
BAD_LAWS = (
    *("", "uniform", "0.5", "{", '{"kind"', "[]", "[1]", "{}", "[{}]", "[null]", '{"kind": "gamma"}', '{"kind": "beta"}', '{"kind": "discrete"}'),
    *(
        '{"kind": "beta", "a": 0}',
        '{"kind": "beta", "a": -1}',
        '{"kind": "beta", "a": NaN}',
        '{"kind": "beta", "a": Infinity}',
        '{"kind": "beta", "a": "x"}',
    ),
    *(
        '{"kind": "beta", "a": null}',
        '{"kind": "beta", "a": [1]}',
        '{"kind": "uniform", "a": 1}',
        '{"kind": null}',
        '{"kind": {}}',
        '{"kind": ["beta"]}',
    ),
    *(
        '{"kind": "discrete", "atoms": []}',
        '{"kind": "discrete", "atoms": [0.1]}',
        '{"kind": "discrete", "atoms": [2]}',
        '{"kind": "discrete", "atoms": 0.5}',
    ),
    *('{"kind": "discrete", "atoms": [0.5], "probabilities": [0.5, 0.5]}', '{"kind": "discrete", "atoms": [0.5], "probabilities": [2]}'),
    *('{"kind": "discrete", "atoms": [0.2, 0.8], "probabilities": [0.4, 0.6]}', '{"kind": "beta", "a": 1' + "0" * 5000 + "}", "[" * 100_000),
    *('{"kind": "\x1b[31m"}', '{"\x1b[2J": 1}', '{"kind": "beta", "a": 1, "\x1b[2J": 2}', '{"' + "x" * 5000 + '": 1}', '[{"kind": "uniform"}]'),
    *('{"kind": "\\u001b[31m"}', '{"kind": "beta", "a": 2}}', '{"kind": "beta" "a": 2}', "[1e400]", '{"kind": "uniform"}, {"kind": "uniform"}'),
)
MIXING = (
    *(
        "0",
        "0.5",
        "1",
        "0.3",
        '{"distribution": "beta", "args": [0.2, 0.2]}',
        '{"distribution": "uniform"}',
        '{"distribution": "beta", "args": [5, 1]}',
    ),
    *(
        '{"atoms": [0.2, 0.7], "probabilities": [0.5, 0.5]}',
        '{"distribution": "bernoulli", "args": [0.5]}',
        '{"distribution": "beta", "kwds": {"a": 1, "b": 2}}',
    ),
)
BAD_MIXING = (
    *("", "abc", "-0.1", "1.1", "nan", "inf", "{", "{}", "[]", "[0.5]", "9" * 5000, '{"distribution": "norm"}', '{"distribution": "magic"}'),
    *('{"distribution": null}', '{"distribution": "beta"}', '{"distribution": "beta", "args": [1]}', '{"distribution": "beta", "args": [-1, 1]}'),
    *('{"distribution": "beta", "args": 3}', '{"distribution": "beta", "args": ["x", 1]}', '{"distribution": "beta", "args": [[1], 1]}'),
    *('{"distribution": "beta", "args": [NaN, 1]}', '{"distribution": "beta", "args": [1, 2, 3, 4, 5, 6]}', '{"distribution": "beta", "kwds": 1}'),
    *(
        '{"distribution": "beta", "args": [1, 1], "other": 1}',
        '{"atoms": [0.5]}',
        '{"atoms": [], "probabilities": []}',
        '{"atoms": [0.5], "probabilities": [2]}',
    ),
    *('{"atoms": [0.5, 2], "probabilities": [0.5, 0.5]}', '{"atoms": 1, "probabilities": 1}', '{"atoms": ["x"], "probabilities": [1]}'),
    *('{"atoms": [NaN], "probabilities": [1]}', '{"atoms": [0.1, 0.2], "probabilities": [1.5, -0.5]}', '{"atoms": [[0.5]], "probabilities": [[1]]}'),
    *(
        '{"distribution": "\x1b[31m"}',
        '{"distribution": "' + "x" * 5000 + '"}',
        '{"distribution": "beta", "args": [1' + "0" * 5000 + ", 1]}",
        "[" * 100_000,
    ),
    *('{"distribution": "beta", "kwds": {"a": 1, "b": 1, "\x1b[2J": 1}}', '{"distribution": "rv_discrete"}', '{"distribution": "__class__"}'),
)


HUGE = st.sampled_from((400, 5000)).map(lambda digits: 10**digits)
"""Integers too large for a double, and too long for Python to print; made when drawn, because Hypothesis prints what it draws from."""


def _json(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    numbers = st.one_of(st.floats(0, 1), st.floats(), st.integers(-2, 3), st.sampled_from((2**63, 1e308, 5e-324, 0.5, 0.0, 1.0, 1e-300)), HUGE)
    return st.recursive(st.one_of(numbers, text, st.none(), st.booleans()), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


WORDS = st.one_of(st.sampled_from(("uniform", "beta", "discrete", "norm", "\x1b[31m", "é", "", "x" * 3000)), st.text(max_size=8))


@st.composite
def beta_laws(draw: st.DrawFn) -> Any:
    law = st.fixed_dictionaries(
        {"kind": st.one_of(st.sampled_from(("uniform", "beta", "discrete")), _json(WORDS))},
        optional={"a": _json(WORDS), "atoms": _json(WORDS), "probabilities": _json(WORDS), "\x1b[2J": _json(WORDS)},
    )
    return draw(st.one_of(law, law, st.lists(law, max_size=4), _json(WORDS)))


@st.composite
def mixing_laws(draw: st.DrawFn) -> Any:
    families = (
        "beta",
        "uniform",
        "norm",
        "bernoulli",
        "binom",
        "arcsine",
        "truncnorm",
        "powerlaw",
        "triang",
        "randint",
        "rdist",
        "trapezoid",
        "poisson",
    )
    named = st.fixed_dictionaries(
        {"distribution": st.one_of(st.sampled_from(families), st.sampled_from(families), _json(WORDS))},
        optional={"args": st.one_of(st.lists(_json(WORDS), max_size=4), _json(WORDS)), "kwds": st.dictionaries(WORDS, _json(WORDS), max_size=2)},
    )
    atoms = st.fixed_dictionaries({"atoms": _json(WORDS), "probabilities": _json(WORDS)})
    return draw(st.one_of(named, named, atoms, _json(WORDS)))


def dumps(value: Any) -> str:
    """Return JSON, or what Python's reader takes for it; integers may have any number of digits."""
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple, dict)):
        return json.dumps(value)
    if isinstance(value, int):
        return digits(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {dumps(one)}" for key, one in value.items()) + "}"
    return "[" + ", ".join(dumps(one) for one in value) + "]"


def digits(value: int) -> str:
    """Write any integer in decimal digits; Python itself stops at 4300."""
    if abs(value) < 10**4000:
        return str(value)
    head, tail = divmod(abs(value), 10**4000)
    return ("-" if value < 0 else "") + digits(head) + str(tail).zfill(4000)


@st.composite
def laws(draw: st.DrawFn) -> Command:
    name, values = draw(st.sampled_from((("beta_law", beta_laws()), ("mixing", mixing_laws()))))
    text = draw(values.map(dumps).filter(lambda text: not text.startswith("--")))
    run = (("k", "3"), ("N", "6"), ("m", "2"), ("t-end", "5"), ("quiet", None), *((("method", "mixup"), ("nodes", "3")) if name == "mixing" else ()))
    made = "mvsim-k3-mixup-seed0*.nc" if name == "mixing" else "mvsim-k3-midpoint-seed0*.nc"
    return Command(("simulate", *words_of(run), f"--{name}={text}"), f"{name} odd", (name,), makes=(made,))
