"""Chains as loops that Numba compiles, where it is installed: the optional extra ``dispatch-backend-cpu[jit]``.

Note [Compiled operations]
    Only operations that IEEE 754 rounds exactly: arithmetic, roots, roundings, comparisons and choices in float32 and
    float64, with no licence to reorder them, so that a compiled chain gives the results of the ufuncs. Exponentials and the
    like are the libraries' own and differ by more than a rounding step: chains with them stay with NumPy.

Note [When it is compiled]
    A compilation takes about a second, so a chain gets one when it has run `DISPATCH_CPU_JIT` times (10 unless set; 0:
    never). The machine code is kept on disk, in the part ``cpu`` of the user's caches (`dispatch_core.files.cache_folders`)
    or of the folder that ``DISPATCH_CPU_CACHE`` names.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, cast

import numpy as np

from dispatch_core.files import keep_on_disk
from dispatch_core.files.cache_folders import cache_folder
from dispatch_core.surroundings.logs import Log

from ..ops.support.tape import Operation, Symbol
from .writer import ChainWriter

#: ufunc → its expression on elements. NaN goes through ``maximum`` and ``minimum`` whichever side it is on, and of two
#: zeros the second is taken, as NumPy does.
_UFUNCS: Final = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "positive": "{0}",
    "absolute": "abs({0})",
    "sqrt": "sqrt({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "trunc": "trunc({0})",
    "maximum": "({1} if {1} >= {0} or {1} != {1} else {0})",
    "minimum": "({1} if {1} <= {0} or {1} != {1} else {0})",
    "clip": (
        "({0} if {0} != {0} else {1} if {1} != {1} else {2} if {0} > {2} or {1} > {2} or {2} != {2}"
        " else {1} if {0} < {1} else {0})"
    ),
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "isnan": "{0} != {0}",
}
_LOG: Final = Log("caches")
_TYPES: Final = {"f": "float32", "d": "float64", "?": "boolean"}


@cache
def is_available() -> bool:
    """Return whether Numba is installed."""
    with suppress(ValueError):  # a program has put something else under its name
        return find_spec("numba") is not None
    return False


def runs_before() -> int:
    """Return how often a chain runs before it is compiled; 0 for never."""
    given = os.environ.get("DISPATCH_CPU_JIT", "10")
    return int(given) if given.isdecimal() else 10


def can_compile(operations: list[Operation]) -> bool:
    """Return whether a chain can be compiled; see Note [Compiled operations]."""
    return all(operation.out.is_scalar or _is_exact(operation) for operation in operations)


def _is_exact(operation: Operation) -> bool:
    chars = [each.dtype.char for each in (*operation.inputs, operation.out)]
    if not set(chars) <= _TYPES.keys():
        return False
    if operation.kind == "ufunc":
        return operation.fn.__name__ in _UFUNCS and len(set(chars[:-1])) == 1 and chars[0] != "?"
    return operation.kind != "cast" or "?" not in chars


def is_literal(symbol: Symbol) -> bool:
    """Return whether a number stands in the loop's source: an infinite bound, which the compiler then leaves out."""
    return symbol.constant is not None and symbol.dtype.kind == "f" and bool(np.isinf(symbol.constant))


def compile_loop(
    operations: list[Operation], read: dict[Symbol, str], scalars: dict[Symbol, str], stored: dict[Symbol, str]
) -> Callable[..., Any]:
    """Compile the loop: a function of the arrays ``read``, those ``stored`` besides, each one row, and the ``scalars``.

    Each symbol has the name of its argument; arguments come in the order of these three.
    """
    import_module("numba")
    names = {symbol: f"{name}[i]" for symbol, name in read.items()} | dict(scalars)
    body: list[str] = []
    for operation in operations:
        inputs = [
            f"{_TYPES[each.dtype.char]}({each.constant})" if is_literal(each) else names[each]
            for each in operation.inputs
        ]
        names[operation.out] = f"t{len(body)}"
        body.append(f"t{len(body)} = {_expression(operation, inputs)}")
    body += [f"{name}[i] = {names[symbol]}" for symbol, name in stored.items()]
    arrays = {name: symbol for symbol, name in stored.items()} | {name: symbol for symbol, name in read.items()}
    arguments = [*read.values(), *(name for name in arrays if name not in read.values()), *scalars.values()]
    types = [f"{_TYPES[arrays[name].dtype.char]}[::1]" for name in arguments if name in arrays]
    types += [_TYPES[each.dtype.char] for each in scalars]
    size = next(iter(stored.values()))
    source = "\n".join(
        [
            "from math import inf, sqrt",
            "from numba import boolean, float32, float64",
            "from numpy import ceil, floor, trunc",  # those of `math` give integers, which hold no nan and no inf
            "",
            f"def loop({', '.join(arguments)}):",
            f"    for i in range({size}.size):",
            *(f"        {line}" for line in body),
            "",
        ]
    )
    return _load_or_compile(source, f"void({', '.join(types)})")


def _expression(operation: Operation, names: list[str]) -> str:
    kind = _TYPES[operation.out.dtype.char]
    if operation.kind == "ufunc":
        found = _UFUNCS[operation.fn.__name__].format(*names)
        return f"{kind}({found})"
    if operation.kind in ("where", "choose"):
        return f"{kind}({names[1]}) if {names[0]} else {kind}({names[2]})"
    return f"{kind}({names[0]})" if operation.kind == "cast" else names[0]


def _load_or_compile(source: str, signature: str) -> Callable[..., Any]:
    """Return the compiled function, from the disk if it is there, and kept there if that is possible."""
    name = _name(source, signature)
    module = ModuleType(f"dispatch_backend_cpu_{name}")
    exec(compile(source, f"{name}.py", "exec"), vars(module))  # noqa: S102
    loop = import_module("numba").njit(error_model="numpy", nogil=True)(module.loop)
    try:
        keep_on_disk(loop, cache_folder("cpu", named=os.environ.get("DISPATCH_CPU_CACHE", "")), name)
    except OSError as error:
        _LOG.warning("a compiled chain is not kept on disk: %s", error)
    else:
        sys.modules[module.__name__] = module  # Numba asks for the module by its name
    loop.compile(signature)
    loop.disable_compile()
    return cast("Callable[..., Any]", loop)


def _name(source: str, signature: str) -> str:
    """Return a name that a loop has alone: machines and versions of Numba that share a folder share no files."""
    machine = import_module("numba.core.registry").cpu_target.target_context.codegen().magic_tuple()
    text = f"{source}{signature}{import_module('numba').__version__}{machine}"
    return f"loop_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


class CompiledWriter(ChainWriter):
    """Writes one call of a compiled loop."""

    def write(self) -> None:
        """Write the lines of the function."""
        chain = self.chain
        read: dict[Symbol, str] = {}
        scalars: dict[Symbol, str] = {}
        given: list[str] = []
        numbers: list[str] = []
        self.write_scalars()
        operations = [operation for operation in chain.operations if not operation.out.is_scalar]
        for symbol in dict.fromkeys(each for operation in operations for each in operation.inputs):
            value = None if symbol.source is None else chain.inputs[symbol.source]
            if value is not None and value.shape == chain.shape:
                read[symbol] = f"a{len(read)}"
                given.append(self.reshape(f"v[{value.index}]"))
            elif (symbol.is_scalar or value is not None) and not is_literal(symbol):
                scalars[symbol] = f"c{len(scalars)}"
                numbers.append(f"{self.name(symbol)}{'' if symbol.is_scalar else '.reshape(())'}[()]")
        stored: dict[Symbol, str] = {}
        seen = {symbol.source: name for symbol, name in read.items()}
        for value, symbol in chain.stored.items():
            if value in chain.targets and value.index in seen:
                # One argument for an array that is read and written: of few arguments LLVM sees sooner that they lie apart.
                stored[symbol] = seen[value.index]
                continue
            stored[symbol] = f"o{len(stored)}"
            if value in chain.targets:
                given.append(self.reshape(f"v[{value.index}]"))
                continue
            self.lines.append(f"r{value.index} = {self.empty(value)}")
            given.append(self.reshape(f"r{value.index}"))
        loop = self.constant(compile_loop(operations, read, scalars, stored))
        self.lines.append(f"{loop}({', '.join([*given, *numbers])})")
        self.lines += [f"v[{value.index}] = r{value.index}" for value in chain.stored if value not in chain.targets]
