"""Modules whose public path differs from that of their file, and former paths."""

from __future__ import annotations

import inspect
import pickle
import pickletools
import re
import subprocess
import sys
from importlib import import_module
from typing import TypeVar

import pytest

import torchlike
from torchlike.names import public_paths
from torchlike.names.public_paths import PUBLIC_PATHS


@pytest.mark.parametrize("path", PUBLIC_PATHS)
def test_a_public_path_is_the_module_of_its_file(path):
    module, own = import_module(path), import_module(PUBLIC_PATHS[path])
    assert module is own
    assert module.__spec__.name == PUBLIC_PATHS[path]  # it can be loaded again under its own name


@pytest.mark.parametrize("path", PUBLIC_PATHS)
def test_classes_say_the_public_path_and_are_pickled_by_it(path):
    for value in vars(import_module(path)).values():
        if inspect.isclass(value) and str(value.__module__).startswith(path):
            assert pickle.loads(pickle.dumps(value)) is value
        if not isinstance(value, TypeVar):  # from Python 3.12 on a TypeVar says where its module's code lies
            assert getattr(value, "__module__", "") != PUBLIC_PATHS[path]


def list_public():
    """Yield each public name of torchlike and its packages, with the object."""
    packages = [torchlike]
    for package in packages:
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if inspect.ismodule(value) and value.__name__.startswith("torchlike") and value not in packages:
                packages.append(value)
            yield f"{package.__name__}.{name}", value


def test_no_public_object_says_an_inner_path():
    # Folders that users do not import from: names that ``torchlike`` hands on say ``torchlike``, as torch's say ``torch``.
    said = {
        name: module
        for name, value in list_public()
        if re.match(
            r"torchlike(_\w+|\.(creation|functions|methods|names|signatures|surface|tensors|values))(\.|$)",
            module := str(getattr(value, "__module__", "")),
        )
    }
    assert said == {}


def test_public_classes_and_functions_are_pickled_by_paths_that_lead_to_them():
    for name, value in list_public():
        if inspect.isclass(value) or inspect.isfunction(value):
            assert pickle.loads(pickle.dumps(value)) is value, name


#: Values whose classes ``torchlike`` hands on.
VALUES = {
    "finfo": lambda: torchlike.finfo(torchlike.float32),
    "iinfo": lambda: torchlike.iinfo(torchlike.int8),
    "layout": lambda: torchlike.strided,
    "memory_format": lambda: torchlike.channels_last,
    "meta": lambda: torchlike.ones(2, device="meta"),
    "Size": lambda: torchlike.Size([2]),
    "Tensor": lambda: torchlike.ones(2, requires_grad=True),
    "UntypedStorage": lambda: torchlike.ones(2).untyped_storage(),
    "TypedStorage": lambda: torchlike.ones(2).storage(),
}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_values_are_pickled_by_public_paths(make):
    written = pickle.dumps(make(), protocol=2)
    modules = {place.split(" ")[0] for op, place, _ in pickletools.genops(written) if op.name == "GLOBAL"}
    assert {name for name in modules if name.startswith("torchlike")} <= {"torchlike"}
    pickle.loads(written)


def test_what_lies_in_a_package_of_a_public_path_is_one_module_too():
    inner = import_module("torchlike.distributions.transforms.composition")
    assert inner is import_module("torchlike_distributions.transforms.composition")


def test_a_file_may_be_imported_before_its_public_path():
    code = (
        "import torchlike_distributions.continuous.half_normal as own, typing\n"
        "import torchlike.distributions.half_normal as public\n"
        "assert own is public\n"
        "assert public.HalfNormal.__module__ == 'torchlike.distributions.half_normal'"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


#: Former path → the present one; see ``public_paths``.
FORMER = public_paths._FORMER


@pytest.mark.parametrize("path", FORMER)
def test_a_former_path_is_the_module_with_a_warning(path):
    sys.modules.pop(path, None)
    with pytest.warns(DeprecationWarning, match=rf"the module {path} is {FORMER[path]} now"):
        assert import_module(path) is import_module(FORMER[path])


def test_pickles_that_name_a_former_path_are_read():
    tensor = torchlike.tensor([1.0, 2.0])
    written = pickle.dumps((torchlike.Size([2]), tensor, torchlike.tensor, torchlike.asarray), protocol=0)
    for name, former in ("Size", "size"), ("_rebuild", "interop"), ("tensor", "creation"), ("asarray", "sources"):
        assert f"ctorchlike\n{name}\n".encode() in written
        written = written.replace(f"ctorchlike\n{name}\n".encode(), f"ctorchlike.{former}\n{name}\n".encode())
        sys.modules.pop(f"torchlike.{former}" if former != "creation" else "", None)
    with pytest.warns(DeprecationWarning, match=r"the module torchlike\.\w+ is torchlike\.\w+\.\w+ now"):
        size, read, *functions = pickle.loads(written)
    assert size == torchlike.Size([2])
    assert torchlike.equal(read, tensor)
    assert functions == [torchlike.tensor, torchlike.asarray]
