"""Alternatives: keys of further implementations, directly above their devices' keys; in generated calls and plain ones."""

from __future__ import annotations

import itertools

import pytest

import dispatch_core as dc
from dispatch_core.keys.table import alternative_key

FIRST, SECOND, OTHER = (
    alternative_key(*each)
    for each in (("first", dc.DispatchKey.XPU), ("second", dc.DispatchKey.XPU), ("other", dc.DispatchKey.HPU))
)


@pytest.fixture
def scale(registry, library, make_backend):
    """An operator with a kernel of the device's, and functions that register others and note what runs."""
    backend = make_backend("oven", "XPU")
    library.define("scale(Tensor self, int by=2) -> Tensor")
    noted = []

    class Scale:
        array = backend.array([1.0, 2.0])
        op = registry.ops.t.scale

        @staticmethod
        def register(key, who, level="program", serves=lambda by: True, **options):
            def kernel(self, by=None):
                if not serves(by):
                    return NotImplemented
                noted.append(who)
                return self

            with registry.transaction(level=level):
                library = dc.Library("t", "IMPL", registry=registry)
                library.impl("scale", kernel, key, allow_override=True, **options)
            return library

        def who(self, *args, include=()):
            with dc.include_keys(*include):
                self.op(self.array, *args)
            (found,) = noted
            noted.clear()
            return found

    found = Scale()
    found.register("XPU", "device", "backend")
    return found


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
