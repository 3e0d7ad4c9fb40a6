"""Arrays: who owns a type, and the properties of an array or a tensor."""

from __future__ import annotations

import gc
import re
import weakref
from importlib.util import find_spec

import numpy as np
import pytest
from core_fixtures import OWNED

import dispatch_core as dc
from dispatch_core.arrays import access, owners


def test_helpers_read_raw_arrays_and_tensors_alike(toy, tensors):
    array = toy.array(np.zeros((2, 3)).T)
    for value in (array, tensors.wrap(array)):
        assert dc.shape(value) == (3, 2)
        assert dc.strides(value) == (1, 3)
        assert dc.storage_offset(value) == 0
        assert dc.dtype(value) == "float64"
        assert dc.device(value) == dc.Device("toy")


def test_strides_are_row_major_where_the_type_has_none():
    class Plain:
        pass

    info = dc.BackendInfo("plain", "", (dc.ArrayType(Plain, shape=lambda _: (2, 0, 3), dtype=lambda _: "x"),))
    with pytest.raises(ZeroDivisionError), dc.registry.transaction():
        dc.registry.add_backend(info)
        assert dc.strides(Plain()) == (3, 3, 1)
        1 / 0  # noqa: B018  # the registration is to be undone
    assert not owners.is_tensor(Plain())


def test_the_device_has_the_arrays_index(make_backend):
    backend = make_backend("indexed", device_index=lambda array: int(array.a[0]))
    assert dc.device(backend.array([3])) == dc.Device("indexed", 3)


@pytest.mark.parametrize("helper", [dc.shape, dc.strides, dc.storage_offset, dc.dtype, dc.device])
@pytest.mark.parametrize("value", [3, None, "x", [1], object()])
def test_helpers_refuse_what_is_no_array(helper, value):
    with pytest.raises(dc.ArgumentError, match="expected a tensor or an array that a backend owns, not builtins"):
        helper(value)


def test_subclasses_belong_to_their_base_classs_backend(toy):
    class Special(toy.array):
        __slots__ = ()

    assert owners.find_type(Special) == toy.key
    assert dc.shape(Special([1, 2])) == (2,)


def test_a_device_name_belongs_to_one_backend(toy):
    with pytest.raises(dc.RegistrationError, match="device 'toy' is registered already, with key Toy"):
        dc.registry.add_backend(dc.BackendInfo("toy", "Rival"))
    assert owners.DEVICE_KEYS["toy"] is toy.key


def test_a_key_belongs_to_one_backend(toy):
    with pytest.raises(dc.RegistrationError, match="device 'rival' asks for key Toy, which device 'toy' has"):
        dc.registry.add_backend(dc.BackendInfo("rival", "Toy"))
    assert "rival" not in owners.DEVICE_KEYS


def test_a_type_belongs_to_one_backend(toy):
    with pytest.raises(
        dc.RegistrationError, match=r"device 'rival' claims the array type ToyArray.*belongs to device 'toy'"
    ):
        dc.registry.add_backend(dc.BackendInfo("rival", "", toy.info.array_types))
    assert "rival" not in owners.DEVICE_KEYS


@pytest.mark.parametrize("key", ["Tracer", "AutogradCPU", "SparseCPU", "MkldnnCPU"])
def test_a_backend_cannot_have_another_sort_of_key(key):
    with pytest.raises(dc.RegistrationError, match=f"asks for key {key}, which is not a backend's"):
        dc.registry.add_backend(dc.BackendInfo("rival", key))


def test_the_key_is_made_from_the_device_name(toy):
    assert toy.key.name == "Toy"


def test_a_rolled_back_backend_leaves_nothing(registry):
    class Gone:
        pass

    class Derived(Gone):
        pass

    info = dc.BackendInfo("gone", "", (dc.ArrayType(Gone, shape=lambda _: (), dtype=lambda _: "x"),))
    with pytest.raises(ZeroDivisionError), dc.registry.transaction():
        dc.registry.add_backend(info)
        assert owners.is_tensor(Derived())
        1 / 0  # noqa: B018  # the registration is to be undone
    assert "gone" not in owners.DEVICE_KEYS
    assert "Gone" not in owners.KEY_DEVICES
    assert not owners.is_tensor(Gone())
    assert not owners.is_tensor(Derived())
    key = dc.registry.add_backend(info)
    assert owners.find_type(Derived) == key
    owners._remove_backend(info, key)


def test_to_data_unwraps_tensors_and_leaves_arrays(toy, tensors):
    array = toy.array([1])
    assert access.to_data(array) is array
    assert access.to_data(tensors.wrap(array)) is array


# Types that installed distributions declare are theirs.

needs_cpu = pytest.mark.skipif(find_spec("dispatch_backend_cpu") is None, reason="it is about the cpu backend's types")


@needs_cpu
def test_no_backend_takes_what_an_installed_distribution_declares(install, run_python):
    """The array type and the key of cpu, and the type of a vendor's device; subclasses may be claimed."""
    site = install(
        "vendor",
        backends={"vendor": "vendor_plugin"},
        array_types={"vendor_plugin.Array": "vendor"},
        modules={"vendor_plugin": "import dispatch_core as dc\nclass Array: shape = (); dtype = 'float'\n"},
    )
    program = OWNED + (
        "print(refused(dc.registry, 'evil', '', (array_type(np.ndarray),)))\n"
        "print(refused(dc.registry, 'evil', 'CPU'))\n"
        "import vendor_plugin\n"
        "print(refused(dc.registry, 'evil', '', (array_type(vendor_plugin.Array),)))\n"
        "class Own(np.ndarray): pass\n"
        "assert refused(dc.registry, 'lawful', '', (array_type(Own),)) is None\n"
        "assert 'evil' not in dc.arrays.owners.DEVICE_KEYS\n"
        "print(dc.ops.aten.add.Tensor(np.ones(2), np.ones(2)).tolist())\n"
    )
    done = run_python("-c", program, site=[site])
    assert done.returncode == 0, done.stderr
    numpy, hint, cpu, _, vendor, _, total = done.stdout.splitlines()
    assert re.match(
        r"device 'evil' claims the array type numpy\.ndarray, which dispatch-backend-cpu \S+ declares for device 'cpu'",
        numpy,
    )
    assert hint == "Hint: claim a class of your own; a private Registry() may have any owner for it"
    assert re.match(r"device 'evil' asks for key CPU, which belongs to dispatch-backend-cpu \S+", cpu)
    assert re.match(
        r"device 'evil' claims .* vendor_plugin\.Array, which vendor 1\.0 declares for device 'vendor'", vendor
    )
    assert total == "[2.0, 2.0]"


def test_a_base_class_that_is_anothers_takes_no_declared_type(install, run_python):
    """Nor can a backend own every object."""
    vendor = """
        import dispatch_core as dc
        class Base:
            shape = (); dtype = "float"
        class Array(Base):
            pass
        @dc.hookimpl
        def dispatch_backend_info():
            return dc.BackendInfo("vendor", array_types=(dc.ArrayType(Array, shape=lambda a: (), dtype=lambda a: "f"),))
        @dc.hookimpl
        def dispatch_register(registry):
            registry.register_kernel("t::who", "Vendor", lambda x: "vendor")
        @dc.hookimpl
        def dispatch_is_available():
            return True
    """
    site = install(
        "vendor",
        backends={"vendor": "vendor_plugin"},
        array_types={"vendor_plugin.Array": "vendor"},
        modules={"vendor_plugin": vendor},
    )
    program = OWNED + (
        "import vendor_plugin\n"
        "print(refused(dc.registry, 'evil', '', (array_type(object),)))\n"
        "for plain in (bool, int, float, complex):\n"
        "    assert 'which operators take as numbers' in refused(dc.registry, 'evil', '', (array_type(plain),))\n"
        "assert refused(dc.registry, 'rival', '', (array_type(vendor_plugin.Base),)) is None\n"
        "dc.Library('t', 'DEF').define('who(Tensor x) -> str')\n"
        "dc.registry.register_kernel('t::who', 'Rival', lambda x: 'rival')\n"
        "class Derived(vendor_plugin.Array): pass\n"
        "for cls in (vendor_plugin.Base, Derived, vendor_plugin.Array): print(dc.ops.t.who(cls()))\n"
    )
    done = run_python("-c", program, site=[site])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "device 'evil' claims the array type object, which everything is an instance of",
        "Hint: claim the class of your arrays",
        "rival",
        "vendor",
        "vendor",
    ]


def test_a_rolled_back_claim_leaves_a_private_registry_as_it_was(registry, toy):
    with pytest.raises(ZeroDivisionError), registry.transaction():
        key = registry.add_backend(dc.BackendInfo("gone", array_types=toy.info.array_types))
        assert registry.translate_mask(toy.key.value) == key.value
        1 / 0  # noqa: B018  # the registration is to be undone
    assert registry.translate_mask(toy.key.value) == toy.key.value
    assert owners.TYPE_MASKS[toy.array] == toy.key.value


def fail(array):
    """Read an array whose dtype the vendor's table lacks."""
    return {}["float8"]


@pytest.fixture
def unreadable():
    """A backend whose readers raise, each in turn."""
    made = []

    def make(**readers):
        cls = type("Odd", (), {"__module__": "odd_backend", "__slots__": ("__weakref__",)})
        plain = {"shape": lambda array: (2,), "dtype": lambda array: "float64", "strides": lambda array: (1,)}
        info = dc.BackendInfo("odd", array_types=(dc.ArrayType(cls, **plain | readers),))
        made.append((info, dc.registry.add_backend(info)))
        return cls()

    yield make
    for info, key in made:
        owners._remove_backend(info, key)


READERS = {
    "shape": dc.shape,
    "strides": dc.strides,
    "dtype": dc.dtype,
    "storage_offset": dc.storage_offset,
    "storage": access.storage_of,
    "device_index": dc.device,
}


@pytest.mark.parametrize("what", READERS)
def test_a_reader_that_raises_is_named(unreadable, what):
    array = unreadable(**{what: fail})
    with pytest.raises(dc.BackendError) as caught:
        READERS[what](array)
    assert str(caught.value) == (
        f"device 'odd': ArrayType.{what} raised KeyError: 'float8', for an array of type odd_backend.Odd"
        f"\nHint: ArrayType({what}=...) must answer for every array that the backend's kernels return"
    )
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_of_ours_leaves_a_reader_as_it_is(unreadable):
    def refuse(array):
        raise dc.ArgumentError("no such dtype")

    with pytest.raises(dc.ArgumentError, match=r"^no such dtype$"):
        dc.dtype(unreadable(dtype=refuse))


def test_a_coercion_that_raises_is_named(unreadable, registry, library):
    array = unreadable(coerce=lambda value: {}["float8"])
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: 1.5, "Odd")
    with pytest.raises(dc.BackendError, match=r"ArrayType\.coerce raised KeyError: 'float8', for an array of"):
        registry.ops.t.f(array)


@pytest.mark.parametrize("index", ["x", 1.5, True, "1", b"1", [], -1, -(2**70)])
def test_what_is_no_index_is_refused(index):
    with pytest.raises(dc.ArgumentError, match="index must"):
        dc.Device("cpu", index)


@pytest.mark.parametrize("name", ["", None, b"cpu", ["cpu"]])
def test_what_is_no_name_of_a_device_is_refused(name):
    with pytest.raises(dc.ArgumentError, match="device's type is a name"):
        dc.Device(name)


def test_an_index_alone_is_the_accelerators():
    with pytest.raises(dc.BackendError, match="Cannot access accelerator device when none is available"):
        dc.Device(1)


def test_an_index_may_be_numpys():
    found = dc.Device("npu", np.int64(1))
    assert found == dc.Device("npu:1")
    assert type(found.index) is int


def test_subclasses_of_arrays_are_forgotten_with_their_last_array(toy):
    """Packets, which remember the types of arguments, keep them alive neither."""

    def met():
        class Sub(toy.array):
            pass

        array = Sub([1.0, 2.0])
        assert dc.device(array).type == "toy"
        assert owners.TYPE_MASKS[Sub] == toy.key.value
        assert Sub in owners.ARRAY_TYPES
        assert owners.find_type(Sub) == toy.key.value
        packet = library_of_one.f
        assert packet(array) == 1
        assert packet(array) == 1
        return weakref.ref(Sub)

    registry = dc.Registry()
    library = dc.Library("weak", "DEF", registry=registry)
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, "CompositeImplicitAutograd")
    library_of_one = registry.ops.weak
    before = len(owners.TYPE_MASKS), len(owners.ARRAY_TYPES)
    found = [met() for _ in range(5)]
    gc.collect()
    assert [each() for each in found] == [None] * 5
    assert (len(owners.TYPE_MASKS), len(owners.ARRAY_TYPES)) == before


class _Plain:
    pass


_PLAIN = {"shape": lambda array: (), "dtype": lambda array: "x"}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: dc.ArrayType("G", **_PLAIN),
            r"ArrayType\(type=...\) takes the class of the backend's arrays, not 'G', of",
        ),
        (
            lambda: dc.ArrayType(_Plain, **_PLAIN | {"shape": (2,)}),
            r"ArrayType\(shape=...\) of _Plain takes a function, not \(2,\), of type tuple\nHint: write shape=lambda array",
        ),
        (
            lambda: dc.ArrayType(_Plain, **_PLAIN | {"dtype": None}),
            r"ArrayType\(dtype=...\) .* not None, of type NoneType",
        ),
        (
            lambda: dc.ArrayType(_Plain, **_PLAIN, strides=3),
            r"ArrayType\(strides=...\) of _Plain takes a function, not 3",
        ),
        (
            lambda: dc.BackendInfo(3),
            r"BackendInfo\(name=...\) takes the device's name, not 3, of type int\nHint: write",
        ),
        (lambda: dc.BackendInfo(""), r"BackendInfo\(name=...\) takes the device's name, not ''"),
        (lambda: dc.BackendInfo("g", 7), r"BackendInfo\('g', dispatch_key=...\) takes the name of a key, not 7"),
        (
            lambda: dc.BackendInfo("g", array_types=(_Plain,)),
            r"BackendInfo\('g', array_types=...\) takes a tuple of ArrayTypes, not .*, the class _Plain\nHint: write array",
        ),
        (
            lambda: dc.BackendInfo("g", array_types=dc.ArrayType(_Plain, **_PLAIN)),
            r"takes a tuple of ArrayTypes, not ArrayType\(.*, of type ArrayType\nHint: write array_types=\(array_type,\)",
        ),
    ],
)
def test_a_description_names_the_field_that_does_not_fit(make, text):
    with pytest.raises(dc.ArgumentError, match=text):
        make()


def test_a_frontends_tensors_are_no_backends_arrays(tensors):
    info = dc.BackendInfo("plain", array_types=(dc.ArrayType(tensors.tensor_type, **_PLAIN),))
    with pytest.raises(dc.RegistrationError, match=f"which is a class of tensors of frontend '{tensors.name}'"):
        dc.registry.add_backend(info)
    assert "plain" not in owners.DEVICE_KEYS


def test_a_plugins_description_that_does_not_fit_is_the_cause(install, run_python):
    plugin = """
        import dispatch_core as dc
        @dc.hookimpl
        def dispatch_backend_info():
            return dc.BackendInfo("acme", array_types=(bytearray,))
        @dc.hookimpl
        def dispatch_register(registry): ...
    """
    site = install("acme-dist", backends={"acme": "acme_plugin"}, modules={"acme_plugin": plugin})
    done = run_python("-c", "import dispatch_core as dc\ndc.load_backend('acme')", site=[site])
    assert "takes a tuple of ArrayTypes, not <class 'bytearray'>, the class bytearray" in done.stderr
    assert "BackendError: The device 'acme' failed to load: " in done.stderr


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (
            (None,),
            r"ArrayType.shape gave \(None,\), and the device has no hook dispatch_compute, for .*Odd\nHint: a size may",
        ),
        ((np.int64(2),), r"ArrayType.shape gave \(.*2.*,\), which is not a tuple of Python's ints, for .*Odd\nHint: "),
        ([2], r"ArrayType.shape gave \[2\], which is not a tuple of Python's ints"),
    ],
)
def test_a_shape_of_no_use_is_named(unreadable, sizes, text):
    array = unreadable(shape=lambda array: sizes, strides=None)
    with pytest.raises(dc.BackendError, match=f"device 'odd': {text}"):
        access.check_answers(array, "float64")
    if sizes == (None,):
        with pytest.raises(dc.BackendError, match=text):
            dc.strides(array)
