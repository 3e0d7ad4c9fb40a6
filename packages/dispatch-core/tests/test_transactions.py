"""Transactions: a failure half way leaves nothing behind."""

from __future__ import annotations

import threading
import warnings

import pytest

import dispatch_core as dc
from dispatch_core.arrays import frontend, owners


class Half(Exception):
    pass


def state(registry):
    """Return all that registrations change."""
    return (
        {
            name: (entry.schema, entry.tags, dict(entry._registrations), dict(entry._specialized))
            for name, entry in registry.entries.items()
        },
        {name: list(found) for name, found in registry.packets.items()},
        dict(registry.fallbacks),
        dict(registry.definitions),
        dict(owners.DEVICE_KEYS),
        dict(owners.TYPE_MASKS),
        dict(frontend.FRONTENDS),
    )


def test_a_failed_block_takes_every_kind_of_registration_back(registry):
    outside = dc.Library("t", "FRAGMENT", registry=registry)
    outside.define("kept(int x, *, int alpha=1) -> int")
    outside.impl("kept", lambda x, alpha: x, "CPU")
    outside.impl("bare", lambda x: x, "CPU")
    before = state(registry)

    class Array:
        pass

    class Tensor:
        pass

    with pytest.raises(Half), registry.transaction():
        inside = dc.Library("t", "DEF", registry=registry)
        inside.define("new.a(int x) -> int", tags=("pointwise",))
        inside.impl("new.a", lambda x: x)
        with pytest.warns(dc.OverwriteWarning):
            inside.impl("kept", lambda x, alpha: -x, "CPU")
        inside.impl("kept", lambda x: x, "CPU", when=("alpha", 1))
        inside.define("bare(int x) -> int")
        dc.Library("_", "IMPL", registry=registry).fallback(lambda op, *args: 0, "Tracer")
        registry.register_fallthrough("t::kept", "Tracer")
        array_type = dc.ArrayType(Array, shape=lambda _: (), dtype=lambda _: "x")
        registry.add_backend(dc.BackendInfo("halfway", "", (array_type,)))
        dc.register_frontend("halfway", Tensor)
        raise Half
    assert state(registry) == before
    assert registry.call_direct("t::kept", "CPU", 3) == 3
    with pytest.raises(dc.OperatorNotFoundError):
        registry.dispatch("t::new", 1)


def test_calls_after_a_rollback_answer_as_before(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: x + 1)
    op = registry.ops.t.f.default
    assert op(1) == 2
    with pytest.raises(Half), registry.transaction():
        registry.register_kernel("t::f", "CompositeExplicitAutograd", lambda x: -1)
        assert op(1) == -1
        raise Half
    assert op(1) == 2


def test_a_block_that_succeeds_keeps_its_registrations(registry):
    with registry.transaction():
        registry.register_kernel("t::f", "CPU", lambda: 1)
    assert registry.has_kernel("t::f", "CPU")


def test_an_inner_block_becomes_part_of_the_outer_one(registry):
    with pytest.raises(Half), registry.transaction():
        with registry.transaction():
            registry.register_kernel("t::f", "CPU", lambda: 1)
        with pytest.raises(ZeroDivisionError), registry.transaction():
            registry.register_kernel("t::g", "CPU", lambda: 1)
            1 / 0  # noqa: B018  # the inner block is to fail
        assert registry.has_kernel("t::f", "CPU")
        assert not registry.has_kernel("t::g", "CPU")
        raise Half
    assert not registry.entries


def test_an_inner_block_is_of_no_higher_level_than_the_outer_one(registry):
    registry.register_kernel("t::f", "CPU", lambda: "program")
    with warnings.catch_warnings(record=True, action="always") as caught:
        with registry.transaction(level="backend"):
            with registry.transaction(level="program"):
                registry.register_kernel("t::f", "CPU", lambda: "backend", level="program")
            assert registry.call_direct("t::f", "CPU") == "program"
            assert not caught
        assert [warning.category for warning in caught] == [dc.OverwriteWarning]
    assert [found.level.name for found in registry.get("t::f").registrations(dc.DispatchKey.CPU)] == [
        "PROGRAM",
        "BACKEND",
    ]


def test_a_rollback_leaves_alone_what_took_the_place_meanwhile(registry):
    """A library that was closed inside the block took its registrations back already."""
    with pytest.raises(Half), registry.transaction():
        first = dc.Library("t", "DEF", registry=registry)
        first.define("f(int x) -> int")
        first.impl("f", lambda x: 1)
        first.close()
        second = _outside(lambda: dc.Library("t", "DEF", registry=registry))
        _outside(lambda: second.define("f(int x) -> int"))
        _outside(lambda: second.impl("f", lambda x: 2))
        raise Half
    assert registry.ops.t.f(0) == 2
    with pytest.raises(dc.RegistrationError, match="has a DEF library already"):
        dc.Library("t", "DEF", registry=registry)


def _outside(act):
    """Run something in another thread, which has no part in the transaction."""
    found = []
    thread = threading.Thread(target=lambda: found.append(act()))
    thread.start()
    thread.join()
    return found[0]


def test_a_frontend_after_a_rolled_back_one_gets_its_own_tensors(registry, library, toy, make_frontend):
    """The next frontend has the same marker bit; nothing may make the first one's tensors for it."""
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: type(x)(x.a + 1), toy.key)

    class First:
        pass

    with pytest.raises(Half), registry.transaction():
        first = dc.register_frontend("first", First)
        assert isinstance(registry.ops.t.f(first.wrap(toy.array([1]))), First)
        raise Half
    second = make_frontend("second")
    assert second.marker == first.marker
    assert isinstance(registry.ops.t.f(second.wrap(toy.array([1]))), second.tensor_type)
