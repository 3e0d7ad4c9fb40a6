"""Errors: one root, the builtin that a caller would expect, and a hint on the last line."""

from __future__ import annotations

import copy
import pickle

import pytest

import dispatch_core as dc
from dispatch_core import errors

#: Every error and the builtin that it mixes in.
BUILTINS = {
    "NoMatchingOverloadError": TypeError,
    "ArgumentError": TypeError,
    "BackendError": RuntimeError,
    "BackendNotFoundError": RuntimeError,
    "BackendUnavailableError": RuntimeError,
    "CaptureError": RuntimeError,
    "ClosedOperatorError": RuntimeError,
    "DeviceMismatchError": RuntimeError,
    "DevkitNotFoundError": ImportError,
    "DispatchKeyError": LookupError,
    "EmptyKeysetError": NotImplementedError,
    "FrontendMismatchError": TypeError,
    "KernelResultError": TypeError,
    "NoKernelError": NotImplementedError,
    "OpCheckError": AssertionError,
    "OperatorNotFoundError": LookupError,
    "OutOfMemoryError": MemoryError,
    "RegistrationError": ValueError,
    "SchemaError": ValueError,
}


def test_every_error_is_public():
    assert {*BUILTINS, "DispatchError", "OverwriteWarning", "UnknownOperatorWarning", "AmbiguousOverloadError"} == set(
        errors.__all__
    )
    assert all(getattr(dc, name) is getattr(errors, name) for name in errors.__all__)


def test_the_first_releases_name_for_a_call_that_no_overload_fits_still_catches_it():
    assert dc.AmbiguousOverloadError is dc.NoMatchingOverloadError


@pytest.mark.parametrize("name", BUILTINS)
def test_an_error_is_a_dispatch_error_and_the_builtin(name):
    error = getattr(dc, name)
    assert issubclass(error, dc.DispatchError)
    assert issubclass(error, BUILTINS[name])
    assert error.__doc__


@pytest.mark.parametrize("name", ["DispatchError", *BUILTINS])
def test_the_hint_is_the_last_line(name):
    error = getattr(dc, name)("what was asked\nwhat there is", hint="what to do")
    assert str(error) == "what was asked\nwhat there is\nHint: what to do"
    assert error.hint == "what to do"
    plain = getattr(dc, name)("what was asked")
    assert (str(plain), plain.hint) == ("what was asked", None)


@pytest.mark.parametrize("name", ["DispatchError", *BUILTINS])
def test_errors_survive_pickling_and_copying(name):
    error = getattr(dc, name)("what was asked", hint="what to do")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), str(other), other.hint) == (type(error), str(error), error.hint)


#: A call or a registration that provokes each error, and how its text begins and ends.
PROVOKED = [
    (
        dc.ArgumentError,
        lambda r: r.dispatch("t::f", "x"),
        "t::f(): argument 'x' (position 1) must be int, not str",
        None,
    ),
    (
        dc.NoMatchingOverloadError,
        lambda r: r.dispatch("t::g", 1.5),
        "t::g() received an invalid combination of arguments",
        None,
    ),
    (
        dc.NoKernelError,
        lambda r: r.redispatch("t::f", "FPGA", 1),
        "t::f: no kernel for FPGA, the highest key of",
        "or a composite",
    ),
    (
        dc.EmptyKeysetError,
        lambda r: r.dispatch("t::f", 1),
        "t::f: the set of dispatch keys is empty",
        "CompositeExplicitAutograd",
    ),
    (
        dc.OperatorNotFoundError,
        lambda r: r.dispatch("t::ff", 1),
        "no operator is named t::ff",
        "did you mean t::f?",
    ),
    (dc.OperatorNotFoundError, lambda r: r.ops.t.g.x, "operator t::g has no overload 'x'", "its overloads are a, b"),
    (
        dc.DispatchKeyError,
        lambda r: r.redispatch("t::f", 1 << 63, 1),
        "bit 63 belongs to no dispatch key",
        "from keysets",
    ),
    (dc.DispatchKeyError, lambda r: r.call_direct("t::f", "CPP", 1), "no dispatch key is named 'CPP'", "did you mean"),
    (
        dc.SchemaError,
        lambda r: r.register_schema("t::h", "k() -> ()"),
        "the schema registered for t::h is named t::k",
        "under",
    ),
    (dc.SchemaError, lambda r: r.get("t h"), "'t h' is not an operator's name", "write 'namespace::name.overload'"),
    (
        dc.RegistrationError,
        lambda r: r.register_schema("t::f", "f() -> ()"),
        "t::f is defined already, at",
        "with impl",
    ),
    (
        dc.RegistrationError,
        lambda r: r.register_fallback("Autograd", print),
        "a fallback cannot be registered for the alias",
        "key",
    ),
    (dc.BackendNotFoundError, lambda r: r.dispatch("t::new", device="nowhere"), "", None),
    (
        dc.KernelResultError,
        lambda r: r.redispatch("t::pair", "CPU", 1),
        "t::pair: the kernel returned 1 results where",
        None,
    ),
]


@pytest.mark.parametrize(
    ("error", "provoke", "begins", "hint"), PROVOKED, ids=lambda value: getattr(value, "__name__", None)
)
def test_what_provokes_an_error_gets_its_text(registry, error, provoke, begins, hint):
    registry.register_schema("t::f", "f(int x) -> int")
    registry.register_kernel("t::f", "CPU", lambda x: x)
    registry.register_schema("t::g.a", "g.a(int x) -> int")
    registry.register_schema("t::g.b", "g.b(str x) -> int")
    registry.register_schema("t::new", "new(*, Device? device=None) -> Tensor")
    registry.register_schema("t::pair", "pair(int x) -> (int, int)")
    registry.register_kernel("t::pair", "CPU", lambda x: (x,))
    before = {name: (entry.schema, dict(entry._registrations)) for name, entry in registry.entries.items()}
    with pytest.raises(error) as caught:
        provoke(registry)
    assert type(caught.value) is error
    assert str(caught.value).startswith(begins)
    if hint is not None:
        assert hint in str(caught.value).splitlines()[-1]
        assert str(caught.value).splitlines()[-1].startswith("Hint: ")
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    after = {name: (entry.schema, dict(entry._registrations)) for name, entry in registry.entries.items()}
    assert after == before


def test_an_error_is_raised_afresh_at_every_call(registry):
    """A failure is not remembered as the answer."""
    registry.register_schema("t::f", "f(int x) -> int")
    for _ in range(3):
        with pytest.raises(dc.EmptyKeysetError):
            registry.ops.t.f(1)
    assert not registry.get("t::f").call_table


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_every_error_survives_a_copy_and_a_pickle(again):
    with pytest.raises(dc.SchemaError) as caught:
        dc.FunctionSchema.parse("f(")
    for error in (caught.value, dc.BackendError("no chip", hint="buy one")):
        made = again(error)
        assert (type(made), made.args, vars(made)) == (type(error), error.args, vars(error))
