"""Names of the functions that nodes call: in a node's own name, in printed graphs, and in generated code.

Note [Names of functions in code]
    Code names a function by a path only where that path leads to this very function, and else by a global variable that
    holds it. So no text of a foreign object becomes code: each part of a path is an identifier that was looked up.
    Paths begin with ``torch`` where this library stands in for torch, and with ``torchlike`` elsewhere.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator
from functools import cache
from keyword import iskeyword
from typing import Any, Final

from ..names.operator_table import PREFIXES
from ..names.spelling import spell
from ..tensors.tensor import Tensor

__all__ = [
    "FUNCTIONAL_MODULE",
    "LONG",
    "find_path",
    "is_overload",
    "is_packet",
    "name_base",
    "print_target",
    "qualified_name",
    "snake_case",
    "type_text",
]

#: Namespace → how the names of its functions begin in torch's C modules.
LONG: Final = {namespace: prefix for prefix, namespace in PREFIXES.items()}
#: torch's names for functions whose own name there is another than that by which programs call them.
_OTHER: Final = {
    "nn.functional.logsigmoid": "log_sigmoid",
    "nn.functional.threshold": "_threshold",
    "segment_reduce": "_segment_reduce",
    "sparse.sampled_addmm": "sparse_sampled_addmm",
    **{f"sparse.{name}": f"_sparse_{name}" for name in ("addmm", "log_softmax", "mm", "softmax")},
    "sparse.spsolve": "_spsolve",
}
#: Functions that torch's Python module ``functional`` defines.
FUNCTIONAL_MODULE: Final = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum"
    " lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index".split()
)
#: Functions that torch has in a C module and programs call in ``nn.functional``.
_C_MODULE: Final = frozenset(
    f"nn.functional.{name}"
    for name in "avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus"
    " softshrink".split()
)
_CAMEL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def is_overload(function: Any) -> bool:
    """Return whether a function is an overload of an operator, such as ``torch.ops.aten.add.Tensor``."""
    return isinstance(function, types.FunctionType) and hasattr(function, "overload_name")


def is_packet(function: Any) -> bool:
    """Return whether a function is an operator with all its overloads, such as ``torch.ops.aten.add``."""
    return type(function).__name__ == "OpOverloadPacket"


def _operator_path(function: Any) -> str:
    """Return ``aten.add.Tensor`` or ``aten.add`` for an operator of ``torch.ops``."""
    namespace, _, rest = str(function.name() if callable(function.name) else function.name).partition("::")
    name, _, overload = rest.partition(".")
    parts = [namespace, name] if is_packet(function) else [namespace, name, overload or "default"]
    return ".".join(parts)


def snake_case(text: str) -> str:
    """Return a name in small letters, with an underscore where a capital follows a small one.

    >>> snake_case("BatchNorm")
    'batch_norm'
    """
    return _CAMEL.sub(r"_\1", text).lower()


def _own_name(function: Any) -> str:
    """Return the name that torch's function has, which may differ from the name by which programs call it."""
    if is_overload(function) or is_packet(function):
        return _operator_path(function).partition(".")[2]
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(
            f"a call of {type(function).__name__!r} has no name: give `name=`, or call a function around it"
        )
    path = find_path(function)
    if path is not None:
        namespace, _, last = path.rpartition(".")
        if namespace in LONG:
            return LONG[namespace] + last
        return _OTHER.get(path, name)
    return name


def name_base(target: Any) -> str:
    """Return the name that a node gets for its target, before it is made unique."""
    if callable(target):
        return snake_case(_own_name(target))
    if not isinstance(target, str):
        raise AssertionError(f"Expected target to be str, got {type(target)}")
    if target.startswith("__") and target.endswith("__"):
        target = target[2:-2]
    return snake_case(target)


def _look_up(owner: Any, name: str) -> Any:
    """Return an attribute, None where there is none; a package is not asked for a name that it does not list."""
    if isinstance(owner, types.ModuleType) and name not in vars(owner) and name not in dir(owner):
        return None
    return getattr(owner, name, None)


def _paths(module: str, name: str, is_class: bool) -> Iterator[str]:
    """Yield the paths below the root at which an object of a module may be found, those that users write first."""
    parts = [part for part in module.split(".")[1:] if part]
    lengths = range(len(parts), -1, -1) if is_class else range(len(parts) + 1)
    for length in lengths:
        yield ".".join([*parts[:length], name])


@cache
def _find_hashable(function: Any) -> str | None:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if (
        not isinstance(module, str)
        or not isinstance(name, str)
        or module.partition(".")[0] not in ("torch", "torchlike")
    ):
        return None
    if not all(part.isidentifier() and not iskeyword(part) for part in [*module.split("."), *name.split(".")]):
        return None
    root = importlib.import_module("torchlike")
    if f".{module}.".partition(".fx.")[2].startswith("tracing."):
        module = "torchlike.fx._symbolic_trace"  # torch's name for them
    paths = _paths(module, name, isinstance(function, type) or module.endswith("_symbolic_trace"))
    for path in paths:
        found: Any = root
        for part in path.split("."):
            found = _look_up(found, part)
            if found is None:
                break
        if found is function:
            return path
    return None


def find_path(function: Any) -> str | None:
    """Return the path below the root at which a function or class of this library is, None for those of others.

    See Note [Names of functions in code].
    """
    try:
        return _find_hashable(function)
    except TypeError:  # it has no hash
        return None


@cache
def _is_in_c_module(function: Any, name: str) -> bool:
    """Return whether a program finds a function in ``torch._C._nn``, too."""
    try:
        return getattr(sys.modules["torch"]._C._nn, name) is function
    except (AttributeError, ImportError, KeyError):
        return False


def qualified_name(function: Any) -> str:
    """Return a function's name with that of its module, as printed graphs have it.

    Raises ``RuntimeError`` for a lambda whose source is not at hand.

    >>> import operator, torchlike
    >>> qualified_name(torchlike.relu), qualified_name(operator.add), qualified_name(len)
    ('torchlike.relu', '_operator.add', 'len')
    """
    if is_overload(function) or is_packet(function):
        return f"{spell()}.ops.{_operator_path(function)}"
    name = str(function.__name__)
    if getattr(builtins, name, None) is function:
        return name
    if getattr(function, "__qualname__", "").startswith("Tensor.") and getattr(Tensor, name, None) is function:
        return f"{spell()}.Tensor.{name}"
    path = find_path(function)
    if path is not None:
        if spell() == "torch" and path in FUNCTIONAL_MODULE:
            return f"torch.functional.{path}"
        if spell() == "torch" and path in _C_MODULE and _is_in_c_module(function, path.rpartition(".")[2]):
            return f"torch._C._nn.{path.rpartition('.')[2]}"
        return f"{spell()}.{path}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(function, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {function}")
    return f"{module}.{name}"


def print_target(target: Any) -> str:
    """Return a node's target as printed graphs have it."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    module = getattr(target, "__module__", None)
    if name is not None and module in ("builtins", "_operator"):
        return f"{module.removeprefix('_')}.{name}"
    return qualified_name(target)


def type_text(value: Any) -> str:
    """Return a type annotation as text.

    >>> type_text(int), type_text(list[int]), type_text(...)
    ('int', 'list[int]', '...')
    """
    if inspect.isclass(value) and not typing.get_args(value):
        if value.__module__ == "builtins":
            return value.__qualname__
        path = find_path(value)
        return f"{value.__module__}.{value.__qualname__}" if path is None else f"{spell()}.{path}"
    if value is ...:
        return "..."
    if isinstance(value, types.FunctionType):
        return value.__name__
    return repr(value)
