"""Devices that the program registers itself: the rules of plugins hold, and closing a handle leaves nothing."""

import threading
import typing
from importlib.util import find_spec

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.arrays import owners
from dispatch_core.discovery import loader
from dispatch_core.frontends import availability, runtime


class Box:
    """An array of its own."""

    def __init__(self, values):
        self.values = np.asarray(values)


BOXES = dc.ArrayType(Box, shape=lambda box: box.values.shape, dtype=lambda box: box.values.dtype.name)
INFO = dc.BackendInfo("boxes", array_types=(BOXES,))
KERNELS = {"crate::double": lambda self: Box(2 * self.values)}


def find_remains():
    """Return everything in the process that a registration of these backends has made."""
    names = {"boxes", "mine"}
    entries = [dc.registry.get(f"crate::{name}") for name in ("double", "make")]
    return [
        *(names & {*owners.DEVICE_KEYS, *dc.backends()}),
        *names.intersection(owners.KEY_DEVICES.values()),
        *(table[Box] for table in (owners.TYPE_MASKS, owners.ARRAY_TYPES) if Box in table),
        *(kernel for entry in entries for key in dc.DispatchKey for kernel in entry.registrations(key)),
    ]


@pytest.fixture(autouse=True)
def _crate():
    """Define the program's operators; no test leaves anything of its backends."""
    with dc.Library("crate", "DEF") as library:
        library.define("double(Tensor self) -> Tensor")
        library.define("make(int size, *, Device? device=None) -> Tensor")
        assert find_remains() == []
        yield
        assert find_remains() == []


def test_a_device_runs_its_kernels_until_its_handle_is_closed():
    handle = dc.register_backend(INFO, KERNELS)
    assert dc.ops.crate.double(Box([1, 2])).values.tolist() == [2, 4]
    assert dc.device(Box(1)) == dc.Device("boxes")
    assert handle.key is dc.device_key("boxes")
    state = dc.backends()["boxes"]
    assert (state.state, state.dispatch_key, state.distribution) == ("loaded", "Boxes", "")
    assert str(state) == f"loaded, the program ({__file__}:{handle.origin.line})"
    assert dc.load_backend("boxes") is INFO
    handle.close()
    handle.close()
    assert repr(handle) == f"<BackendHandle 'boxes', closed, registered at {handle.origin.short}>"
    with pytest.raises(dc.ArgumentError, match="must be Tensor, not Box"):
        dc.ops.crate.double(Box(1))
    with pytest.raises(dc.BackendNotFoundError, match="provides the device 'boxes'"):
        dc.device_key("boxes")
    with dc.register_backend(INFO, KERNELS) as again:
        assert again.key is handle.key


def test_a_handle_where_a_key_is_expected_is_told_from_its_key():
    with dc.register_backend(INFO, KERNELS) as handle, dc.Library("crate", "IMPL") as library:
        op = dc.ops.crate.double.default
        asked = {
            "impl": lambda key: library.impl("make", KERNELS["crate::double"], key),
            "call_direct": lambda key: dc.call_direct("crate::double", key, Box(1)),
            "has_kernel": lambda key: dc.registry.has_kernel("crate::double", key),
            "redispatch": lambda key: op.redispatch(key, Box(1)),
            "redispatch with keys": lambda key: op.redispatch([key], Box(1)),
            "a keyset": dc.DispatchKeySet,
            "a keyset of keys": lambda key: dc.DispatchKeySet([key]),
            "a key by its name": lambda key: dc.DispatchKey[key if isinstance(key, dc.BackendHandle) else key.name],
            "a key by its value": dc.DispatchKey,
        }
        for name, ask in asked.items():
            with pytest.raises(dc.DispatchError) as caught:
                ask(handle)
            assert caught.value.hint == "did you mean its key, BackendHandle.key? It is Boxes", name
            ask(handle.key)


def test_a_plugins_function_registers_the_kernels_as_well():
    def register(registry):
        registry.register_kernel("crate::double", dc.device_key("boxes"), KERNELS["crate::double"])
        registry.register_kernel("crate::make", "CompositeExplicitAutograd", lambda size, *, device: Box([0] * size))

    with dc.register_backend(INFO, register):
        assert dc.ops.crate.double(dc.ops.crate.make(2, device="boxes")).values.tolist() == [0, 0]


def test_the_programs_own_kernels_win_whichever_come_first():
    def negate(self):
        return Box(-self.values)

    with dc.Library("crate", "IMPL") as library:
        library.impl("double", negate, "Boxes", allow_override=True)
        with dc.register_backend(INFO, KERNELS):
            assert dc.ops.crate.double(Box(1)).values == -1
    with dc.register_backend(INFO, KERNELS), dc.Library("crate", "IMPL") as library:
        library.impl("double", negate, "Boxes", allow_override=True)
        assert dc.ops.crate.double(Box(1)).values == -1


def test_hooks_are_keywords_and_called_as_a_plugins():
    opened = []
    kernels = {"crate::make": lambda size, *, device: Box([device.index] * size)}
    hooks = {"is_available": lambda: dc.Availability(not opened, "it broke"), "open_device": opened.append}
    with dc.register_backend(INFO, kernels, device_count=lambda: 2, runtime=lambda: "streams", **hooks):
        assert availability("boxes")
        assert runtime("boxes") == "streams"
        for _ in range(2):
            assert dc.ops.crate.make(2, device="boxes:1").values.tolist() == [1, 1]
        assert opened == [1]
        with pytest.raises(dc.BackendUnavailableError) as caught:
            dc.ops.crate.make(2, device="boxes")
        text = f"The device 'boxes' of the program ({__file__}:"
        assert str(caught.value).startswith(text)
        assert str(caught.value).endswith("this machine: it broke\nHint: its kernels are registered all the same")
    with dc.register_backend(INFO, kernels, device_count=lambda: 1):
        with pytest.raises(
            dc.BackendUnavailableError, match=r"no device 'boxes:1': of the devices of the program \(.*one"
        ):
            dc.ops.crate.make(2, device="boxes:1")
        with pytest.raises(dc.BackendError, match="has no interface of its own"):
            runtime("boxes")


ODD = dc.ArrayType(object, shape=lambda array: (), dtype=lambda array: "int64")
MINE = dc.BackendInfo("mine", array_types=(BOXES,))
REFUSED = [
    (("boxes", {}), {}, dc.ArgumentError, "takes a BackendInfo first, not str"),
    ((MINE, [("crate::double", print)]), {}, dc.ArgumentError, "kernels as a mapping of operators' names, not list"),
    ((MINE, {"crate::double": 3}), {}, dc.ArgumentError, "the kernel for crate::double is not callable: int"),
    ((MINE, {1: print}), {}, dc.ArgumentError, "by the operator's name, not 1 of type int"),
    ((MINE, {"no name": print}), {}, dc.SchemaError, "no name"),
    (
        (MINE, {}),
        {"opens": print},
        dc.ArgumentError,
        r"unexpected keyword argument 'opens'\nHint: the hooks are is_availab",
    ),
    (
        (MINE, {}),
        {"device_count": 2},
        dc.ArgumentError,
        r"device_count is 2, of type int\nHint: write device_count=lambda",
    ),
    ((dc.BackendInfo("my-own"), {}), {}, dc.RegistrationError, "'my-own' has characters that no device may have"),
    (
        (dc.BackendInfo("npu"), {}),
        {},
        dc.RegistrationError,
        r"'npu', registered at .*, belongs to dispatch-backend-npu",
    ),
    pytest.param(
        (dc.BackendInfo("mine", "CPU"), {}),
        {},
        dc.RegistrationError,
        "asks for key CPU, which belongs to dispatch-backend-cpu",
        marks=pytest.mark.skipif(find_spec("dispatch_backend_cpu") is None, reason="no cpu backend owns the key here"),
    ),
    (
        (dc.BackendInfo("mine", "Autograd"), {}),
        {},
        dc.RegistrationError,
        "asks for key Autograd, which is not a backend's",
    ),
    ((dc.BackendInfo("mine", array_types=(ODD,)), {}), {}, dc.RegistrationError, "claims the array type object"),
]


@pytest.mark.parametrize(("arguments", "hooks", "error", "text"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_a_refused_backend_leaves_nothing(arguments, hooks, error, text):
    with pytest.raises(error, match=text):
        dc.register_backend(*arguments, **hooks)


def test_a_name_a_key_and_an_array_type_that_are_taken_name_both():
    with dc.register_backend(INFO, KERNELS) as first:
        with pytest.raises(dc.RegistrationError) as caught:
            dc.register_backend(INFO, {})
        assert f"the device 'boxes' is that of the program ({__file__}:{first.origin.line})" in str(caught.value)
        assert "registered again at" in str(caught.value)
        with pytest.raises(
            dc.RegistrationError, match="'mine' claims the array type Box, which belongs to device 'boxes'"
        ):
            dc.register_backend(MINE, {})
        with pytest.raises(dc.RegistrationError, match="'mine' asks for key Boxes, which device 'boxes' has"):
            dc.register_backend(dc.BackendInfo("mine", "Boxes"), {})


def test_an_installed_distributions_device_is_refused_before_it_is_loaded(install, run_python):
    site = install("acme-dist", backends={"acme": "acme_plugin"}, modules={"acme_plugin": "raise RuntimeError"})
    program = "import dispatch_core as dc\ndc.register_backend(dc.BackendInfo('acme'), {})"
    done = run_python("-c", program, site=[site])
    assert "the device 'acme' is that of acme-dist 1.0, and is registered again at <string>:2" in done.stderr


def test_an_array_type_that_is_declared_and_not_registered_is_named_with_those_that_are(install, run_python):
    plugin = """
        import dispatch_core as dc
        class Declared: ...
        class Registered: ...
        @dc.hookimpl
        def dispatch_backend_info():
            array = dc.ArrayType(Registered, shape=lambda array: (), dtype=lambda array: "int64")
            return dc.BackendInfo("acme", array_types=(array,))
        @dc.hookimpl
        def dispatch_register(registry): ...
    """
    types = {"acme_plugin.Declared": "acme"}
    site = install("acme-dist", backends={"acme": "acme_plugin"}, array_types=types, modules={"acme_plugin": plugin})
    done = run_python("-c", "import acme_plugin, dispatch_core as dc\ndc.shape(acme_plugin.Declared())", site=[site])
    text = (
        "backend 'acme' is declared as the owner of acme_plugin.Declared, and registers acme_plugin.Registered\nHint: "
    )
    assert text in done.stderr


def test_a_failure_half_way_takes_back_what_went_before():
    def register(registry):
        library = dc.Library("halfway", "DEF", registry=registry)
        library.define("one(Tensor self) -> Tensor")
        registry.register_kernel("crate::double", dc.device_key("mine"), print)
        raise OSError("no driver")

    with pytest.raises(OSError, match="no driver"):
        dc.register_backend(MINE, register)
    assert "halfway" not in dc.registry.definitions
    with pytest.raises(OSError, match="later"), dc.registry.transaction():
        dc.register_backend(MINE, KERNELS)
        raise OSError("later")


def test_of_threads_that_register_one_device_one_succeeds():
    start, done = threading.Barrier(8), []

    def register():
        start.wait()
        try:
            done.append(dc.register_backend(INFO, KERNELS))
        except dc.RegistrationError as error:
            done.append(error)

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (handle,) = [found for found in done if isinstance(found, dc.BackendHandle)]
    assert len(done) == 8
    assert dc.ops.crate.double(Box(2)).values == 4
    handle.close()
    assert not loader()._handles


class Unaskable(typing.Protocol):
    """A protocol that ``isinstance`` refuses."""


class FrontendTensor:
    __slots__ = ("_dispatch_data", "_dispatch_mask")


NO_ARRAYS = [list, tuple, dict, set, frozenset, type(None), Unaskable]


@pytest.mark.parametrize("kind", [*NO_ARRAYS, FrontendTensor, type("Derived", (FrontendTensor,), {}), int])
def test_classes_that_are_no_arrays_are_refused_with_a_reason(kind):
    with dc.Library("refused_types", "DEF") as library:
        library.define("f(Tensor a) -> Tensor")
        with pytest.raises(
            dc.RegistrationError, match=rf"types=\.\.\. of refused_types::f has .*\b{kind.__qualname__}\b"
        ):
            library.impl("f", lambda a: a, types=(kind,))
        with pytest.raises(dc.RegistrationError, match="takes a tuple of classes, not "):
            library.impl("f", lambda a: a, types=())
        # Without a backend for it NumPy's array is not a tensor.
        with pytest.raises((dc.NoKernelError, dc.ArgumentError)):
            dc.ops.refused_types.f(np.zeros(1))
    if kind in NO_ARRAYS:
        with pytest.raises(dc.ArgumentError, match=rf"ArrayType\({kind.__qualname__}\): "):
            dc.ArrayType(kind, subclasses=True)


def test_sets_of_classes_with_one_name_are_told_apart():
    kinds = [type("Same", (), {"__module__": name}) for name in ("one", "other")]
    with dc.Library("same_names", "DEF") as library:
        library.define("f(Tensor a) -> Tensor")
        library.impl("f", lambda a: a, types=tuple(kinds))
        (found,) = dc.registry.find_entry("same_names::f").for_types()
        assert found[0].key.label == "types=(one.Same, other.Same)"
