"""Alternatives: keys of further implementations, directly above their devices' keys; in generated calls and plain ones."""

from __future__ import annotations

import itertools

import pytest
from core_fixtures import FIRST, OTHER, SECOND

import dispatch_core as dc
from dispatch_core.keys.table import alternative_key


def test_a_key_ranks_directly_above_its_device_and_below_the_next_one():
    keys = [FIRST, alternative_key("first", dc.DispatchKey.XPU, 1), alternative_key("second", dc.DispatchKey.XPU, 1)]
    for profile in ("torch-2.4", "torch-2.13"):
        order = sorted(dc.DispatchKey, key=lambda key: key.rank_in(profile))
        place = order.index(dc.DispatchKey.XPU)
        above = order[place + 1 :]
        assert all(key.target is dc.DispatchKey.XPU for key in above[: above.index(dc.DispatchKey.HPU)])
    assert [key.registered_as for key in keys] == [FIRST, FIRST, SECOND]
    assert FIRST.kind == "alternative" and not FIRST.owns_arrays and dc.DispatchKey["XPU_first"] is FIRST
    with pytest.raises(dc.RegistrationError, match="there can be no key AutogradXPU_first"):
        alternative_key("first", dc.DispatchKey.AutogradXPU)
    with pytest.raises(dc.RegistrationError, match="up to 63 alternatives"):
        alternative_key("first", dc.DispatchKey.XPU, 63)


def test_the_kernel_runs_where_its_key_is_included(scale):
    scale.register(FIRST, "first", "alternative")
    assert scale.who() == "device"
    assert scale.who(include=[FIRST]) == "first"
    assert scale.who(include=[OTHER]) == "device"
    assert scale.who(include=[SECOND]) == "device"
    with dc.exclude_keys(FIRST):
        assert scale.who(include=[FIRST]) == "device"


def test_a_declined_call_goes_on_below(scale):
    scale.register(FIRST, "first", "alternative", lambda by: by == 3)
    scale.register(SECOND, "second", "alternative", lambda by: by != 2)
    above = alternative_key("second", dc.DispatchKey.XPU, 1)
    for _ in range(2):
        assert scale.who(3, include=[FIRST, above]) == "second"
        assert scale.who(3, include=[FIRST]) == "first"
        assert scale.who(4, include=[FIRST]) == "device"
        assert scale.who(2, include=[FIRST, above]) == "device"


@pytest.mark.parametrize("levels", list(itertools.permutations(["backend", "alternative", "program"])))
def test_levels_decide_whatever_comes_first(scale, levels):
    keys = {"backend": "XPU", "alternative": FIRST, "program": "XPU"}
    libraries = {level: scale.register(keys[level], level, level) for level in levels}
    assert scale.who(include=[FIRST]) == "program"
    libraries["program"].close()
    assert scale.who(include=[FIRST]) == "alternative"
    own = scale.register(FIRST, "the program's alternative")
    assert scale.who(include=[FIRST]) == "the program's alternative"
    own.close()
    libraries["alternative"].close()
    assert scale.who(include=[FIRST]) == "backend"


def test_a_specialized_kernel_of_the_program_stands_above_an_alternative(scale):
    scale.register(FIRST, "first", "alternative")
    special = scale.register("XPU", "special", when=("by", 5))
    assert [scale.who(by, include=[FIRST]) for by in (2, 5)] == ["first", "special"]
    special.close()
    scale.register("XPU", "backend's special", "backend", when=("by", 5))
    assert [scale.who(by, include=[FIRST]) for by in (2, 5)] == ["first", "first"]
