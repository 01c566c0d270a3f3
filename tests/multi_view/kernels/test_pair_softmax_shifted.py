"""The cross-entropy of all pairs at outputs of any size, against decimal numbers of 340 digits added up pair by pair."""

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from compare import assert_close, assert_components_close
from looping import looping
from tolerances import LARGE_OUTPUTS, ROUNDOFF

import mvsim
from mvsim.losses.cross_entropy import CrossEntropy
from mvsim.losses.points import AllPairs
from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.pair_softmax import PairSoftmax, probability_and_derivative
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Values

MANY_MEETINGS = mvsim.Parameters(k=3, m=2, N=13, G=4, P=11, d=10**4)
"""Most pairs have coinciding signal patches, noise meets noise 3 times without them, and some patterns belong to several points."""
FEW_MEETINGS = MANY_MEETINGS.replace(P=60)


def setting(p, lam, threads=1, data=None):
    kernel = SharedNoiseKernel(p, mvsim.sample_dataset(p, 1) if data is None else data, threads, SmoothedRelu(p.rho, p.alpha))
    return kernel, kernel.pairs_of(AllPairs(lam))


def random_tables(kernel, plan, size, spread):
    """Values whose classes differ by ``spread`` while outputs are up to ``size``: multiples of 2^-20, whose sums are exact."""
    rng, tables = np.random.default_rng(0), Values.empty(kernel.neurons.k, kernel.layout, plan)
    for array, share in zip(tables.distinct, (0.4, 0.4, 0.05) if len(tables.distinct) == 3 else (0.4, 0.05), strict=True):
        common, own = rng.uniform(0.0, share * size, array.shape[1:]), rng.uniform(0.0, spread, array.shape)
        array[:] = np.round((common + own) * 2.0**20) / 2.0**20
    return tables


def copies(tables):
    U = tables.U.copy()
    return Values(U, U if tables.V is tables.U else tables.V.copy(), tables.terms.copy())


def sums_of_pairs(layout, plan, tables):
    """Loss and derivative by the tables, from every ordered pair by itself."""
    k, N, lam = len(tables.U), len(layout.labels), Decimal(plan.lam)
    block_of = {(int(g), int(h)): n for n, (g, h) in enumerate(plan.blocks)}
    extra_of = {(int(i), int(j)): len(block_of) + n for n, (i, j) in enumerate(plan.extra_pairs)}
    loss, by = Decimal(0), [[[[Decimal(0)] * N for _ in layout.patterns] for _ in range(k)] for _ in range(2)]
    by_terms = [[Decimal(0)] * tables.terms.shape[1] for _ in range(k)]
    with localcontext(prec=340):
        for i in range(N):
            for j in range(N):
                first, second = (j, i) if plan.symmetric and i > j else (i, j)
                g, h = int(layout.pattern[first]), int(layout.pattern[second])
                block, extra = block_of[g, h], extra_of.get((first, second))
                outputs = []
                for y in range(k):
                    output = Decimal(tables.U[y, h, first]) + Decimal(tables.V[y, g, second])
                    output += Decimal(plan.repeats) * Decimal(tables.terms[y, block])
                    outputs.append(output if extra is None else output + Decimal(tables.terms[y, extra]))
                exponentials = [(output - max(outputs)).exp() for output in outputs]
                log_partition = max(outputs) + sum(exponentials).ln()
                for y in range(k):
                    label = lam * int(layout.labels[i] == y) + (1 - lam) * int(layout.labels[j] == y)
                    loss -= label * (outputs[y] - log_partition) / N**2
                    slope = (exponentials[y] / sum(exponentials) - label) / N**2
                    by[0][y][h][first] += slope
                    by[1][y][g][second] += slope
                    by_terms[y][block] += Decimal(plan.repeats) * slope
                    if extra is not None:
                        by_terms[y][extra] += slope
    U, V = (np.array(table, dtype=np.float64) for table in by)
    if plan.symmetric:  # one table in both roles
        both = [[[a + b for a, b in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)] for tables in zip(*by, strict=True)]
        U = V = np.array(both, dtype=np.float64)
    return float(loss), Derivatives(U, V, np.array(by_terms, dtype=np.float64))


def loss_and_derivative(pairs, values):
    """Both, block by block of outputs of any size."""
    loss = sum(float(block.weight @ CrossEntropy().value(block.gather(values), block.targets)) for block in pairs.written_out)
    return loss, probability_and_derivative(pairs, values)[1]


@cache
def case(p, lam, size, spread):
    kernel, pairs = setting(p, lam)
    tables = random_tables(kernel, pairs.plan, size, spread)
    return kernel, pairs, tables, *sums_of_pairs(kernel.layout, pairs.plan, tables)


@looping("p", [MANY_MEETINGS, FEW_MEETINGS])
@looping("lam", [0.5, 0.3])
@looping("size", [10.0, 1e3, 1e6])
@looping("spread", [3.0, 400.0])
def test_sums_are_those_of_the_pairs(p, lam, size, spread):
    kernel, pairs, tables, expected_loss, expected = case(p, lam, size, spread)
    assert pairs.plan.repeats > 1
    assert len(pairs.plan.extra_pairs) > pairs.plan.symmetric * kernel.layout.labels.size
    loss, found = loss_and_derivative(pairs, tables)
    assert_close(loss, expected_loss, ROUNDOFF)
    for a, b in zip(found.distinct, expected.distinct, strict=True):
        assert_close(a, b, ROUNDOFF)


@looping("lam", [0.5, 0.3])
@looping("gap", [40.0, 300.0, 680.0])
def test_tiny_gaps_keep_their_digits(lam, gap):
    """All points are of one class and learned by a margin of about ``gap``: the loss is about exp(-gap), and so is every derivative."""
    kernel, pairs = setting(MANY_MEETINGS, lam)
    kernel.layout.labels[:] = 1
    tables = random_tables(kernel, pairs.plan, 1e6, 3.0)
    tables.U[1] += gap / 2.0 if pairs.plan.symmetric else gap
    expected_loss, expected = sums_of_pairs(kernel.layout, pairs.plan, tables)
    assert abs(np.log(expected_loss) + gap) < 20.0
    loss, found = loss_and_derivative(pairs, tables)
    assert_close(loss, expected_loss, ROUNDOFF)
    for a, b in zip(found.distinct, expected.distinct, strict=True):
        assert_components_close(a, b, ROUNDOFF, 0.0)


@looping("lam", [0.5, 0.3])
def test_both_ways_agree_below_the_largest_output(lam):
    kernel, pairs = setting(MANY_MEETINGS, lam)
    tables = random_tables(kernel, pairs.plan, 0.8 * LARGEST_OUTPUT, 5.0)
    work = copies(tables)
    softmax = PairSoftmax(kernel.neurons, pairs.blocks, pairs.targets, work)
    softmax.exponentiate(0, kernel.neurons.k)
    assert softmax.fits
    loss, D = softmax.loss_and_derivative()
    shifted_loss, shifted_D = loss_and_derivative(pairs, tables)
    assert_close(shifted_loss, loss, LARGE_OUTPUTS)
    for a, b in zip(shifted_D.distinct, D.distinct, strict=True):
        assert_close(a, b, LARGE_OUTPUTS)


def evaluation(lam, alpha, backend, threads=1):
    """A kernel, and loss and gradient at c from it."""
    p = MANY_MEETINGS.replace(alpha=alpha)
    kernel = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 1), backend=backend, threads=threads).kernel
    return kernel, lambda c: kernel.loss_and_gradient(c, AllPairs(lam), CrossEntropy())


def correlations():
    """Class 0 has the largest outputs, so that those of others fit while its own do not."""
    c = np.random.default_rng(0).uniform(-0.2, 1.0, (3, 2, 3, 2))
    c[0] *= 3.0
    return c


@looping("lam", [0.5, 0.3])
@looping("alpha", [8, 2.5])
@looping("size", [10.0, 250.0, 1e3, 1e6])
def test_gradients_are_those_of_numpy(lam, alpha, size):
    kernel, exact = evaluation(lam, alpha, "numpy")
    c = correlations()
    c *= size / kernel.outputs(c).max()
    expected_loss, expected = exact(c)
    (loss, gradient), (again_loss, again) = (evaluation(lam, alpha, "numba", threads)[1](c) for threads in (1, 2))
    assert loss == again_loss
    assert (gradient == again).all()
    assert_close(loss, expected_loss, LARGE_OUTPUTS)
    assert_close(gradient, expected, LARGE_OUTPUTS)


def largest_exponent(kernel, lam, c):
    """The largest exponent of a product of exponentials of the tables, by which it is decided whether they fit."""
    pairs, columns = kernel.pairs_of(AllPairs(lam)), kernel.columns.at(c.reshape(*c.shape[:2], -1))
    tables, blocks = pairs.empty_values(), len(pairs.plan.blocks)
    pairs.sums.values(0, len(c), columns, tables)
    terms = tables.terms
    parts = tables.U.max((1, 2)), tables.V.max((1, 2)), pairs.plan.repeats * terms[:, :blocks].max(1), terms[:, blocks:].max(1).clip(0.0)
    return sum(parts).max()


@looping("lam", [0.5, 0.3])
@looping("alpha", [8, 2.5])
def test_nothing_leaps_where_exponentials_cease_to_fit(lam, alpha):
    kernel, at = evaluation(lam, alpha, "numba")
    c, low, high = correlations(), 1.0, 1e3
    while high / low > 1.0 + 1e-13:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if largest_exponent(kernel, lam, middle * c) < LARGEST_OUTPUT else (low, middle)
    low, high = low * (1.0 - 1e-13), high * (1.0 + 1e-13)
    for below, above in zip(at(low * c), at(high * c), strict=True):
        assert_close(above, below, LARGE_OUTPUTS)
