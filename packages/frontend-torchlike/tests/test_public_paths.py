"""Modules whose public path differs from that of their file, and former paths."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import torchlike
from torchlike.names.public_paths import PUBLIC_PATHS


@pytest.mark.parametrize("path", PUBLIC_PATHS)
def test_a_public_path_is_the_module_of_its_file(path):
    module, own = import_module(path), import_module(PUBLIC_PATHS[path])
    assert module is own
    assert module.__spec__.name == PUBLIC_PATHS[path]  # it can be loaded again under its own name


@pytest.mark.parametrize("path", [path for path in PUBLIC_PATHS if path.startswith(("torchlike.dist", "torchlike.nn"))])
def test_classes_say_the_public_path_and_are_pickled_by_it(path):
    own = PUBLIC_PATHS[path]
    for value in vars(import_module(path)).values():
        if inspect.isclass(value) and value.__module__.startswith(path):
            assert pickle.loads(pickle.dumps(value)) is value
        assert getattr(value, "__module__", "") != own


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


def test_pickles_that_name_a_former_path_are_read():
    tensor = torchlike.tensor([1.0, 2.0])
    written = pickle.dumps((torchlike.Size([2]), tensor), protocol=0)
    assert b"torchlike.values.size\n" in written
    before = written.replace(b"torchlike.values.size\n", b"torchlike.size\n")
    before = before.replace(b"torchlike.tensors.arrays\n", b"torchlike.interop\n")
    for name in ("torchlike.size", "torchlike.interop"):
        sys.modules.pop(name, None)
    with pytest.warns(DeprecationWarning, match=r"the module torchlike\.\w+ is torchlike\.\w+\.\w+ now"):
        size, read = pickle.loads(before)
    assert size == torchlike.Size([2])
    assert torchlike.equal(read, tensor)
