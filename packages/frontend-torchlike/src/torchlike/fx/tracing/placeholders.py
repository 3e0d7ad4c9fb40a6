"""The arguments with which a function is called while it is traced: proxies, and values that the caller fixed."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from ...surface.conditions import _assert
from ...tensors.tensor import Tensor
from ...utils import pytree
from ..graph import _PyTreeCodeGen, _PyTreeInfo
from ..node import Node, base_types
from ..proxy import TracerBase
from .wrapped import wrap

__all__ = ["PH", "PHBase", "PHWithMeta", "RootArguments", "read_annotations"]

_VARIADIC: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class PHBase:
    """A place among ``concrete_args`` where a proxy goes."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """A place where a proxy goes, whose attributes the placeholder gets."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


PH: Final = PHBase()


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    """Raise ``AssertionError`` with a text where a value is not None."""
    if value is not None:
        raise AssertionError(msg)


def _give_attributes(source: PHBase, node: Node) -> None:
    for name, value in vars(source).items():
        if not callable(value) and not name.startswith("__") and not hasattr(node, name):
            setattr(node, name, value)


def _without_stars(function: Callable[..., Any], count: int) -> FunctionType:
    """Return a function that takes ``*args`` and ``**kwargs``, and arguments by name alone, as ordinary ones by position."""
    code: CodeType = function.__code__
    plain = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIADIC
    )
    return FunctionType(plain, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def read_annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function; those of this library's own modules as torch has them.

    >>> import torchlike
    >>> read_annotations(torchlike.nn.Linear.forward)["return"] is torchlike.Tensor
    True
    """
    found = getattr(function, "__annotations__", {})
    if function.__module__ == __name__:  # which joins containers
        return {}
    if not str(function.__module__).startswith(("torch.nn.", "torchlike.nn.")):
        return dict(found)
    return {} if "Any" in found.values() else {name: Tensor for name, note in found.items() if note == "Tensor"}


class RootArguments:
    """Makes the placeholders of a function and the arguments for its traced call."""

    def __init__(
        self, tracer: TracerBase, root: Any, function: Callable[..., Any], is_module: bool, concrete: Any
    ) -> None:
        self.tracer, self.root, self.function, self.is_module = tracer, root, function, is_module
        self.concrete = concrete
        self.analysed = inspect.unwrap(function)
        self.signature = inspect.signature(self.analysed)
        self.annotations = read_annotations(self.analysed)

    def make(self) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function and the arguments for it; the function is another one where arguments are containers."""
        code: CodeType = self.analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        if self.is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        if isinstance(self.concrete, tuple) and self.concrete and code.co_flags & _VARIADIC and total == 1:
            return self.function, [*args, *self._number_inputs(self.concrete)]
        listed = [next(names) for _ in range(len(args), total)]
        if isinstance(self.concrete, tuple):
            if len(listed) != len(self.concrete):
                raise RuntimeError(
                    f"Tracing expected {len(listed)} arguments but got {len(self.concrete)} concrete arguments"
                )
            self.concrete = dict(zip(listed, self.concrete, strict=True))
        args += [self._make_placeholder(name) for name in listed]
        function = self.function
        if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._make_placeholder(stars + next(names)))
            function = _without_stars(function, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return function, args
        return self._join(function, spec, [*code.co_varnames][:total]), leaves

    def _number_inputs(self, concrete: tuple[Any, ...]) -> list[Any]:
        made = []
        for index, value in enumerate(concrete):
            proxy = self.tracer.create_proxy("placeholder", f"input_{index}", (), {})
            if isinstance(value, PHBase) and value is not PH:
                _give_attributes(value, proxy.node)
            made.append(proxy)
        return made

    def _join(self, function: Callable[..., Any], spec: pytree.TreeSpec, names: list[str]) -> Callable[..., Any]:
        """Return a function of the leaves of the arguments, which returns the leaves of the result."""
        graph = self.tracer.graph
        codegen = _PyTreeCodeGen(_PyTreeInfo(names, spec, None))
        graph._codegen = codegen

        def call(*leaves: Any) -> Any:
            result = function(*pytree.tree_unflatten(list(leaves), spec))
            found, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return found

        return call

    def _make_placeholder(self, name: str) -> Any:
        if self.concrete is not None and name in self.concrete:
            return self._fix(name, self.concrete[name])
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            default = self._default(name)
        note = self.annotations.get(name)
        return self.tracer.create_proxy("placeholder", name, default, {}, type_expr=note)

    def _default(self, name: str) -> tuple[Any, ...]:
        found = self.signature.parameters[name].default
        return () if found is inspect.Parameter.empty else (found,)

    def _fix(self, name: str, value: Any) -> Any:
        """Return an argument that the caller fixed, with proxies where it has `PH`; calls with others will fail."""
        count = 0
        default = self._default(name)

        def replace(leaf: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self.tracer.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(leaf, PHBase):
                if leaf is not PH:
                    _give_attributes(leaf, proxy.node)
                return proxy
            said = f"{name} has been specialized to have value {leaf} but got another value"
            if leaf is None:
                self.tracer.create_proxy("call_function", _assert_is_none, (proxy, said), {})
            elif isinstance(leaf, base_types) and not isinstance(leaf, Tensor):
                equal = proxy == leaf
                self.tracer.create_proxy("call_function", _assert, (equal, said), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                    "the user to make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return leaf

        return pytree.tree_map(replace, value)
