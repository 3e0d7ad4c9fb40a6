"""Why a call runs its kernel: as data, as text, on the command line, and always as the call then goes."""

from __future__ import annotations

import functools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core import DispatchKey, DispatchKeySet, frontends
from dispatch_devkit import operator_report
from dispatch_devkit.command_line.explain import describe_operator
from dispatch_devkit.command_line.output import TextOutput
from dispatch_devkit.explanation import Explanation, calls, explain, list_registrations


def steps(explanation):
    return [(step.key, step.outcome) for step in explanation.steps]


@pytest.fixture
def operator(registry, library, toy):
    """``f`` has two overloads; the one for tensors has a kernel for toy, an Autograd layer and a fallthrough."""
    library.define("f.Tensor(Tensor x, Tensor? y=None, *, int n=1) -> Tensor")
    library.define("f.int(int x) -> int")
    library.impl("f.Tensor", lambda x, y, *, n: pytest.fail("a kernel ran"), toy.key)
    library.impl("f.Tensor", lambda *args, **kwargs: pytest.fail("a kernel ran"), "Autograd", with_keyset=True)
    library.impl("f.Tensor", dc.fallthrough_kernel, "Tracer")
    return registry.ops.t.f


def test_the_public_name_stays_a_function_once_its_module_is_imported():
    assert dc.explain is explain


def test_the_overload_is_told_and_why_the_others_do_not_fit(operator, toy):
    found = dc.explain(operator, toy.array([1]))
    assert (found.operator, found.schema) == (
        "t::f.Tensor",
        "t::f.Tensor(Tensor x, Tensor? y=None, *, int n=1) -> Tensor",
    )
    assert [(each.name, each.reason) for each in found.overloads] == [
        ("Tensor", ""),
        ("int", "argument 'x' (position 1) must be int, not ToyArray"),
    ]
    found = dc.explain(operator, 3)
    assert found.operator == "t::f.int"
    assert found.overloads[0].reason == "argument 'x' (position 1) must be Tensor, not int"


def test_an_overload_that_comes_too_late_is_told(registry, library):
    library.define("g.a(int x) -> int")
    library.define("g.b(int x) -> int")
    assert dc.explain("t::g", 1, registry=registry).overloads[1].reason == "fits too, but comes later"


def test_a_call_that_fits_no_overload_is_explained_by_its_error(operator):
    found = dc.explain(operator, "text")
    assert isinstance(found.error, dc.NoMatchingOverloadError)
    with pytest.raises(dc.NoMatchingOverloadError, match=re.escape(str(found.error))):
        operator("text")
    assert [each.name for each in found.overloads if each.reason] == ["Tensor", "int"]
    assert found.winner is None
    assert "raises NoMatchingOverloadError: t::f() received an invalid combination" in str(found)


def test_wrong_arguments_are_explained_by_their_error(operator, toy):
    found = dc.explain(operator.Tensor, toy.array([1]), n="1")
    assert isinstance(found.error, dc.ArgumentError)
    assert "argument 'n' must be int, not str" in str(found.error)
    assert found.error.__traceback__ is None


def test_every_tensor_has_its_keys(operator, toy, tensors):
    x, y = tensors.wrap(toy.array([1])), tensors.wrap(toy.array([2]))
    x._dispatch_mask |= DispatchKey.AutogradToy
    found = dc.explain(operator, x, y=y)
    assert [(each.name, each.frontend, each.keys) for each in found.arguments] == [
        ("x", "boxes", DispatchKeySet(["AutogradToy", "Toy"])),
        ("y", "boxes", DispatchKeySet(["Toy"])),
    ]
    assert found.arguments[0].type.endswith("BoxesTensor")


def test_tensors_in_lists_are_told_by_their_place(registry, library, toy):
    library.define("cat(Tensor?[] xs) -> Tensor")
    library.impl("cat", lambda xs: xs[0], toy.key)
    found = dc.explain(registry.ops.t.cat, [toy.array([1]), None, toy.array([2])])
    assert [each.name for each in found.arguments] == ["xs[0]", "xs[2]"]


def test_the_winner_and_what_stands_around_it(operator, toy, tensors):
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= DispatchKey.AutogradToy
    with dc.include_keys("Tracer", "PrivateUse1", "Profiler"):
        found = dc.explain(operator, x)
    assert found.included == DispatchKeySet(["Tracer", "PrivateUse1", "Profiler"])
    assert found.keys == DispatchKeySet(["Profiler", "Tracer", "AutogradToy", "BackendSelect", "PrivateUse1", "Toy"])
    assert steps(found) == [
        ("Profiler", "passed over"),
        ("Tracer", "passed over"),
        ("AutogradToy", "runs"),
        ("BackendSelect", "passed over"),
        ("Toy", "below"),
        ("PrivateUse1", "passed over"),
    ]
    reasons = {step.key: step.reason for step in found.steps}
    assert reasons["Profiler"] == reasons["BackendSelect"] == "nothing is registered"
    assert reasons["Tracer"].startswith(f"fallthrough registered under Tracer at {__file__}:")
    assert reasons["PrivateUse1"] == "no backend has claimed PrivateUse1"
    winner = found.winner
    assert (winner.reason, winner.registered_under, winner.origin.file) == ("autograd kernel", "Autograd", __file__)
    assert winner.kernel.endswith("operator.<locals>.<lambda>")
    assert found.kernel_keys == DispatchKeySet(["AutogradToy", "Toy"])
    assert found.notes == ("the kernel gets the keyset (AutogradToy, Toy) first",)


def test_exclusions_are_in_force(operator, toy, tensors):
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= DispatchKey.AutogradToy
    with dc.exclude_keys("Autograd"):
        found = dc.explain(operator, x)
    assert found.winner.key == "Toy"
    assert "AutogradToy" in {key.name for key in found.excluded}
    assert "masks: included (), excluded (Autograd)" in str(found)


def test_a_missing_kernel_is_explained_by_the_error_that_the_call_raises(registry, library, toy, tensors):
    library.define("g(Tensor x) -> Tensor")
    library.impl("g", lambda x: x, "CPU")
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= DispatchKey.AutogradToy
    found = dc.explain(registry.ops.t.g, x)
    assert steps(found)[-1] == ("Toy", "missing")
    assert type(found.error) is dc.NoKernelError
    with pytest.raises(dc.NoKernelError, match=re.escape(str(found.error))):
        registry.ops.t.g(x)
    text = str(found.error).splitlines()
    assert text[1] == "Passed over: AutogradToy (nothing is registered)"
    assert "! Toy" in str(found)


def test_a_set_whose_keys_are_all_passed_over_ends_at_undefined(registry, library):
    library.define("g() -> int")
    library.impl("g", lambda: 1, "CompositeExplicitAutograd")
    found = dc.explain("t::g", registry=registry)
    assert steps(found) == [("BackendSelect", "passed over"), ("Undefined", "runs")]
    library.define("h() -> int")
    found = dc.explain("t::h", registry=registry)
    assert steps(found)[-1] == ("Undefined", "missing")
    assert type(found.error) is dc.EmptyKeysetError


def test_by_keyset_no_arguments_are_needed(operator, registry, toy):
    found = dc.explain("t::f", keyset=["AutogradToy", toy.key], registry=registry)
    assert found.operator == "t::f.Tensor"
    assert found.winner.key == "AutogradToy"
    assert "no overload is named: the first of 2 is meant" in found.notes
    found = dc.explain(operator.Tensor, keyset=toy.key)
    assert (found.winner.key, found.notes) == ("Toy", ())
    with dc.include_keys("AutogradToy"):
        assert dc.explain(operator.Tensor, toy.array([1]), keyset="Toy").winner.key == "AutogradToy"
    with pytest.raises(dc.DispatchKeyError, match="Tpy"):
        dc.explain("t::f", keyset=["Tpy"], registry=registry)


def test_an_unknown_operator_is_an_error(registry):
    with pytest.raises(dc.OperatorNotFoundError, match="no operator is named t::nothing"):
        dc.explain("t::nothing", registry=registry)


def test_an_operator_without_schema_is_explained(registry, toy):
    registry.register_kernel("t::bare", toy.key, lambda *args, **kwargs: 1)
    found = dc.explain("t::bare", [toy.array([1])], 2, y=toy.array([1]), registry=registry)
    assert [each.name for each in found.arguments] == ["0[0]", "y"]
    assert found.winner.key == "Toy"


def test_a_handle_whose_library_is_closed_says_so(registry, library):
    library.define("g() -> int")
    handle = registry.ops.t.g.default
    library.close()
    found = dc.explain(handle)
    assert isinstance(found.error, dc.ClosedOperatorError)


def test_covered_kernels_are_told(registry, library, toy):
    library.define("g(Tensor x, *, int n=1) -> Tensor")
    library.impl("g", lambda x, *, n: x, toy.key)
    library.impl("g", lambda x: x, toy.key, when=("n", 1))
    special, general = dc.explain(registry.ops.t.g, toy.array([1])).candidates
    assert (special.kind, special.serves, special.reason) == ("specialized kernel", "calls with n=1", "")
    assert special.origin.file == __file__
    assert general.reason == "a candidate before it serves the call"
    special, general = dc.explain(registry.ops.t.g, toy.array([1]), n=2).candidates
    assert (special.reason, general.reason) == ("n is 2", "")


def test_a_composite_tells_what_its_calls_lack(registry, library, toy, tensors):
    library.define("g(Tensor x) -> Tensor")
    library.impl("g", lambda x: x)
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= DispatchKey.AutogradToy
    assert dc.explain(registry.ops.t.g, x).notes == ("a composite: the operators that it calls are dispatched again",)
    (note,) = dc.explain(registry.ops.t.g, x, keyset=toy.key).notes
    assert note.endswith("dispatched again, without the keys that are masked off: (AutogradToy)")


def test_a_factory_goes_on_on_its_device(registry, library, toy):
    library.define("full(int n, *, Device? device=None) -> Tensor")
    library.impl("full", lambda n, *, device: toy.array([n]), toy.key)
    found = dc.explain(registry.ops.t.full, 2, device="toy:1")
    assert (found.winner.key, found.winner.reason) == ("BackendSelect", "the core's own rule for factories")
    assert found.notes == ("the device argument is toy:1: its key is Toy",)
    assert (found.then.keys, found.then.winner.key) == (DispatchKeySet(["Toy"]), "Toy")
    assert found.error is None
    found = dc.explain(registry.ops.t.full, 2, device="nowhere")
    assert isinstance(found.error, dc.BackendNotFoundError)
    assert found.then is None
    found = dc.explain(registry.ops.t.full, keyset="BackendSelect")
    assert found.notes == ("the device argument decides where the call goes on",)
    with dc.exclude_keys(toy.key):
        found = dc.explain(registry.ops.t.full, 2, device="toy")
    assert isinstance(found.error, dc.EmptyKeysetError)
    assert found.error is found.then.error


def test_mixed_devices_are_refused_in_the_words_of_the_call(registry, library, toy, make_backend):
    other = make_backend("rival")
    library.define("g(Tensor x, Tensor y) -> Tensor")
    library.impl("g", lambda x, y: x, toy.key)
    arguments = toy.array([1]), other.array([1])
    found = dc.explain(registry.ops.t.g, *arguments)
    assert found.keys == DispatchKeySet(["BackendSelect", "Toy", "Rival"])
    with pytest.raises(dc.DeviceMismatchError, match=re.escape(str(found.error))):
        registry.ops.t.g(*arguments)


def test_a_frontend_that_decides_over_mixed_devices_is_named(registry, library, toy, make_backend, make_frontend):
    class Mixing(frontends.Layers):
        def call_mixed(self, op, args, kwargs):
            pytest.fail("the hook ran")

    other, front = make_backend("rival"), make_frontend("mixer", layers=Mixing())
    library.define("g(Tensor x, Tensor y) -> Tensor")
    found = dc.explain(registry.ops.t.g, front.wrap(toy.array([1])), front.wrap(other.array([1])))
    assert found.error is None
    assert found.notes[0].startswith("the tensors lie on several devices: their frontend decides, in ")
    assert found.notes[0].endswith("<locals>.Mixing.call_mixed")


def test_mixed_frontends_are_refused(operator, toy, tensors, make_frontend):
    second = make_frontend("second")
    for other in (toy.array([1]), second.wrap(toy.array([1]))):
        found = dc.explain(operator, tensors.wrap(toy.array([1])), other)
        assert isinstance(found.error, dc.FrontendMismatchError)


def test_a_write_to_immutable_arrays_goes_on_in_the_functional_overload(registry, library, make_backend, tensors):
    frozen = make_backend("frozen", mutable=False)
    library.define("neg(Tensor self) -> Tensor")
    library.define("neg_(Tensor(a!) self) -> Tensor(a!)")
    library.impl("neg", lambda x: x, frozen.key)
    found = dc.explain(registry.ops.t.neg_, tensors.wrap(frozen.array([1])))
    assert (found.winner.key, found.winner.kernel, found.then.operator) == ("Frozen", "t::neg", "t::neg")
    assert found.error is None
    found = dc.explain(registry.ops.t.neg_, frozen.array([1]))
    assert isinstance(found.error, dc.RegistrationError)
    with pytest.raises(dc.RegistrationError, match=re.escape(str(found.error))):
        registry.ops.t.neg_(frozen.array([1]))
    assert dc.explain(registry.ops.t.neg_, keyset=frozen.key).error is None


def test_kernels_are_named_and_none_is_made(registry, library, toy):
    for name, kernel, spelled in [
        ("made", dc.kernel_factory(lambda op, keyset: pytest.fail("made")), "made on first use by "),
        ("ufunc", np.add, "numpy.add"),
        ("thing", type("Thing", (), {"__call__": lambda self: 1})(), "an object of "),
    ]:
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, kernel, toy.key)
        assert dc.explain(f"t::{name}", toy.array([1]), registry=registry).winner.kernel.startswith(spelled)


def plain(x):
    return x


def test_kernels_are_named_by_what_they_stand_for(registry, library, toy):
    @functools.wraps(plain)
    def wrapping(x):
        return plain(x)

    def late(x):
        return plain(x)

    late.stands_for = lambda: wrapping

    def row(x):
        return x

    row.stands_for = lambda: ("table['row']", "table.py:7")

    class Thing:
        def __call__(self, x):
            return x

        def method(self, x):
            return x

    name, line = f"{__name__}.plain", plain.__code__.co_firstlineno
    circle = functools.partial(plain)
    circle.__wrapped__ = circle
    for kernel, spelled, place in [
        (plain, name, f"{__file__}:{line}"),
        (wrapping, name, f"{__file__}:{line}"),
        (late, name, f"{__file__}:{line}"),
        (row, "table['row']", "table.py:7"),
        (functools.partial(plain), f"partial of {name}", f"{__file__}:{line}"),
        (circle, f"partial of {name}", f"{__file__}:{line}"),
        (dc.kernel_factory(late), f"made on first use by {name}", f"{__file__}:{line}"),
        (
            Thing(),
            f"an object of {__name__}.{Thing.__qualname__}",
            f"{__file__}:{Thing.__call__.__code__.co_firstlineno}",
        ),
        (
            Thing().method,
            f"{__name__}.{Thing.method.__qualname__}",
            f"{__file__}:{Thing.method.__code__.co_firstlineno}",
        ),
        (np.add, "numpy.add", ""),
        (len, "builtins.len", ""),
    ]:
        with dc.Library("t", "FRAGMENT", registry=registry) as other:
            other.define("named(Tensor x) -> Tensor")
            other.impl("named", kernel, toy.key)
            winner = dc.explain("t::named", toy.array([1]), registry=registry).winner
            assert (winner.kernel, winner.place) == (spelled, place)
            assert str(winner).startswith(
                f"runs: {spelled}{f' at {place}' if place else ''} (kernel), registered under"
            )
            (row_of,) = list_registrations(registry.get("t::named"))
            assert (row_of["kernel"], row_of["place"], row_of["level"]) == (spelled, place, "program")


def test_a_fake_is_named_by_its_function(registry, library, toy, meta):
    library.define("f(Tensor x) -> Tensor")
    dc.register_fake("t::f", plain, lib=library)
    assert dc.explain(registry.ops.t.f, keyset="Meta").winner.kernel == f"made on first use by {__name__}.plain"


def test_what_is_hidden_is_shown_as_replaced(registry, library):
    library.define("f(int x, *, int n=1) -> int")
    for level in ("backend", "program"):
        with registry.transaction(level=level):
            registry.register_kernel("t::f", "CPU", plain, allow_override=True)
            registry.register_kernel("t::f", "CPU", plain, when=("n", 1), allow_override=True)
    rows = list_registrations(registry.get("t::f"))
    assert [(row["level"], row["when"], row["replaced"]) for row in rows] == [
        ("program", None, False),
        ("backend", None, True),
        ("program", "n=1", False),
        ("backend", "n=1", True),
    ]


def test_a_covered_kernel_is_told_as_calls_choose_it(registry, library, toy):
    library.define("f(Tensor x, *, Scalar n=1) -> Tensor")
    library.impl("f", lambda x, *, n: x, toy.key)
    library.impl("f", lambda x: x, toy.key, when=("n", 1))
    for n in (1, 1.0, True, 2):
        special, general = dc.explain(registry.ops.t.f, toy.array([1]), n=n).candidates
        served = type(n) is int and n == 1
        assert (special.reason == "", general.reason == "") == (served, not served)


def test_an_autograd_key_without_a_frontend_is_told(registry, library, monkeypatch):
    monkeypatch.setattr(calls, "FRONTENDS", {})
    library.define("f(int x) -> int")
    library.impl("f", lambda x: x, "CPU")
    note = "no frontend with autograd is imported here: one that is brings kernels for Autograd keys"
    assert note in dc.explain("t::f", keyset=["AutogradCPU", "CPU"], registry=registry).notes
    assert note not in dc.explain("t::f", keyset=["CPU"], registry=registry).notes


def test_the_readable_form_has_everything_in_order(operator, toy):
    lines = str(dc.explain(operator, toy.array([1]))).splitlines()
    assert lines[:9] == [
        "t::f.Tensor(Tensor x, Tensor? y=None, *, int n=1) -> Tensor",
        "overloads",
        "  Tensor  chosen",
        "  int     argument 'x' (position 1) must be int, not ToyArray",
        "arguments",
        f"  x  {toy.array.__module__}.ToyArray (Toy)",
        "keys (BackendSelect, Toy)",
        "  BackendSelect  passed over: nothing is registered",
        lines[8],
    ]
    assert lines[8].startswith("> Toy            runs: ")
    assert lines[8].endswith(f"registered under Toy at {dc.explain(operator, toy.array([1])).winner.origin}")


def test_the_data_is_json(operator, registry, toy):
    found = dc.explain(operator, toy.array([1]))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["operator"] == "t::f.Tensor"
    assert data["keys"] == ["BackendSelect", "Toy"]
    assert data["steps"][1]["origin"]["file"] == __file__
    assert set(data["steps"][1]["origin"]) == {"distribution", "version", "file", "line"}
    assert data["error"] is None
    assert "source" not in data
    assert dc.explain(operator, "x").to_dict()["error"]["type"] == "NoMatchingOverloadError"
    assert found.to_dict(source=True)["source"] == found.source


def test_the_source_is_that_of_the_generated_functions(operator, toy, registry):
    source = dc.explain(operator, toy.array([1])).source
    if "interpreted" in source:
        assert source.startswith("# t::f.Tensor is interpreted")
        assert registry.engine.__name__.endswith("reference")
    else:
        assert "def __call(x, y=__default1, __stop=__nothing, n=__default2):" in source
        assert "def __redispatch(__m, /, x, y=__default1, *, n=__default2):" in source
        compile(source, "source", "exec")


def test_nothing_is_changed_by_explaining(operator, toy):
    entry = operator.Tensor._entry
    before = entry.generation, dict(entry.call_table), dict(entry.explicit_table)
    explanation = dc.explain(operator, toy.array([1]))
    assert (entry.generation, entry.call_table, entry.explicit_table) == before
    with pytest.raises(AttributeError):
        explanation.operator = "other"


KEYS = ["CPU", "Meta", "NPU", "PrivateUse1", "AutogradCPU", "Tracer", "Profiler", "BackendSelect", "SparseCPU"]
ALIASES = ["CompositeImplicitAutograd", "CompositeExplicitAutograd", "Autograd"]


@settings(max_examples=150)
@given(
    kernels=st.sets(st.sampled_from(KEYS + ALIASES)),
    fallthroughs=st.sets(st.sampled_from(KEYS)),
    keys=st.sets(st.sampled_from(KEYS)),
    interpreted=st.booleans(),
)
def test_the_call_runs_what_its_explanation_says(kernels, fallthroughs, keys, interpreted):
    registry = dc.Registry(interpreted=interpreted)
    registry.register_schema("t::f", "f(int x=0) -> str")
    for key in kernels - fallthroughs:
        registry.register_kernel("t::f", key, lambda x, key=key: key)
    for key in fallthroughs:
        registry.register_fallthrough("t::f", key)
    found = dc.explain("t::f", keyset=keys, registry=registry)
    assert isinstance(found, Explanation)
    if found.error is None:
        assert registry.dispatch_with_keyset("t::f", keys) == found.winner.registered_under
    else:
        assert found.winner is None
        with pytest.raises(type(found.error)) as caught:
            registry.dispatch_with_keyset("t::f", keys)
        assert str(caught.value) == str(found.error)


# The command.

MODULE = """
import dispatch_core as dc
library = dc.Library("demo", "DEF")
library.define("f.a(Tensor x, *, int n=1) -> Tensor", tags="pointwise")
library.impl("f.a", lambda x, *, n: x, "CPU")
library.impl("f.a", lambda x: x, "CPU", when=("n", 1))
library.impl("f.a", dc.fallthrough_kernel, "Tracer")
library.define("f.b(int x) -> int")
"""


@pytest.fixture
def run(install, run_python):
    site = install("demo-dist", modules={"demo_operators": MODULE})

    def run(*arguments):
        return run_python("-m", "dispatch_core", "explain", *arguments, "--import", "demo_operators", site=[site])

    return run


def test_the_command_shows_registrations_and_the_table(run):
    done = run("demo::f")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert text.startswith("demo::f.a(Tensor x, *, int n=1) -> Tensor\n\nregistrations\n")
    assert re.search(r"  Tracer +fallthrough +\S*demo_operators.py:7\n", text)
    assert re.search(
        r"  CPU +demo_operators.<lambda> \(for n=1\) +demo_operators.py:\d+ +\S*demo_operators.py:\d+\n", text
    )
    assert re.search(
        r"computed table\n  key +rule +registered under +kernel\n  Tracer +kernel +Tracer +fallthrough\n", text
    )
    assert "AutogradXLA" not in text
    assert "\n\ndemo::f.b(int x) -> int\n\nnothing is registered" in text
    assert "AutogradXLA" in run("demo::f.a", "--all").stdout


def test_the_command_explains_keys_and_shows_source(run):
    done = run("demo::f.a", "--keys", "Tracer,CPU", "--source")
    assert done.returncode == 0, done.stderr
    assert "with these keys\n  keys (Tracer, CPU)\n    Tracer  passed over: fallthrough registered under" in done.stdout
    where = re.search(
        r"  > CPU     runs: demo_operators\.<lambda> at (\S+) \(kernel\), registered under CPU at (\S+)", done.stdout
    )
    assert where is not None
    assert where[1] == where[2]
    assert "source\n  def __call(x, __stop=__nothing, n=__default1):" in done.stdout


def test_the_command_reports_in_json(run):
    done = run("demo::f", "--keys", "CPU", "--json", "--source")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["operators"]
    assert (first["operator"], first["tags"], second["registrations"]) == ("demo::f.a", ["pointwise"], [])
    assert [(row["key"], row["when"], row["replaced"]) for row in first["registrations"]] == [
        ("Tracer", None, False),
        ("CPU", None, False),
        ("CPU", "n=1", False),
    ]
    assert first["explanation"]["steps"][0]["outcome"] == "runs"
    assert second["explanation"]["error"]["type"] == "NoKernelError"
    assert "__redispatch" in first["source"]


def test_the_command_says_what_is_unknown(run):
    done = run("demo::nothing")
    assert done.returncode == 2
    # Where the core is installed alone, a note says that there is no cpu device.
    assert "no operator is named demo::nothing\n" in done.stderr
    assert "no dispatch key is named 'Tpy'\n" in run("demo::f", "--keys", "Tpy").stderr


def test_a_backend_that_fails_is_noted_and_left_out(install, run_python):
    site = install("broken", backends={"acme": "acme"}, modules={"acme": "1 / 0", "demo_operators": MODULE})
    done = run_python("-m", "dispatch_core", "explain", "demo::f.b", "--import", "demo_operators", site=[site])
    assert done.returncode == 0
    assert "note: not loaded, as the call does not need them: acme" in done.stderr
    arguments = "explain", "demo::f.b", "--import", "demo_operators", "--device", "acme"
    done = run_python("-m", "dispatch_core", *arguments, site=[site])
    assert done.returncode == 0
    assert "note: device acme is left out: " in done.stderr
    assert "1 / 0" not in done.stdout


def test_replaced_kernels_are_shown(registry, library, monkeypatch):
    library.define("g(int x) -> int")
    library.impl("g", lambda x: 1, "CPU")
    with pytest.warns(dc.OverwriteWarning):
        library.impl("g", lambda x: 2, "CPU")
    monkeypatch.setattr(operator_report, "entries_of", lambda name: [registry.ops.t.g.default._entry])
    [row] = operator_report.describe_operators("t::g", dc.DispatchKeySet(), whole=False, source=False)
    assert describe_operator(row, TextOutput()).count("(replaced)") == 1
