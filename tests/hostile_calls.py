"""Call every public function with hostile arguments, and list the errors that are not documented.

``python tests/hostile_calls.py --seed 7 --seconds 60`` runs for a minute; ``--only NAME`` keeps the targets whose name
contains it. Each finding is one line of JSON; the exit status is 1 where there are any. The process limits its own memory,
and a call that takes longer than two seconds of processor time is a finding too. With ``--verbose`` every call is written to
stderr before it is made, which names the one that ends the interpreter.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import inspect
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN, PRIMS
from torchlike import nn, optim

#: Errors that may leave a public call, subclasses included; docs/errors.md says when each does.
DOCUMENTED = (
    dc.DispatchError,
    TypeError,
    ValueError,
    IndexError,
    RuntimeError,
    NotImplementedError,
    MemoryError,
    OSError,
    BufferError,
)
#: Subclasses of these that may not: a stack that is used up, and a kernel of ours that broke its schema's promise.
UNDOCUMENTED = (RecursionError, UnboundLocalError, dc.KernelResultError)
#: Errors of some functions besides, by the end of their name or by the call: torch's own errors, as a rule.
ALSO: dict[str, tuple[type[BaseException], ...]] = {
    "add_module": (KeyError,),
    "register_module": (KeyError,),
    "register_parameter": (KeyError,),
    "register_buffer": (KeyError,),
    "pop": (KeyError,),
    "popitem": (KeyError,),
    "embedding": (AssertionError,),
    "embedding_bag": (AssertionError,),
    "Embedding": (AssertionError,),
    "EmbeddingBag": (AssertionError,),
    # A lazy layer whose parameters have been made is one of another class.
    "initialize_parameters": (AttributeError,),
    **dict.fromkeys(
        (
            "step MultiheadAttention Transformer TransformerDecoderLayer TransformerEncoderLayer Embedding EmbeddingBag"
            " Hardtanh ReLU6"
        ).split(),
        (AssertionError,),
    ),
    "get_submodule": (AttributeError,),
    "set_submodule": (AttributeError,),
    "get_parameter": (AttributeError,),
    "get_buffer": (AttributeError,),
    "reset_parameters": (AttributeError,),  # of a lazy layer, called for what the layer has become
    "repr": (RecursionError,),  # of a layer that was given a list of lists without end, by that list itself
    "dispatch_core.hookimpl": (AttributeError,),  # pluggy's own marker
}
#: Libraries beneath, whose own classes of errors may not leave a call either.
BENEATH = ("numpy", "scipy", "ml_dtypes", "opt_einsum")
MEMORY = 3 << 30
SECONDS = 2.0


class TimeLimit(BaseException):
    """A call took too long."""


class Raises:
    """An object whose every conversion raises."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def _raise(self, *args: Any, **kwargs: Any) -> Any:
        raise self._error("hostile")

    def _own(self, *args: Any, **kwargs: Any) -> Any:
        raise self._error("hostile")

    __index__ = __int__ = __float__ = __complex__ = __array__ = _raise
    # The errors of these are the caller's own, and may leave the call.
    __len__ = __iter__ = __getitem__ = __eq__ = __bool__ = __call__ = _own
    __str__ = __repr__ = __format__ = __fspath__ = __dlpack__ = _own
    __hash__ = object.__hash__


class Lies:
    """An object that says it has a length, and has no elements, or too many."""

    def __init__(self, length: Any) -> None:
        self._length = length

    def __len__(self) -> Any:
        return self._length

    def __getitem__(self, index: int) -> int:
        raise IndexError(index)


class Converts:
    """An object whose conversions return wrong types."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def _give(self, *args: Any, **kwargs: Any) -> Any:
        return self._value

    __index__ = __int__ = __float__ = __complex__ = __array__ = _give


class Text(str):
    """A string of a class of its own."""

    __slots__ = ()


class Number(int):
    """A number of a class of its own."""


def deep(levels: int, kind: type = list) -> Any:
    found: Any = 1.0
    for _ in range(levels):
        found = kind([found])
    return found


DEEP = [deep(50), deep(20_000), deep(3000, tuple)]


def cyclic() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


def cyclic_dict() -> Any:
    found: dict[Any, Any] = {}
    found["a"] = found
    return found


#: Makers of arguments that some functions take.
PLAIN: list[Callable[[random.Random], Any]] = [
    lambda r: torchlike.ones(r.choice([(), (0,), (1,), (3,), (2, 3), (3, 3), (2, 3, 4), (0, 3)])),
    lambda r: torchlike.arange(6.0).reshape(2, 3),
    lambda r: torchlike.arange(r.choice([1, 3, 6])),
    lambda r: torchlike.ones(r.choice([(3,), (2, 3)]), dtype=r.choice([torchlike.float64, torchlike.float16])),
    lambda r: torchlike.ones(2, 3, dtype=r.choice([torchlike.int32, torchlike.uint8, torchlike.bool, torchlike.int8])),
    lambda r: torchlike.ones(2, 3, dtype=torchlike.complex64),
    lambda r: torchlike.ones(2, 3, requires_grad=True),
    lambda r: torchlike.ones(2, 3, requires_grad=True) * 2,
    lambda r: torchlike.ones(2, 3, device="meta"),
    lambda r: torchlike.ones(1).expand(4),
    lambda r: torchlike.ones(3, 2).t(),
    lambda r: [torchlike.ones(2, 3)] * r.choice([0, 1, 2]),
    lambda r: np.ones((2, 3), r.choice(["f4", "f8", "i8", "?"])),
    lambda r: r.choice([0, 1, 2, 3, -1, -2]),
    lambda r: r.choice([0.5, -1.5, 2.0, 0.0]),
    lambda r: r.choice([True, False]),
    lambda r: None,
    lambda r: r.choice([(), (1,), (2, 3), [3, 2], (0,), [-1]]),
    lambda r: r.choice([torchlike.float32, torchlike.int64, torchlike.bool, float, int]),
    lambda r: r.choice(["cpu", "mean", "sum", "none", "fro", "tanh"]),
    lambda r: torchlike.Generator(),
    lambda r: nn.Linear(3, 2),
]

_BIG = [2**31, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, -(10**30), 10**400, 2**16]
_ERRORS = [ValueError, TypeError, ZeroDivisionError, KeyError, AttributeError, OverflowError, RecursionError]
#: Makers of arguments that no function takes, or hardly any.
HOSTILE: list[Callable[[random.Random], Any]] = [
    lambda r: r.choice(_BIG),
    lambda r: r.choice(_BIG),
    lambda r: (r.choice(_BIG), r.choice([1, *_BIG])),
    lambda r: [r.choice(_BIG)] * r.choice([1, 2, 65, 100]),
    lambda r: float(r.choice(["nan", "inf", "-inf", "1e308", "5e-324", "-0.0"])),
    lambda r: r.choice([1j, complex("nan"), complex(1e308, -1e308)]),
    lambda r: r.choice(
        ["", "x", "nonsense", "cpu:", "cpu:-1", "npu:99", "\0", "é" * 50, "a.b", "float32", "\ud800", "%s{}"]
    ),
    lambda r: r.choice([b"", b"abc", bytearray(3), memoryview(b"abc")]),
    lambda r: r.choice(DEEP),
    lambda r: cyclic(),
    lambda r: cyclic_dict(),
    lambda r: r.choice(
        [[], {}, set(), [[]], [[], [1]], [None], ["x"], [[1], [1, 2]], ((),), [1, "x"], {1: 2}, {"a": None}]
    ),
    lambda r: r.choice(
        [[1j], [1.5], [True], [np.int8(3)], [torchlike.ones(1)], [object()], range(3), iter([1]), deque()]
    ),
    lambda r: Raises(r.choice(_ERRORS)),
    lambda r: [Raises(r.choice(_ERRORS))],
    lambda r: Lies(r.choice([0, 3, 2**62, -1, 1.5, None])),
    lambda r: Converts(r.choice([2**70, -1, 1.5, None, "x", float("nan")])),
    lambda r: r.choice([Text("cpu"), Number(1), Fraction(1, 3), Fraction(1, 10**400)]),
    lambda r: r.choice([object(), object, int, float, type, len, lambda *a, **k: None, sys, Ellipsis, NotImplemented]),
    lambda r: slice(r.choice([None, 2**70, "x", 0.5]), r.choice([None, -(2**70)]), r.choice([None, 0, -1, 2**70])),
    lambda r: r.choice(
        [np.float64(1.5), np.int64(2), np.bool_(True), np.datetime64("2020-01-01"), np.str_("x"), np.nan]
    ),
    lambda r: np.array(["a", None, 3], dtype=object),
    lambda r: np.array(r.choice([["a"], [b"x"]])),
    lambda r: np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]),
    lambda r: np.zeros(r.choice([(0,), (), (1,) * 32]), dtype=r.choice(["f4", ">f4", "g", "M8[s]", "V3", "u8"])),
    lambda r: r.choice(
        [dc.DispatchKey.CPU, dc.DispatchKeySet("CPU"), dc.Device("cpu"), dc.Device("meta"), dc.ops.aten.add]
    ),
    # As many squared fit into memory and time: corrcoef and cdist compare all rows with all.
    lambda r: torchlike.ones(1).expand(2**12, *r.choice([(), (1,)])),
    lambda r: torchlike.ones(0, r.choice([2**31, 2**60])),
    lambda r: torchlike.ones(*[1] * r.choice([20, 33, 60])),
    lambda r: torchlike.tensor([float("nan"), float("inf")]),
    lambda r: torchlike.full((2,), 2**62),
    lambda r: torchlike.empty(2**31, 2**10, device="meta"),
    lambda r: contextlib.nullcontext(),
    lambda r: inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY),
    lambda r: (i for i in range(3)),
    lambda r: dict.fromkeys(range(3), torchlike.ones(2)),
    lambda r: collections.OrderedDict(weight=torchlike.ones(2, 3), bias=None),
]
deque = collections.deque


def _constructor(kind: type, r: random.Random) -> list[Any]:
    """Return arguments that a layer or an optimizer can be made of."""
    if issubclass(kind, optim.Optimizer):
        weights = [nn.Parameter(torchlike.ones(2, 3)), nn.Parameter(torchlike.ones(3))]
        for weight in weights:
            weight.grad = torchlike.ones(weight.shape)
        return [weights if r.random() < 0.5 else [{"params": weights}]]
    if kind is nn.Linear:
        return [3, 2]
    if kind in (nn.Sequential, nn.ModuleList):
        return [nn.Linear(3, 2), nn.ReLU()] if kind is nn.Sequential else [[nn.Linear(3, 2)]]
    return []


class Target:
    """One public function and how to call it."""

    def __init__(
        self, name: str, function: Callable[..., Any], first: str = "", schemas: tuple[dc.FunctionSchema, ...] = ()
    ) -> None:
        self.name, self.function, self.first, self.schemas = name, function, first, schemas
        self.names = _parameter_names(function)

    def arguments(self, r: random.Random) -> tuple[list[Any], dict[str, Any]]:
        """Return arguments of which some are hostile: one among fitting ones as a rule, sometimes all."""
        if self.schemas and r.random() < 0.8:
            return _nearly_fitting(r.choice(self.schemas), r, self.first == "method")
        share = r.choice([0.0, 0.3, 0.3, 1.0])
        count = r.choice([0, 1, 1, 2, 2, 3, 3, 4, 5])
        args = [_value(r, share) for _ in range(count)]
        if self.first == "made":
            args = [*_constructor(self.function, r), *args[:1]]
        if self.first == "method" or (share < 1 and self.first == "tensor"):
            args = [r.choice(PLAIN[:11])(r), *args]  # Python's methods are called on their own objects
        if len(args) > (self.first == "method") and share == 0:
            args[r.randrange(self.first == "method", len(args))] = r.choice(HOSTILE)(r)
        kwargs = {}
        for name in self.names:
            if r.random() < 0.25:
                kwargs[name] = _value(r, max(share, 0.3))
        if r.random() < 0.03:
            kwargs[r.choice(["", "no_such", "self", "é", "__m", "None"])] = _value(r, share)
        return args, kwargs


#: Makers of a value that fits a type of a schema.
FITTING: dict[str, Callable[[random.Random], Any]] = {
    "Tensor": lambda r: r.choice(PLAIN[:11])(r),
    "Tensor[]": lambda r: [torchlike.ones(2, 3)] * r.choice([1, 2, 3]),
    "int": lambda r: r.choice([0, 1, -1, 2]),
    "int[]": lambda r: r.choice([(), (0,), (1,), (2, 3), (0, 1), (6,), (3, 2), (-1,)]),
    "Scalar": lambda r: r.choice([1, 2.5, -1, True, 0, 1j]),
    "float": lambda r: r.choice([0.5, 1.0, 0.0, -1.0]),
    "bool": lambda r: r.choice([True, False]),
    "str": lambda r: r.choice(["none", "tanh", "left"]),
    "ScalarType": lambda r: r.choice([torchlike.float32, torchlike.int64, torchlike.float64]),
    "Device": lambda r: r.choice(["cpu", "meta"]),
    "Generator": lambda r: torchlike.Generator(),
    "MemoryFormat": lambda r: 0,
    "Layout": lambda r: None,
}


def _nearly_fitting(schema: dc.FunctionSchema, r: random.Random, is_method: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments that fit a schema but for one or two of them."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    wrong = {
        r.randrange(is_method, max(len(schema.arguments), is_method + 1)) for _ in range(r.choice([0, 1, 1, 1, 2]))
    }
    for index, argument in enumerate(schema.arguments):
        if argument.has_default and index not in wrong and r.random() < 0.6:
            if not argument.kwarg_only and index < len(schema.positional) - 1:
                args.append(argument.value)
            continue
        kind = re.sub(r"\(.*?\)|\d|\?$", "", str(argument.type)).replace("SymInt", "int")
        make = FITTING.get(kind, FITTING["Tensor[]" if kind.startswith("Tensor") else "int"])
        value = r.choice(HOSTILE)(r) if index in wrong else make(r)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def _value(r: random.Random, share: float) -> Any:
    return r.choice(HOSTILE if r.random() < share else PLAIN)(r)


def _parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of keyword arguments: those of the signature, else those of most functions."""
    try:
        found = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"
        ]
    except (TypeError, ValueError):
        found = []
    return found or ["dim", "dtype", "out", "generator", "keepdim", "device", "requires_grad"]


#: Functions that are no calls of the library, or whose purpose is to end or change the process.
LEFT_OUT = {
    "dispatch_core.BackendHandle",  # register_backend makes it
    "torchlike.pipeline",  # a pipeline that is opened and left open is the user's to close
    "dispatch_core.pipeline",
    "dispatch_core.register_frontend",  # a registered frontend stays for good
    "dispatch_core.declare_dtypes",  # the operator library's, once
    "dispatch_core.load_operators",
    "dispatch_core.OpOverload",  # this class and the next ones are made by a registry
    "dispatch_core.OpOverloadPacket",
    "dispatch_core.OperatorEntry",
    "dispatch_core.KernelHandle",
    "dispatch_core.refresh",  # scans the installation again, for every later call
    "Tensor.__array_ufunc__",  # NumPy calls it, with ufuncs of its own
    "Tensor.__getattribute__",
    "Tensor.__setattr__",
    "Tensor.__delattr__",
    "Tensor.__class__",
    "Tensor.__init_subclass__",
    "Tensor.__subclasshook__",
    "Tensor.__new__",
}


def targets() -> Iterator[Target]:
    """Yield every public function: torchlike's, its submodules', tensors' methods, layers, optimizers, the core's."""
    schemas: dict[str, tuple[dc.FunctionSchema, ...]] = {}
    for row in ATEN:
        name = row.name.partition(".")[0]
        schemas[name] = (*schemas.get(name, ()), dc.FunctionSchema.parse(row.schema))
    for module in (torchlike, nn.functional, nn.init, torchlike.autograd, torchlike.npu):
        names = [name for name in (dir(module) if module is torchlike else module.__all__) if not name.startswith("_")]
        for name in names:
            function = getattr(module, name)
            public = callable(function) and str(getattr(function, "__module__", "")).startswith(
                ("torchlike", "dispatch_")
            )
            if (public and not isinstance(function, type)) or name in ("Size", "Generator", "finfo", "iinfo"):
                yield Target(f"{module.__name__}.{name}", function, "", schemas.get(name, ()))
    for name in dir(torchlike.Tensor):
        method = getattr(torchlike.Tensor, name)
        if callable(method) and (not name.startswith("_") or name.startswith("__")):
            yield Target(f"Tensor.{name}", method, "method", schemas.get(name, ()))
    yield Target("torchlike.Tensor", torchlike.Tensor)
    for module in (nn, optim):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type):
                yield Target(f"{module.__name__}.{name}", kind)
                yield Target(f"{module.__name__}.{name}", kind, "made")
    for name in dc.__all__:
        function = getattr(dc, name)
        if callable(function) and not (isinstance(function, type) and issubclass(function, BaseException)):
            yield Target(f"dispatch_core.{name}", function)
    for namespace, table in (("aten", ATEN), ("prims", PRIMS)):
        for row in table:
            base, _, overload = row.name.partition(".")
            if not base.startswith("__"):
                packet = getattr(getattr(dc.ops, namespace), base)
                op = getattr(packet, overload or "default")
                yield Target(f"{namespace}::{row.name}", op, "tensor" if "(Tensor" in row.schema else "", (op.schema,))


#: Methods that are called on the results of constructors and functions: those of layers, optimizers and the core's.
METHODS = (nn.Module, optim.Optimizer, dc.Library, dc.DispatchKeySet, dc.Device, torchlike.Generator, dc.OpOverload)


def use(result: Any, r: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the uses of a result: look at it, enter it, call it, call one of its methods."""
    if isinstance(result, torchlike.Tensor):
        # A parameter of a lazy layer has no elements to count yet.
        if nn.parameter.is_lazy(result) or (hasattr(result, "_dispatch_data") and result.numel() < 10_000):
            yield "repr", lambda: repr(result)
        return
    if isinstance(result, (nn.Module, optim.Optimizer)):
        yield "repr", lambda: repr(result)
    if isinstance(result, nn.Module):
        yield "call", lambda: result(torchlike.ones(2, 3), *[_value(r, 0.3)] * r.choice([0, 0, 1]))
        yield "call", lambda: result(*[_value(r, 0.3) for _ in range(r.choice([0, 1, 1, 1, 2]))])
    if isinstance(result, optim.Optimizer):
        yield "step", result.step
    if isinstance(result, METHODS):
        # An optimizer's ``update`` is called by ``step`` alone, with the groups that ``add_param_group`` has checked.
        names = [
            name
            for name in dir(type(result))
            if not name.startswith("_") and name != "update" and callable(getattr(result, name, None))
        ]
        for name in r.sample(names, min(3, len(names))):
            method = Target(f"{type(result).__name__}.{name}", getattr(result, name))
            args, kwargs = method.arguments(r)
            yield method.name, lambda method=method, args=args, kwargs=kwargs: method.function(*args, **kwargs)
    if hasattr(type(result), "__enter__") and not isinstance(result, type):
        yield "with", lambda: _enter(result)


def _enter(result: Any) -> None:
    with result:
        pass


def _fail(text: str) -> None:
    raise AssertionError(text)


def _alarm(*_: Any) -> None:
    raise TimeLimit


def show(value: Any, depth: int = 0) -> str:
    """Describe an argument in a line, whatever it is."""
    if isinstance(value, torchlike.Tensor):
        try:
            return f"<{value.dtype}{list(value.shape)} {value.device}{' grad' if value.requires_grad else ''}>"
        except Exception:  # noqa: BLE001  # such as of a class's own, made by its constructor alone
            return "<Tensor without data>"
    if isinstance(value, (list, tuple)) and depth < 2:
        inner = ", ".join(show(item, depth + 1) for item in value[:3])
        return f"{type(value).__name__}[{inner}{', …' if len(value) > 3 else ''}]"
    if isinstance(value, int) and abs(value) > 10**40:
        return "<huge int>"
    if isinstance(value, (Raises, Lies, Converts)):
        return f"{type(value).__name__}({next(iter(vars(value).values()))!r})"
    if isinstance(value, (int, float, complex, str, bytes, type(None), type, np.generic, slice)):
        return repr(value)[:60]
    return f"<{type(value).__name__}>"


class Run:
    """One run: calls until the time is up, and the findings."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.calls = 0
        self.raised: collections.Counter[str] = collections.Counter()
        self.findings: list[dict[str, Any]] = []

    def attempt(self, name: str, what: str, call: Callable[[], Any], told: Callable[[], str]) -> Any:
        """Make one call; note an error that is not documented."""
        self.calls += 1
        also = ALSO.get(name, ()) + ALSO.get(name.rpartition(".")[2], ()) + ALSO.get(what, ())
        allowed = DOCUMENTED + also
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            result = call()
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            return result
        except BaseException as error:  # the error is the question
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if isinstance(error, KeyboardInterrupt):
                raise
            self.raised[type(error).__name__] += 1
            # Comparing the caller's own arrays raises a TypeError of NumPy's, and memory runs out in NumPy.
            beneath = type(error).__module__.partition(".")[0] in BENEATH
            beneath = beneath and not isinstance(error, (TypeError, MemoryError))
            of_ours = not isinstance(error, UNDOCUMENTED) and not beneath
            if isinstance(error, allowed) and (of_ours or type(error) in also):
                return None
            frames = traceback.extract_tb(error.__traceback__)
            if frames[-1].name == "_own":
                return None
            where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[1:]]
            if len(where) > 8:
                where = [*where[:3], "…", *where[-5:]]
            try:
                text = str(error)[:200]
            except Exception as inner:  # noqa: BLE001  # its own text may be hostile
                text = f"<no text: {type(inner).__name__}>"
            self.findings.append(
                {
                    "name": name,
                    "what": what,
                    "error": type(error).__name__,
                    "text": text,
                    "arguments": told(),
                    "where": where,
                    "seed": self.seed,
                }
            )
            return None

    def one(self, target: Target, r: random.Random, note: Callable[[str], None]) -> None:
        try:
            args, kwargs = target.arguments(r)
        except MemoryError:
            return

        def told() -> str:
            parts = [show(arg) for arg in args] + [f"{name}={show(value)}" for name, value in kwargs.items()]
            return f"({', '.join(parts)})"

        note(f"{target.name}{told()}")
        result = self.attempt(target.name, "call", lambda: target.function(*args, **kwargs), told)
        if result is not None:
            try:
                uses = list(use(result, r))
            except MemoryError:
                return
            except dc.ArgumentError as error:
                text = f"a tensor of no array: {error}"
                self.attempt(target.name, "result", lambda: _fail(text), told)
                return
            for what, call in uses:
                note(f"{target.name}{told()} {what}")
                self.attempt(target.name if what in ("repr", "call", "with", "step") else what, what, call, told)


def restore() -> None:
    """Reset the settings of the process that a call may have changed."""
    torchlike.set_default_dtype(torchlike.float32)
    torchlike.set_default_device(None)
    torchlike.set_grad_enabled(True)
    torchlike.set_printoptions(profile="default")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--calls", type=int, default=sys.maxsize)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _alarm)
    os.chdir(tempfile.mkdtemp(prefix="hostile"))
    warnings.simplefilter("ignore")
    known = [target for target in targets() if target.name not in LEFT_OUT and options.only in target.name]
    r = random.Random(options.seed)
    run = Run(options.seed)
    last = ""

    def note(text: str) -> None:
        nonlocal last
        last = ascii(text)[:2000]
        if options.verbose:
            print(last, file=sys.stderr, flush=True)

    streams = sys.stdout
    hung = threading.Event()

    def watch() -> None:
        """End the process where one call never comes back to Python, so that no signal reaches it."""
        seen, since = -1, time.monotonic()
        while not hung.wait(1):
            if run.calls != seen:
                seen, since = run.calls, time.monotonic()
            elif time.monotonic() - since > 20:
                print(json.dumps({"error": "hang", "name": last}), file=streams, flush=True)
                os._exit(3)

    threading.Thread(target=watch, daemon=True).start()
    ends = time.monotonic() + options.seconds
    sys.stdout = io.StringIO()
    while time.monotonic() < ends and run.calls < options.calls:
        r.shuffle(known)
        for target in known:
            if time.monotonic() > ends or run.calls >= options.calls:
                break
            run.one(target, r, note)
            restore()
    sys.stdout = streams
    hung.set()
    seen = set()
    for finding in run.findings:
        key = finding["name"], finding["error"], finding["what"], finding["where"][-1:] and finding["where"][-1]
        if str(key) not in seen:
            seen.add(str(key))
            print(json.dumps(finding))
    raised = ", ".join(f"{count} {name}" for name, count in run.raised.most_common())
    print(f"seed {options.seed}: {run.calls} calls of {len(known)} functions; {raised}", file=sys.stderr)
    assert (torchlike.ones(2) + 1).tolist() == [2.0, 2.0]
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
