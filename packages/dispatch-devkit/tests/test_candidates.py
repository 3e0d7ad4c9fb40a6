"""The candidates that ``explain`` lists are asked in that order, and those that it passes over never run: drawn programs."""

from __future__ import annotations

import os
import random

import pytest

import dispatch_core as dc
from dispatch_core.keys.table import alternative_key

PROGRAMS = int(os.environ.get("DISPATCH_DRAWN_CANDIDATES") or "60")
LEVELS = ["backend", "alternative", "program"]


def draw_program(draw, registry, toy, ran, declining):
    """Register functions of all kinds in a drawn order; return the names of those that are there."""
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f.Scalar(Tensor x, int n=1) -> Tensor")
    library.define("f.Tensor(Tensor x, Tensor n) -> Tensor")
    library.define("part(Tensor x) -> Tensor")
    # Keys stay: these are those of the core's own tests.
    keys = [alternative_key("first", toy.key), alternative_key("second", toy.key, 1)]
    number = 0

    def make(kind, *, optional=False):
        nonlocal number
        number += 1

        def kernel(x, *rest):
            if optional and kernel.__name__ in declining:
                return NotImplemented
            ran.append(kernel.__name__)
            return x

        kernel.__name__ = kernel.__qualname__ = f"{kind}_{number}"
        return kernel

    def register(kind):
        if kind == "kernel":
            library.impl("f.Scalar", make(kind), toy.key, allow_override=True)
        elif kind == "composite":
            library.impl("f.Scalar", make(kind), "CompositeExplicitAutograd", allow_override=True)
        elif kind == "value":
            library.impl("f.Scalar", make(kind), toy.key, when=("n", draw.choice([1, 2])), allow_override=True)
        elif kind == "alternative":
            library.impl("f.Scalar", make(kind, optional=True), draw.choice(keys), allow_override=True)
        elif kind == "short":
            library.short_way("f.Scalar", make(kind, optional=True), toy.key, parts=draw.choice([(), ("part",)]))
        elif kind == "way":
            library.give_way("f.Scalar", "f.Tensor", make(kind))
        elif kind == "other":
            library.impl("f.Tensor", make(kind), toy.key, allow_override=True)
        else:
            library.impl("part", make(kind), toy.key, allow_override=True)

    kinds = [
        "composite",
        *draw.choices("kernel value alternative short way other part kernel".split(), k=draw.randrange(1, 9)),
    ]
    draw.shuffle(kinds)
    for kind in kinds:
        with registry.transaction(level=draw.choice(LEVELS)):
            register(kind)
    return keys


@pytest.mark.parametrize("is_tensor", [False, True], ids=["arrays", "tensors"])
def test_calls_ask_the_candidates_in_the_order_of_the_explanation(make_backend, tensors, is_tensor):
    toy, seen = make_backend("oven", "XPU"), set()
    for seed in range(PROGRAMS):
        draw, ran, declining = random.Random(f"{seed} {is_tensor}"), [], set()
        registry = dc.Registry(interpreted=draw.random() < 0.3)
        keys = draw_program(draw, registry, toy, ran, declining)
        op, array = registry.ops.t.f.Scalar, toy.array([1.0])
        x = tensors.wrap(array) if is_tensor else array
        for _ in range(6):
            n, is_plain = draw.choice([1, 2, 3]), draw.random() < 0.5
            include = [] if is_plain else draw.sample(keys, draw.randrange(3))
            with dc.include_keys(*include):
                listed = dc.explain(op, x, n).candidates
                assert listed, seed
                asked = [each for each in listed if not each.reason]
                names = [each.kernel.rpartition(".")[2] for each in asked]
                optional = {name for name, each in zip(names, asked, strict=True) if each.serves.endswith("declines")}
                declining |= {name for name in optional if draw.random() < 0.5}
                ran.clear()
                for _ in range(draw.choice([1, 20])):
                    op(x, n)
            expected = next(name for name in names if name not in declining & optional)
            assert {*ran} == {expected}, (seed, n, include, [*map(str, listed)])
            assert names[-1] not in optional, (seed, listed)
            declining.clear()
            seen |= {each.reason.rstrip("0123456789:") for each in listed} | {each.kind for each in listed}
    assert any("of a higher level" in each for each in seen) and any("hides it" in each for each in seen)
    assert {"short way", "specialized kernel", "kernel"} <= seen
