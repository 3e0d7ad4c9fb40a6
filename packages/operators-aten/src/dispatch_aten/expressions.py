"""Composites written as expressions: ``self * sigmoid(self * a)``, with the operator's arguments by name.

A sign becomes a call of the overload that fits what stands on its sides, tensors or numbers, in the order of the
operands: promotion is the overload's. The name of an operator becomes a call of it, any other name one of the module's.
A part that is read again is named where it stands first, as ``gate`` in ``(gate := sigmoid(self)) * (1 - gate)``.

>>> spell("self * sigmoid(self * a) - 1", frozenset({"self"}), {})
'aten.sub.Scalar(aten.mul.Tensor(self, aten.sigmoid.default(aten.mul.Scalar(self, a))), 1)'
>>> spell("2 - le(other, self)", frozenset({"self", "other"}), {})
'aten.rsub.Scalar(aten.le.Tensor(other, self), 2)'
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.calls import parse_expression
from dispatch_core.schema import FunctionSchema

from .families import overload_names
from .operators import KIND_OF

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIGNS: Final[dict[type[ast.AST], str]] = {
    getattr(ast, sign): name
    for sign, name in zip(
        "Add Sub Mult Div Pow Eq NotEq Lt LtE Gt GtE".split(),
        "add sub mul div pow eq ne lt le gt ge".split(),
        strict=True,
    )
}
#: The overloads that are looked for, by which of them are tensors.
_OVERLOADS: Final[dict[tuple[bool, ...], tuple[str, ...]]] = {
    (True,): ("",),
    (True, True): (".Tensor", ".Tensor_Tensor", ""),
    (True, False): (".Scalar", ".Tensor_Scalar", ""),
    (False, True): (".Scalar_Tensor",),
    (True, True, True): (".self", ".Tensor", ""),
    (True, False, True): (".ScalarSelf",),
    (True, True, False): (".ScalarOther", ".Scalar", ""),
    (True, False, False): (".Scalar", ""),
}
#: Operators of which a number on the left stands on the right of another one.
_TURNED: Final = {"add": "add.Scalar", "mul": "mul.Scalar", "sub": "rsub.Scalar"}


def read_expression(schema: str, expression: str, names: Mapping[str, Any]) -> str | None:
    """Return the source of a function of an operator's arguments, or None where the expression reads none of them."""
    arguments = FunctionSchema.parse(schema).arguments
    tree = parse_expression(expression)
    if isinstance(tree.body, ast.Lambda) or not _names_read(tree) & {each.name for each in arguments}:
        return None
    parameters = []
    for each in arguments:
        if each.kwarg_only and "*" not in parameters:
            parameters.append("*")
        parameters.append(f"{each.name}={each.default!r}" if each.has_default else each.name)
    tensors = frozenset(each.name for each in arguments if "Tensor" in str(each.type))
    return f"lambda {', '.join(parameters)}: {spell(expression, tensors, names)}"


def _names_read(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def spell(expression: str, tensors: frozenset[str], names: Mapping[str, Any]) -> str:
    """Return an expression with calls of overloads; ``names`` are those of the module's functions."""
    tree = parse_expression(expression)
    return ast.unparse(_Speller(tensors, names).visit(tree))


class _Speller(ast.NodeTransformer):
    """Replaces signs and names of operators by calls, from the inside."""

    def __init__(self, tensors: frozenset[str], names: Mapping[str, Any]) -> None:
        self.tensors, self.names = tensors, names

    def _is_tensor(self, node: ast.AST) -> bool:
        return bool(_names_read(node) & (self.tensors | {"aten"}))

    def _call(self, name: str, *operands: ast.expr) -> ast.expr:
        are_tensors = tuple(map(self._is_tensor, operands))
        if are_tensors == (False, True) and name in _TURNED:
            return _make_call(_TURNED[name], operands[1], operands[0])
        overloads = _OVERLOADS.get(are_tensors, ("",))
        return _make_call(
            next((name + each for each in overloads if name + each in KIND_OF), ""), *operands, packet=name
        )

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:  # the ast module's name
        self.generic_visit(node)
        if self._is_tensor(node.value):
            self.tensors |= {node.target.id}
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # the ast module's name
        self.generic_visit(node)
        if not self._is_tensor(node):
            return node
        return self._call(_SIGNS[type(node.op)], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # the ast module's name
        self.generic_visit(node)
        if not self._is_tensor(node):
            return node
        (sign,), (right,) = node.ops, node.comparators
        return self._call(_SIGNS[type(sign)], node.left, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # the ast module's name
        self.generic_visit(node)
        return self._call("neg", node.operand) if self._is_tensor(node) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:  # the ast module's name
        node.args = [self.visit(each) for each in node.args]
        node.keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        if not isinstance(node.func, ast.Name) or node.func.id in self.names or node.func.id not in overload_names():
            return node
        made = self._call(node.func.id, *node.args)
        assert isinstance(made, ast.Call)
        made.keywords = node.keywords
        return made


def _make_call(name: str, *operands: ast.expr, packet: str = "") -> ast.Call:
    """Make a call of an overload, or, where none is known by the operands, of the packet, which looks at them."""
    whole = name if "." in name else f"{name}.default" if name else packet
    return ast.Call(parse_expression(f"aten.{whole}").body, [*operands], [])
