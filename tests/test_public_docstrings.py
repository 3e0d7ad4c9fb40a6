"""Every public function and class of the frontend and of the core says what it does."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.resources import files

import pytest

pytestmark = pytest.mark.texts

_MODULES = {
    "dispatch_core": ". errors frontends keys planning schema signatures",
    "torchlike": (
        ". accelerator amp autograd autograd.forward_ad autograd.functional autograd.graph cuda distributions"
        " distributions.constraints distributions.transforms fft func hub jit linalg nn nn.attention nn.functional nn.init"
        " nn.parameter nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.rnn npu optim optim.lr_scheduler"
        " optim.swa_utils profiler random serialization signal.windows special utils.checkpoint utils.data"
    ),
}
_NAMES = [
    package if name == "." else f"{package}.{name}" for package, names in _MODULES.items() for name in names.split()
]
#: Names of Python's own, which torch's modules show too, and what is not a function or class of ours.
_FOREIGN = {"torchlike.jit.ScriptFunction", "torchlike.nn.init.Literal", "dispatch_core.hookimpl"}


def _list_public(name):
    module = importlib.import_module(name)
    for each in getattr(module, "__all__", [each for each in dir(module) if not each.startswith("_")]):
        found = getattr(module, each)
        is_ours = str(getattr(found, "__module__", "")).partition(".")[0] not in ("typing", "importlib")
        if is_ours and (inspect.isclass(found) or inspect.isroutine(found)) and f"{name}.{each}" not in _FOREIGN:
            yield each, found


@pytest.mark.parametrize("name", _NAMES)
def test_every_public_function_and_class_says_what_it_does(name):
    poor = []
    for each, found in _list_public(name):
        first = inspect.cleandoc(str(found.__doc__ or "")).partition("\n\n")[0]
        if len(first.split()) < 4 or not re.search(r"[.:)]$", first):
            poor.append((each, first))
    assert poor == []


@pytest.mark.parametrize("namespace", ["nn", "optim", "optim.lr_scheduler", "utils.data", "distributions"])
def test_every_argument_of_a_constructor_is_explained(namespace):
    module = importlib.import_module(f"torchlike.{namespace}")
    missing = []
    for each in module.__all__:
        cls = getattr(module, each)
        if inspect.isclass(cls) and cls.__init__ is not object.__init__:
            names = [name for name in inspect.signature(cls.__init__).parameters if name != "self" and name[0] != "_"]
            missing += [
                (each, name)
                for name in names
                if not re.search(rf"^    \*{{0,2}}{name}: \S", str(cls.__doc__), re.MULTILINE)
            ]
    assert missing == []


def test_layers_say_which_shapes_they_take_and_return():
    nn = importlib.import_module("torchlike.nn")
    for name in ("Linear", "Conv2d", "MaxPool2d", "BatchNorm2d", "LSTM", "Embedding", "CrossEntropyLoss", "LayerNorm"):
        assert "Shapes:" in getattr(nn, name).__doc__, name


def _owner(namespace):
    if namespace in ("torch", "Tensor"):
        torchlike = importlib.import_module("torchlike")
        return torchlike if namespace == "torch" else torchlike.Tensor
    return importlib.import_module(f"torchlike.{namespace}")


@pytest.mark.parametrize("namespace", ["torch", "Tensor", "nn.init", "signal.windows"])
def test_every_argument_of_a_function_with_a_page_of_torchs_is_explained(namespace):
    owner = _owner(namespace)
    missing = []
    for each in dir(owner) if namespace == "Tensor" else owner.__all__:
        function = getattr(owner, each, None)
        if inspect.isfunction(function) and "https://docs.pytorch.org" in str(function.__doc__):
            names = [name for name in inspect.signature(function).parameters if name != "self" and name[0] != "_"]
            missing += [
                (each, name)
                for name in names
                if not re.search(rf"^    \*{{0,2}}{name}: \S", str(function.__doc__), re.MULTILINE)
            ]
    assert missing == []


def test_shapes_and_phrases_are_of_classes_functions_and_arguments_that_there_are():
    tables = tomllib.loads(files("torchlike.names.texts").joinpath("arguments.toml").read_text(encoding="utf-8"))
    for namespace, table in tables.items():
        assert list(table) == sorted(table), namespace
        owner = _owner(namespace.removesuffix(".shapes"))
        members = {
            each: getattr(owner, each) for each in dir(owner) if not each.startswith("_") and hasattr(owner, each)
        }
        classes = {each: member for each, member in members.items() if inspect.isclass(member)}
        if namespace.endswith(".shapes"):
            assert {*table} <= {*classes}
            continue
        functions = {each: member for each, member in members.items() if inspect.isfunction(member)}
        callables = {**functions, **{each: cls.__init__ for each, cls in classes.items()}}
        arguments = {each: {*inspect.signature(member).parameters} for each, member in callables.items()}
        for key in table:
            name, _, argument = key.rpartition(".")
            assert argument in (arguments[name] if name else set().union(*arguments.values())), (namespace, key)


@pytest.mark.parametrize("first", ["torchlike.Tensor.lu", "torchlike.lu"])
def test_a_method_that_is_a_function_is_described_alike_whichever_is_asked_for_first(first):
    code = f"import torchlike; {first}; print(torchlike.lu.__doc__); print(torchlike.Tensor.lu.__doc__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert shown.count("\n    A: matrices") == 2
    assert shown.count("generated/torch.lu.html") == 2
