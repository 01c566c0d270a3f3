"""The binomial distribution by its definition, for tests of intervals."""

import math


def binomial_tail(n, x, p):
    """P(X >= x) by the definition."""
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(x, n + 1))
