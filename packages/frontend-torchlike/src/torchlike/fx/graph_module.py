"""Modules that run a graph, by code that is made of it (source: ``torch.fx.graph_module``)."""

from __future__ import annotations

import ast
import contextlib
import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from textwrap import indent
from typing import Any, Final, Self

from .. import nn
from ..names.spelling import spell
from ..nn.modules.module import Module
from ..serialization import save
from .attributes import assign_attribute as _assign_attr
from .attributes import copy_attribute as _copy_attr
from .attributes import delete_submodule, enter
from .attributes import read_attribute as _get_attr
from .generation.code import BoxedCodeGen, PythonCode
from .generation.literals import is_name, standard_globals
from .generation.running import compile_forward, describe_failure, import_lines
from .generation.trees import PyTreeCodeGen
from .graph import Graph
from .node import Node
from .tracing.tracer import Tracer

__all__ = [
    "_USER_PRESERVED_ATTRIBUTES_KEY",
    "GraphModule",
    "_CodeOnlyModule",
    "_assign_attr",
    "_copy_attr",
    "_get_attr",
    "reduce_graph_module",
]

_USER_PRESERVED_ATTRIBUTES_KEY: Final = "_user_preserved_attributes"
_HOOKS: Final = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
_STATE_HOOKS: Final = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


class _CodeOnlyModule(Module):
    """A module with the attributes of another one, whose class has its code."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """Return the module of a pickle: its code is run, and traced again to get the graph."""
    forward = compile_forward(f"{import_block}\n{body.get('_code') or body['code']}", {})
    wrapped = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})
    tracer_class: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_class):  # type: ignore[misc]  # the class that traced it
        def is_leaf_module(self, module: Module, name: str) -> bool:
            """Return True: submodules were not traced before, either."""
            return True

    root = wrapped(body)
    graph = KeepModules().trace(root, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_class
    module = GraphModule(root, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module


class _WrappedCall:
    """Calls a module, and shows the line of its code at which an error was raised."""

    def __init__(self, cls: type, own_call: Callable[..., Any] | None) -> None:
        self.cls, self.cls_call = cls, own_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            parent: Any = super(self.cls, obj)
            return parent.__call__(*args, **kwargs)
        except Exception as error:
            text = describe_failure(error)
            if text is None:
                raise
            print(text, file=sys.stderr)  # noqa: T201  # as torch
            raise error.with_traceback(None) from error.__cause__


class GraphModule(Module):
    """A module whose ``forward`` is made of a graph (source: ``torch.fx.GraphModule``).

    It has the parameters, buffers and submodules of ``root`` that the graph names; ``root`` may be a dict of them. After
    changes of ``graph`` call `recompile`; assigning a graph does so. It can be copied and pickled: a pickle has the code,
    which is traced again when it is read. Raises ``RuntimeError`` where the dict lacks a target.

    >>> import torchlike
    >>> module = torchlike.fx.symbolic_trace(torchlike.nn.Sequential(torchlike.nn.ReLU()))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        return _0
    """

    _code: str
    _graph: Graph
    _tracer_cls: type | None
    shape_env: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an instance of a class of its own: ``forward`` belongs to the class."""
        base = next(each for each in cls.__mro__ if each.__qualname__.rpartition(".")[2] != "GraphModuleImpl")
        own: Any = type("GraphModuleImpl", (base,), {"__module__": base.__module__})
        made: Self = super().__new__(own)
        return made

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [(node, node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            if isinstance(root, _CodeOnlyModule):
                for named in (root.named_children(), root.named_buffers(), root.named_parameters()):
                    for name, _ in named:
                        _copy_attr(root, self, name)
            for _, target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node, target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {target} but that target was not provided in ``root``!"
                    )
            for _, target in sorted(targets, key=lambda pair: pair[1].count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer_class = graph._tracer_cls
        self._tracer_cls = tracer_class if tracer_class and "<locals>" not in tracer_class.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self.shape_env = None
        for name in _HOOKS:
            setattr(self, name, [])

    @property
    def _boxed_call(self) -> bool:
        return isinstance(self._graph._codegen, BoxedCodeGen)

    @property
    def graph(self) -> Graph:
        """The graph; after a change of it call `recompile`."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        assert isinstance(g, Graph), f"Expected a Graph instance, but got {type(g)}"
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Call `recompile`")
        return self._code

    def recompile(self) -> PythonCode:
        """Make ``forward`` of the graph again, and return its code (source: ``GraphModule.recompile``).

        >>> import operator, torchlike
        >>> module = torchlike.fx.symbolic_trace(lambda x: x + 1)
        >>> module.graph.find_nodes(op="call_function", target=operator.add)[0].target = operator.mul
        >>> _ = module.recompile()
        >>> module(torchlike.tensor(5))
        tensor(5)
        """
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map, self._prologue_start = code._lineno_map, code._prologue_start
        cls: Any = type(self)
        cls.forward = compile_forward(code.src, code.globals, self._graph._co_fields)
        own_call = vars(cls).get("__call__")
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, own_call)

        def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._wrapped_call(self, *args, **kwargs)

        cls.__call__ = call_wrapped
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a submodule at a path, with empty modules on the way to it; return False where something else is there.

        >>> import torchlike
        >>> module = torchlike.fx.symbolic_trace(lambda x: x)
        >>> module.add_submodule("head.act", torchlike.nn.ReLU()), module.get_submodule("head.act")
        (True, ReLU())
        """
        *parents, name = target.split(".")
        owner: Any = self
        for part in parents:
            owner = enter(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the submodule at a path, and return whether there was one; nodes that call it fail afterwards."""
        return delete_submodule(self, target)

    def delete_all_unused_submodules(self) -> None:
        """Delete the submodules that no node names (source: ``GraphModule.delete_all_unused_submodules``).

        >>> import torchlike
        >>> module = torchlike.fx.symbolic_trace(torchlike.nn.Sequential(torchlike.nn.ReLU(), torchlike.nn.Tanh()))
        >>> module.graph.output_node().args = (next(iter(module.graph.nodes)),)
        >>> module.graph.eliminate_dead_code()
        True
        >>> module.delete_all_unused_submodules()
        >>> list(module.children())
        []
        """
        used = {""}
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[: index + 1]) for index in range(len(parts)))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    inner = self.get_submodule(node.target).named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder: str | PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module to a folder as a package of Python code and files of tensors (source: ``GraphModule.to_folder``).

        Submodules other than linear layers, convolutions and batch norms are saved whole; a warning names them.
        """
        place = Path(folder)
        place.mkdir(exist_ok=True)
        save(self.state_dict(), place / "state_dict.pt")
        root = spell()
        assert is_name(module_name), f"module_name is not a name: {module_name!r}"
        lines = [*(line for line, _ in standard_globals().values()), f"from {root}.nn import *", ""]
        lines += [f"class {module_name}({root}.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        whole = []
        for name, child in self.named_children():
            made = None
            if type(child) in (
                nn.Linear,
                nn.Conv1d,
                nn.Conv2d,
                nn.Conv3d,
                nn.BatchNorm1d,
                nn.BatchNorm2d,
                nn.BatchNorm3d,
            ):
                made = repr(child)
            if made is None or not _is_plain_call(made):
                file = place / f"{name}.pt"
                save(child, file)
                whole.append(name)
                made = f"{root}.load({str(file)!r}, weights_only=False)"
            lines.append(f"        setattr(self, {name!r}, {made})")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                empty = f"{root}.empty({list(buffer.shape)}, dtype={buffer.dtype})"
                lines.append(f"        self.register_buffer({name!r}, {empty})")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                empty = f"{root}.empty({list(parameter.shape)}, dtype={parameter.dtype})"
                lines.append(f"        setattr(self, {name!r}, {root}.nn.Parameter({empty}))")
        lines.append(f"        self.load_state_dict({root}.load({str(place / 'state_dict.pt')!r}))")
        code = self._graph.python_code(root_module="self")
        own = {name: value for name, value in code.globals.items() if name not in standard_globals()}
        text = "\n".join([*([import_lines(own)] if own else []), *lines, indent(self.code, "    "), ""])
        (place / "module.py").write_text(text, encoding="utf-8")
        (place / "__init__.py").write_text("from .module import *", encoding="utf-8")
        if whole:
            warnings.warn(
                "Was not able to save the following children modules as reprs -saved as pickled files instead: "
                f"{whole}",
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[Any, ...]:
        body = dict(self.__dict__)
        code = self.recompile()
        body.pop("_graph")
        return reduce_graph_module, (body, import_lines(code.globals))

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        body = copy.deepcopy(self.__dict__, memo)
        self._deepcopy_init()(copied, _CodeOnlyModule(body), body["_graph"])
        for name in (*_STATE_HOOKS, *_HOOKS):
            if name in self.__dict__:
                setattr(copied, name, copy.deepcopy(self.__dict__[name], memo))
        copied.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in copied.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(copied, name, value)
        for hook in self.__dict__.get("_deepcopy_hooks", ()):
            hook(copied)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self.graph)
        copied.meta = getattr(self, "meta", {})
        return copied

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Print the code of the module and of those below it that have a graph, and return it.

        >>> import torchlike
        >>> _ = torchlike.fx.symbolic_trace(lambda x: x + 1).print_readable()
        class <lambda>(torch.nn.Module):
            def forward(self, x):
                # No stacktrace found for following nodes
                add = x + 1;  x = None
                return add
        ...
        """
        options = {"include_stride": include_stride, "include_device": include_device, "colored": colored}
        text = _write_readable(self, self._get_name(), {**options, "additional_meta": additional_meta}, expanded_def)
        if print_output:
            print(text)  # noqa: T201  # what it is for
        return text

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, reminder])

    def _replicate_for_data_parallel(self) -> GraphModule:
        copied = self.__copy__()
        copied.__dict__["_is_replica"] = True
        return copied

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., object]) -> Iterator[None]:
        """Call ``f(old=, new=, user=)`` in a block when a node takes another one's place."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _hooks(self, name: str, f: Any) -> list[Any]:
        assert callable(f), f"{name.strip('_').removesuffix('_hooks')} hook must be a callable."
        hooks: list[Any] = getattr(self, name)
        return hooks

    def _register_replace_node_hook(self, f: Callable[..., object]) -> None:
        self._hooks("_replace_hooks", f).append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., object]) -> None:
        self._hooks("_replace_hooks", f).remove(f)

    def _register_create_node_hook(self, f: Callable[[Node], object]) -> None:
        self._hooks("_create_node_hooks", f).append(f)

    def _unregister_create_node_hook(self, f: Callable[[Node], object]) -> None:
        self._hooks("_create_node_hooks", f).remove(f)

    def _register_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        self._hooks("_erase_node_hooks", f).append(f)

    def _unregister_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        self._hooks("_erase_node_hooks", f).remove(f)

    def _register_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        self._hooks("_deepcopy_hooks", f).append(f)

    def _unregister_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        self._hooks("_deepcopy_hooks", f).remove(f)


def _is_plain_call(text: str) -> bool:
    """Return whether a text is a call with literals alone."""
    try:
        call = ast.parse(text, mode="eval").body
        values = [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
        for value in values:
            ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return False
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name)


def _write_readable(module: GraphModule, name: str, options: dict[str, Any], expanded_def: bool) -> str:
    """Return the code of a module and those below it as classes within each other."""
    code = module.graph.python_code(root_module="self", verbose=True, expanded_def=expanded_def, **options).src
    text = _indent_rest(f"class {name}(torch.nn.Module):\n{code.lstrip(chr(10))}")
    inner = [
        _write_readable(child, child_name, options, False)
        for child_name, child in module.named_children()
        if isinstance(child, GraphModule)
    ]
    return text + _indent_rest("\n".join(["", *inner]))


def _indent_rest(text: str) -> str:
    """Return a text with all lines but the first moved to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
