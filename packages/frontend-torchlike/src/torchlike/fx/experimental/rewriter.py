"""Functions whose assertions and annotations are traced, too (source: ``torch.fx.experimental.rewriter``)."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, cast

from ...nn.modules.module import Module
from ...surface.conditions import _assert
from ..annotate import annotate
from ..graph import Graph
from ..proxy import Proxy
from ..tracing.tracer import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]

#: Names of free variables of rewritten functions.
_ASSERT, _ANNOTATE = "_fx_assert", "_fx_annotate"


def _record_assertion(condition: Any, message: str) -> None:
    """Add a node that checks a proxy, and check other values at once."""
    if isinstance(condition, Proxy):
        condition.tracer.create_proxy("call_function", _assert, (condition, message), {})
    else:
        _assert(condition, message)


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801  # torch's name
    """Makes calls of assertions, and of assignments with a type."""

    def rewrite(self, fn: Any) -> Any:
        """Return the function with its assertions as calls; it keeps its global variables, defaults and free variables."""
        method = fn.__func__ if inspect.ismethod(fn) else fn
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        definition = self.visit(tree).body[0]
        definition.decorator_list = []
        free = [*method.__code__.co_freevars, _ASSERT, _ANNOTATE]
        # Within a function that has its free variables, as it was.
        outer = ast.parse(f"def make({', '.join(free)}):\n    pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.body = [definition]
        module = ast.fix_missing_locations(ast.Module([outer], []))
        code = _find_code(_find_code(compile(module, inspect.getfile(method), "exec"), "make"), method.__name__)
        cells = dict(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
        cells |= {_ASSERT: _cell(_record_assertion), _ANNOTATE: _cell(annotate)}
        made = FunctionType(
            code,
            method.__globals__,
            method.__name__,
            method.__defaults__,
            tuple(cells[name] for name in code.co_freevars),
        )
        made.__kwdefaults__ = copy.copy(method.__kwdefaults__)
        functools.update_wrapper(made, method)
        del made.__dict__["__wrapped__"]
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # the class's way
        """Return a call that checks the condition."""
        call = ast.Call(ast.Name(_ASSERT, ast.Load()), [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # as above
        """Return an assignment of a value that is given the type."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name(_ANNOTATE, ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _cell(value: Any) -> Any:
    def hold() -> Any:
        return value

    return cast("tuple[Any, ...]", hold.__closure__)[0]


def _find_code(code: CodeType, name: str) -> CodeType:
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)


class RewritingTracer(Tracer):
    """Traces functions and modules with their assertions, which become nodes.

    >>> import torchlike
    >>> def positive(x):
    ...     assert x.sum() > 0, "negative"
    ...     return x
    >>> print(RewritingTracer().trace(positive))  # doctest: +SKIP
    """

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
    ) -> Graph:
        """Return the graph of the rewritten module or function."""
        return super().trace(
            _rewrite_module(root) if isinstance(root, Module) else AST_Rewriter().rewrite(root), concrete_args
        )


def _rewrite_module(module: Module) -> Module:
    """Return a copy of a module, and of those below it, whose ``forward`` is rewritten; those of ``nn`` stay."""
    copied = copy.copy(module)
    copied._modules = {
        name: None if child is None else _rewrite_module(child) for name, child in module._modules.items()
    }
    if not type(module).__module__.startswith(("torch.nn", "torchlike.nn")):
        body = {"forward": AST_Rewriter().rewrite(module.forward), "__module__": type(module).__module__}
        copied.__class__ = type("RewrittenModule", (type(module),), body)
    return copied
