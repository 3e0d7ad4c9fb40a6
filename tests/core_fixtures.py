"""Fixtures of the core's tests, and of those of its tools."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.arrays import frontend, owners
from dispatch_core.calls import lazy_function
from dispatch_core.keys.table import alternative_key
from dispatch_core.operators import runners
from dispatch_core.operators.registries import invalidate_everywhere
from dispatch_pipelines import materialize

#: Keys of alternatives: two of one device, and one of another.
FIRST, SECOND, OTHER = (
    alternative_key(*each)
    for each in (("first", dc.DispatchKey.XPU), ("second", dc.DispatchKey.XPU), ("other", dc.DispatchKey.HPU))
)

#: The beginning of programs whose registries have owners of their own for NumPy's arrays.
OWNED = """
import sys
import numpy as np
import dispatch_core as dc

def array_type(cls):
    return dc.ArrayType(cls, shape=lambda a: a.shape, dtype=lambda a: str(a.dtype))

def refused(registry, *arguments):
    try:
        registry.add_backend(dc.BackendInfo(*arguments))
    except dc.RegistrationError as error:
        return str(error)

def private():
    '''A registry of its own, with an operator on NumPy's arrays and a composite that calls it.'''
    r = dc.Registry(interpreted="--interpreted" in sys.argv)
    name = f"mine{len(made)}"
    key = r.add_backend(dc.BackendInfo(name, array_types=(array_type(np.ndarray),)))
    library = dc.Library("t", "DEF", registry=r)
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor[] x, *, Device? device=None) -> Tensor")
    library.define("who(Tensor x) -> str")
    library.define("make(*, Device? device=None) -> Tensor")
    library.impl("f", lambda x: x + len(made), key)
    library.impl("g", lambda x, device: r.ops.t.f(x[0]) * 2, "CompositeExplicitAutograd")
    library.impl("who", lambda keys, x: keys.highest().name, key, with_keyset=True)
    library.impl("make", lambda device: np.zeros(1), key)
    made.append((r, key, name))

def check(r, key, name, number):
    x = np.zeros(2)
    assert r.ops.t.f(x).tolist() == [number, number] == r.dispatch("t::f", x).tolist()
    assert r.ops.t.f.redispatch(key, x).tolist() == [number, number]
    assert r.ops.t.g([x]).tolist() == [2 * number, 2 * number]
    assert r.ops.t.g.redispatch(dc.DispatchKeySet([key]), [x]).tolist() == [2 * number, 2 * number]
    assert r.ops.t.who(x) == key.name
    assert r.ops.t.make(device=name).tolist() == [0]
    assert dc.explain(r.ops.t.f, x).winner.key == key.name
    with dc.exclude_keys("AutogradCPU"):
        assert r.ops.t.f(x).tolist() == [number, number]
    with dc.exclude_keys(key):
        try:
            r.ops.t.f(x)
        except dc.NoKernelError:
            pass
        else:
            raise AssertionError("the owner's key was excluded")

made = []
"""


@pytest.fixture
def install(tmp_path):
    """Write distributions with their metadata and modules into a folder that is made for ``sys.path``."""

    def install(name, version="1.0", *, backends=(), array_types=(), operators=(), requires=(), modules=(), to="site"):
        site = tmp_path / to
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
        text = ""
        for group, entries in (("backends", backends), ("array_types", array_types), ("operators", operators)):
            if entries:
                text += f"[dispatch_core.{group}]\n" + "".join(
                    f"{key} = {value}\n" for key, value in dict(entries).items()
                )
        (folder / "entry_points.txt").write_text(text)
        for module, source in dict(modules).items():
            (site / f"{module}.py").write_text(textwrap.dedent(source))
        return site

    return install


@pytest.fixture
def run_python(tmp_path):
    """Run an interpreter that sees the given folders first."""

    def run(*arguments, site=(), environment=(), timeout=120):
        path = [*map(str, site), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **dict(environment)},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture(params=["generated", "interpreted"])
def registry(request, monkeypatch):
    """A registry of the test's own, once with generated calls, after the first one, and once with their plain twins."""
    monkeypatch.setattr(lazy_function, "FIRST_CALLS", 1)
    return dc.Registry(interpreted=request.param == "interpreted")


@pytest.fixture
def library(registry):
    """A library of that registry, for namespace ``t``."""
    return dc.Library("t", "DEF", registry=registry)


class Array:
    """An array that only these tests know: NumPy's, in a box of another type."""

    __slots__ = ("a",)

    def __init__(self, a):
        self.a = np.asarray(a, dtype=float)

    def __eq__(self, other):
        return bool(np.array_equal(self.a, other.a if isinstance(other, Array) else other))

    __hash__ = None

    def tobytes(self):
        return self.a.tobytes()

    def __repr__(self):
        return f"{type(self).__name__}({self.a.tolist()})"


@pytest.fixture
def make_backend():
    """Register a backend with an array class of its own; it is gone after the test."""
    made = []

    def numpys(array):
        return tuple(step // array.a.itemsize for step in array.a.strides)

    def make(name, key="", *, mutable=True, device_index=None, strides=numpys, **readers):
        cls = type(f"{name.capitalize()}Array", (Array,), {"__slots__": ()})
        array_type = dc.ArrayType(
            cls,
            shape=readers.get("shape", lambda array: array.a.shape),
            dtype=readers.get("dtype", lambda array: array.a.dtype.name),
            strides=strides,
            mutable=mutable,
            coerce=lambda value: cls(value) if isinstance(value, np.generic) else value,
            device_index=device_index,
            storage=lambda array: id(array.a if array.a.base is None else array.a.base),
        )
        info = dc.BackendInfo(name, key, (array_type,))
        found = dc.registry.add_backend(info)
        made.append((info, found))
        return SimpleNamespace(name=name, key=found, array=cls, info=info)

    yield make
    for info, key in reversed(made):
        owners._remove_backend(info, key)
    invalidate_everywhere()


@pytest.fixture
def toy(make_backend):
    """A backend for device ``toy`` with writable arrays."""
    return make_backend("toy")


class MetaArray:
    """Shape, strides and dtype of an array without elements."""

    def __init__(self, shape, strides=None, dtype="float64"):
        self.shape, self.dtype = tuple(shape), dtype
        self.strides = tuple(np.empty(shape, "i1").strides) if strides is None else tuple(strides)


@pytest.fixture
def meta():
    """A backend for device ``meta``, instead of the one that is installed."""
    tables = (owners.TYPE_MASKS, owners.ARRAY_TYPES, owners.KEY_TYPES, owners.DEVICE_KEYS, owners.KEY_DEVICES)
    before = [dict(table) for table in tables]
    opened, runners._opened = runners._opened, {dc.Device("meta")}
    key = dc.DispatchKey.Meta
    owners.DEVICE_KEYS.pop("meta", None)
    owners.KEY_DEVICES.pop("Meta", None)
    array_type = dc.ArrayType(
        MetaArray,
        shape=lambda array: array.shape,
        dtype=lambda array: array.dtype,
        strides=lambda array: array.strides,
        empty=MetaArray,
    )
    info = dc.BackendInfo("meta", "Meta", (array_type,))
    dc.registry.add_backend(info)
    yield SimpleNamespace(name="meta", key=key, array=MetaArray, info=info)
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    runners._opened = opened
    invalidate_everywhere()


@pytest.fixture
def make_frontend():
    """Register a frontend with a tensor class of its own, which counts writes; it is gone after the test."""
    made = []

    class CountedWrites(frontends.Writes):
        def note_write(self, tensor):
            tensor.writes = getattr(tensor, "writes", 0) + 1

    def make(name, **protocols):
        cls = type(f"{name.capitalize()}Tensor", (), {})
        made.append(dc.register_frontend(name, cls, **{"writes": CountedWrites(), **protocols}))
        return made[-1]

    yield make
    for each in made:
        if frontend.FRONTENDS.get(each.marker) is each:
            frontend._remove(each)


@pytest.fixture
def tensors(make_frontend):
    """A frontend whose views remember their base and the call that made them."""

    class RememberedViews(frontends.Views):
        def view(self, base, data, op, args):
            tensor = boxes.wrap(data)
            tensor.base, tensor.made_by = base, (op.name, args)
            return tensor

    boxes = make_frontend("boxes", views=RememberedViews())
    return boxes


class Work:
    """Operators on two backends that only compute and describe, for pipelines to record; ``ran`` lists those that have run.

    ``t::call`` calls ``hook``, which the test sets, with its array, and returns a copy.
    """

    def __init__(self, registry, library, toy, meta, boxes):
        self.registry, self.ops, self.toy, self.boxes = registry, registry.ops.t, toy, boxes
        self.ran, self.hook, self.library = [], lambda array: None, library
        same = meta_of = lambda x, *rest: meta.array(x.shape)
        self.define("double(Tensor x) -> Tensor", lambda x: toy.array(x.a * 2), same)
        self.define("add(Tensor x, Tensor y) -> Tensor", lambda x, y: toy.array(x.a + y.a), meta_of)
        self.define("total(Tensor x) -> Tensor", lambda x: toy.array(x.a.sum()), lambda x: meta.array(()))
        self.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", self._add_into, lambda x, y: x)
        self.define(
            "both(Tensor x) -> (Tensor, Tensor)", lambda x: (toy.array(x.a.copy()), toy.array(-x.a)), self._two(meta)
        )
        self.define("call(Tensor x) -> Tensor", lambda x: self.hook(x) or toy.array(x.a.copy()), same)
        self.define("call_(Tensor(a!) x) -> Tensor(a!)", lambda x: self.hook(x) or x, same)
        self.define("draw(Tensor x) -> Tensor", lambda x: toy.array(x.a.copy()), same, tags=["nondeterministic_seeded"])
        self.define("item(Tensor x) -> float", lambda x: x.a.item())
        self.define("unruled(Tensor x) -> Tensor", lambda x: self.hook(x) or toy.array(x.a.copy()))

    def define(self, schema, kernel, rule=None, **options):
        name = self.library.define(schema, **options)

        def run(*args, **kwargs):
            self.ran.append(name.removeprefix("t::"))
            return kernel(*args, **kwargs)

        self.library.impl(name, run, self.toy.key)
        if rule is not None:
            self.library.impl(name, rule, "Meta")

    @staticmethod
    def _add_into(x, y):
        x.a += y.a
        return x

    @staticmethod
    def _two(meta):
        return lambda x: (meta.array(x.shape), meta.array(x.shape))

    def fail_with(self, error):
        """Register a kernel of ``t::call`` that raises."""

        def hook(array):
            raise error

        self.hook = hook

    def array(self, *values):
        return self.toy.array(values)

    def tensor(self, *values):
        return self.boxes.wrap(self.array(*values))

    def pipeline(self, **options):
        return dc.pipeline(registry=self.registry, **options)


def value_of(data):
    """Return the numbers of an array, a pending value or a tensor, computed if need be."""
    return materialize(data).a.tolist()


@pytest.fixture
def work(registry, library, toy, meta, tensors):
    """Operators that pipelines can record, once with generated calls and once with interpreted ones."""
    return Work(registry, library, toy, meta, tensors)


@pytest.fixture
def numbers():
    """A function that gives the numbers of an array, a pending value or a tensor."""
    return value_of


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
