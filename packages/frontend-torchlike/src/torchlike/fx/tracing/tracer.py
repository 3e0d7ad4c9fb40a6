"""Symbolic tracing: a module or function is called with proxies, and the graph of what it does is kept."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, ClassVar, Final

from ...nn.modules.container import Sequential
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensors.tensor import Tensor
from ...utils import pytree
from ..graph import Graph
from ..proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from .patches import Patcher, find_proxy
from .placeholders import RootArguments, read_annotations

__all__ = ["ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing"]

# Calls of modules within a trace that runs within another reach the modules themselves.
_CALL: Final[Callable[..., Any]] = Module.__call__
_GETATTR: Final[Callable[..., Any]] = Module.__getattr__

_depth: int = 0
_PROXYABLE: Final[dict[type, None]] = {}


def is_fx_tracing() -> bool:
    """Return whether a function is being traced.

    >>> is_fx_tracing()
    False
    """
    return _depth > 0


def is_fx_symbolic_tracing() -> bool:
    """Return whether a function is being traced by `symbolic_trace`."""
    return _depth > 0


class ProxyableClassMeta(type):
    """The class of classes whose instances can be made while a function is traced (source: ``torch.fx.ProxyableClassMeta``).

    With a proxy among the arguments, a node that makes the instance is added to the graph, and its proxy comes back.

    >>> import torchlike
    >>> class Pair(metaclass=torchlike.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> torchlike.fx.symbolic_trace(lambda x: Pair(x, x).left).graph.find_nodes(op="call_function", target=Pair)
    [pair]
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _PROXYABLE[cls] = None
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_fx_tracing():
            found = find_proxy(args, kwargs)
            if found is not None:
                return found.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Traces modules and functions; subclasses change how (source: ``torch.fx.Tracer``).

    A subclass overrides `is_leaf_module`, `call_module`, `create_arg`, `create_node`, `to_bool`, `iter` and others.
    Functions of ``autowrap_modules``, and ``autowrap_functions``, are steps of their own, as those given to `wrap`.
    With ``param_shapes_constant``, conditions on shapes of parameters are decided while tracing.

    >>> import torchlike
    >>> class Net(torchlike.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = torchlike.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.linear(x).relu()
    >>> print(Tracer().trace(Net()))
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %linear : [num_users=1] = call_module[target=linear](args = (%x,), kwargs = {})
        %relu : [num_users=1] = call_method[target=relu](args = (%linear,), kwargs = {})
        return relu
    """

    root: Module
    tensor_attrs: dict[Any, str]

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    _qualname_counter: ClassVar[dict[str, int]] = defaultdict(int)

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name that the root has no attribute of: the prefix with a number."""
        if not hasattr(self.root, f"{prefix}0"):
            self._qualname_counter[prefix] = 0
            return f"{prefix}0"
        number = self._qualname_counter[prefix]
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._qualname_counter[prefix] = number + 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """Return a value as an argument of a node (source: ``Tracer.create_arg``).

        Parameters, buffers and submodules of the root become nodes that read them; other tensors become attributes of the
        root. Raises ``NameError`` for a parameter that is not the root's, ``NotImplementedError`` for what no node can have.
        """
        if isinstance(a, Parameter):
            name = _find(self.root.named_parameters(), a)
            if name is None:
                raise NameError("parameter is not a member of this module")
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, (Tensor, Module)):
            owned: Any = self.root.named_buffers() if isinstance(a, Tensor) else self.root.named_modules()
            name = _find(owned, a)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(each) for each in a), {})
        if isinstance(a, (Tensor, pytree.TreeSpec)):
            key = a if isinstance(a, Tensor) else id(a)
            if key not in self.tensor_attrs:
                prefix = "_tensor_constant" if isinstance(a, Tensor) else "_tree_spec_constant"
                self.tensor_attrs[key] = self.get_fresh_qualname(prefix)
                setattr(self.root, self.tensor_attrs[key], a)
            return self.create_node("get_attr", self.tensor_attrs[key], (), {})
        if type(a) in _PROXYABLE:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether calls of a module are steps of their own: those of ``torch.nn`` are, but for ``Sequential``."""
        return m.__module__.startswith(("torch.nn", "torchlike.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a submodule of the root; raises ``NameError`` for a module that is none."""
        paths = self.submodule_paths
        path = paths.get(mod) if paths else _find(self.root.named_modules(), mod)
        if path is None:
            raise NameError(
                f"module is not installed as a submodule: the traced function calls a {type(mod).__name__} that is not among"
                " the modules of the one that is traced; make it an attribute of that one"
            )
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call of a submodule: a node for a leaf, and else that of ``forward``."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem()
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return an attribute of a module as the traced function sees it: a proxy for a parameter of the root.

        With ``proxy_buffer_attributes`` on the class, buffers become proxies, too.
        """
        if isinstance(attr_val, Parameter):
            return self._proxy_attribute(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_attribute(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_attribute(self, value: Any, named: Iterable[tuple[str, Any]], known: dict[str, Proxy]) -> Any:
        name = _find(named, value)
        if name is None:
            return value
        if name not in known:
            options: dict[str, Any] = {}
            if "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                options["proxy_factory_fn"] = (
                    (lambda node: ParameterProxy(self, node, name, value)) if self.param_shapes_constant else None
                )
            known[name] = self.create_proxy("get_attr", name, (), {}, **options)
        return known[name]

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function and the arguments with which it is called: proxies of new placeholders."""
        return RootArguments(self, self.root, root_fn, is_module, concrete_args).make()

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
    ) -> Graph:
        """Return the graph of a module or a function; ``concrete_args`` are values for some of its arguments.

        Raises `TraceError` where a condition or a loop depends on a proxy.
        """
        global _depth
        _depth += 1
        try:
            return self._trace(root, concrete_args)
        finally:
            _depth -= 1

    def _trace(self, root: Module | Callable[..., Any], concrete_args: Any) -> Graph:
        function: Any = root
        if isinstance(root, Module):
            assert hasattr(type(root), self.traced_func_name), (
                f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            )
            self.root, function = root, getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
        assert isinstance(function, FunctionType), f"Expected FunctionType, got {type(function)}"
        self.graph = Graph(tracer_cls=type(self))
        code = function.__code__
        self.graph._co_fields = {
            "co_name": code.co_name,
            "co_filename": code.co_filename,
            "co_firstlineno": code.co_firstlineno,
        }
        self.tensor_attrs = {}
        self._collect_tensors(self.root, "")
        variables = function.__globals__
        call, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        returned = read_annotations(inspect.unwrap(call)).get("return")
        with Patcher() as patcher:
            self._patch(patcher, variables)
            result = self.create_arg(call(*args))
            self.create_node("output", "output", (result,), {}, type_expr=returned)
        self.submodule_paths = None
        return self.graph

    def _collect_tensors(self, module: Module, prefix: str) -> None:
        """Note the tensors and specs that modules have as plain attributes."""
        for name, value in vars(module).items():
            if isinstance(value, (Tensor, pytree.TreeSpec)):
                self.tensor_attrs[value if isinstance(value, Tensor) else id(value)] = prefix + name
        for name, child in module.named_children():
            self._collect_tensors(child, f"{prefix}{name}.")

    def _patch(self, patcher: Patcher, variables: dict[str, Any]) -> None:
        """Replace calls and attributes of modules, in this thread, and wrapped functions."""
        known: dict[str, Proxy] = {}
        thread = threading.get_ident()

        @functools.wraps(_GETATTR)
        def read(module: Module, attr: str) -> Any:
            value = _GETATTR(module, attr)
            return self.getattr(attr, value, known) if threading.get_ident() == thread else value

        @functools.wraps(_CALL)
        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread:
                return _CALL(module, *args, **kwargs)
            inner = getattr(getattr(module, "forward", module), "__globals__", {})
            patcher.wrap_globals(inner, self._autowrap_function_ids)
            return self.call_module(module, functools.partial(_CALL, module), args, kwargs)

        patcher.patch_method(Module, "__getattr__", read)
        patcher.patch_method(Module, "__call__", call)
        patcher.patch_wrapped()
        patcher.wrap_globals(variables, self._autowrap_function_ids)
        for searched in self._autowrap_search:
            patcher.wrap_globals(vars(searched), self._autowrap_function_ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = Tracer.__new__(Tracer)
        for name, value in self.__dict__.items():
            copied.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return copied


def _find(named: Iterable[tuple[str, Any]], wanted: Any) -> str | None:
    """Return the name of an object, None where it is not there."""
    return next((name for name, each in named if each is wanted), None)
