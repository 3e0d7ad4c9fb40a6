"""Operators of the cpu backend that multiply matrices, beside torch's."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import ALL, generator_for, matrix, pick


def test_products(compare):
    rng = generator_for("products")
    for _ in range(200):
        dtype = pick(rng, ALL)
        other = dtype if rng.random() < 0.9 else pick(rng, ALL)
        n, k, m, b = (int(rng.integers(0, 5)) for _ in range(4))
        wrong = k if rng.random() < 0.9 else k + 1
        compare("mm", [matrix(rng, (n, k), dtype), matrix(rng, (wrong, m), other)])
        compare("bmm", [matrix(rng, (b, n, k), dtype), matrix(rng, (b, wrong, m), other)])
        compare("mv", [matrix(rng, (n, k), dtype), matrix(rng, (wrong,), other)])
        compare("dot", [matrix(rng, (k,), dtype), matrix(rng, (wrong,), other)])
        options = {"beta": pick(rng, [0, 1, 2]), "alpha": pick(rng, [1, 2, 3])}
        bias = pick(rng, [(n, m), (m,), (1, m), (n, 1), ()])
        compare(
            "addmm", [matrix(rng, bias, dtype), matrix(rng, (n, k), dtype), matrix(rng, (wrong, m), other)], options
        )
        operands = [matrix(rng, (b, n, m), dtype), matrix(rng, (b, n, k), dtype), matrix(rng, (b, wrong, m), other)]
        compare("baddbmm", operands, options)
