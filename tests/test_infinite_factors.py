"""Factors and sizes that are infinite, nan or far too large: each is an operator's own error, on every device."""

import math
import os
import random
import re
from contextlib import suppress
from itertools import product

import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN
from dispatch_aten.shapes import RESAMPLERS, scale_sizes
from torchlike import nn

F = nn.functional
HOSTILE = [math.inf, -math.inf, math.nan, 1e300, -1e300, 2.0**63, 1e19]
DEVICES = ["cpu", "meta"]
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def image(count, device="cpu"):
    return torchlike.ones(1, 1, *[4] * count, device=device)


def place_in(count, factor):
    """Return lists of factors with a hostile one at each place, and one of it alone."""
    return [[factor if at == place else 0.5 for at in range(count)] for place in range(count)] + [[factor] * count]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", RESAMPLERS)
def test_operators_refuse_factors_that_give_no_size(name, device):
    count, kind = RESAMPLERS[name]
    align = [] if kind in ("nearest", "exact") else [False]
    for factor in HOSTILE:
        for factors in place_in(count, factor):
            with pytest.raises(RuntimeError, match=r"int64_t without overflow.*scale_factors"):
                getattr(dc.ops.aten, name).vec(image(count, device), None, *align, factors)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("recompute", [None, True])
def test_interpolate_refuses_them_in_every_mode(count, recompute, device):
    modes = ["nearest", "nearest-exact", "area", LINEAR[count], *(["bicubic"] if count == 2 else [])]
    for mode, factor in product(modes, HOSTILE):
        for factors in [factor, *place_in(count, factor)]:
            with pytest.raises(RuntimeError, match="int64_t without overflow"):
                F.interpolate(image(count, device), None, factors, mode, recompute_scale_factor=recompute)
        for size in (math.inf, [math.nan] * count):
            with pytest.raises(TypeError, match="expected size to be one of int"):
                F.interpolate(image(count, device), size, mode=mode)
    with pytest.raises(RuntimeError, match="int64_t without overflow"):
        nn.Upsample(scale_factor=math.inf)(image(count, device))


@pytest.mark.parametrize("count", [2, 3])
def test_fractional_pools_refuse_them(count):
    pool = getattr(F, f"fractional_max_pool{count}d")
    for factor in HOSTILE:
        for factors in [factor, *place_in(count, factor)]:
            with pytest.raises(RuntimeError, match=r"int64_t without overflow.*output_ratio"):
                pool(image(count), 2, output_ratio=factors)


def test_sizes_are_scaled_as_far_as_they_are_numbers_of_64_bits():
    assert scale_sizes((1, 3, 5), (2.0**62, 0.34, -1.0), "x") == [2**62, 1, -5]
    assert scale_sizes((1,), (-(2.0**63),), "x") == [-(2**63)]
    assert scale_sizes((), (), "x") == []


#: How many calls are drawn, and of which seed.
DRAWN = int(os.environ.get("DISPATCH_HOSTILE_CALLS") or 600)
SEED = int(os.environ.get("DISPATCH_HOSTILE_SEED") or 1)
FACTORS = [5e-324, 1e-300, 1e-10, 0.3, 2.0, 1e18, 1e300, 0.0, -1.0, math.inf, math.nan]


def draw_argument(r, kind, count, device):
    if kind == "Tensor":
        return torchlike.ones(1, 1, *(r.choice([1, 3, 4]) for _ in range(count)), device=device)
    if kind == "bool":
        return r.random() < 0.5
    if "int" in kind.lower():
        return r.choice([None, [r.choice([0, 1, 3, 7, -1]) for _ in range(count)], [2] * count])
    return r.choice([None, [r.choice(FACTORS) for _ in range(count)] if "[]" in kind else r.choice(FACTORS)])


def test_absurd_factors_beside_sizes_end_in_documented_errors_or_results():
    r, names = random.Random(SEED), [each for each in ATEN if "upsample" in each.name and "(a!)" not in each.schema]
    for _ in range(DRAWN):
        packet, _, overload = r.choice(names).name.partition(".")
        op = getattr(getattr(dc.ops.aten, packet), overload or "default")
        count, device = int(re.search(r"(\d)d", packet)[1]), r.choice(DEVICES)
        given = {each.name: draw_argument(r, str(each.type), count, device) for each in op.schema.arguments}
        with suppress(dc.DispatchError, TypeError, ValueError, IndexError, MemoryError):
            op(**given)


@pytest.mark.parametrize("name", ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"])
def test_smoothing_by_the_least_factor_ends(name):
    found = getattr(dc.ops.aten, name)(image(2), [2, 2], False, 5e-324, 1e-10)
    assert dc.shape(found)[2:] == (2, 2)
    assert not found.isnan().any()
