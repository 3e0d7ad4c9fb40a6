"""The functions that compute what others do whose numbers are the host's, with the numbers in tensors, as data.

Everything that a function gets is part of a captured model, but for the elements of its tensors. So a plan with numbers that
change has a model only where each such number is an element: see Note [Numbers of graphs] in ``plan.numbers``.

>>> FORMS["aclnnMuls", frozenset({"other"})].calls
(FormCall(function='aclnnMul', arguments=('self', 'other', 'out'), condition=''),)
"""

from __future__ import annotations

from typing import Final, NamedTuple

from .table import split_arguments

#: A row: a function, its arguments that change, and the calls instead. A call has the names of the function's arguments, of
#: which those that change are tensors of one element; ``new`` is a new array for the first result of it, ``drawn`` how many
#: numbers the run has drawn before, and any other expression with a number that changes is a number itself. After ``if``
#: stands when the call is needed. Rows that begin with ``~`` round a result once more than the function does.
_ROWS: Final = """
Adds other                  Add(self, other, alpha, out)
InplaceAdds other           InplaceAdd(selfRef, other, alpha)
Subs other                  Sub(self, other, alpha, out)
InplaceSubs other           InplaceSub(selfRef, other, alpha)
Rsubs other                 Rsub(self, other, alpha, out)
Add alpha                   Addcmul(self, other, alpha, 1, out)
InplaceAdd alpha            InplaceAddcmul(selfRef, other, alpha, 1)
Sub alpha                   Addcmul(self, other, alpha, -1, out)
InplaceSub alpha            InplaceAddcmul(selfRef, other, alpha, -1)
Muls other                  Mul(self, other, out)
InplaceMuls other           InplaceMul(selfRef, other)
Divs other                  Div(self, other, out)
InplaceDivs other           InplaceDiv(selfRef, other)
RemainderTensorScalar other RemainderTensorTensor(self, other, out)
FmodScalar other            FmodTensor(self, other, out)
PowTensorScalar exponent    PowTensorTensor(self, exponent, out)
InplacePowTensorScalar exponent InplacePowTensorTensor(self, exponent)
PowScalarTensor self        PowTensorTensor(self, exponent, out)
Lerps weight                Lerp(self, end, weight, out)
InplaceLerps weight         InplaceLerp(selfRef, end, weight)
~Addcmul value              Mul(tensor1, tensor2, new); Addcmul(self, new, value, 1, out)
~InplaceAddcmul value       Mul(tensor1, tensor2, new); InplaceAddcmul(selfRef, new, value, 1)
Addcdiv value               Div(tensor1, tensor2, new); Addcmul(self, new, value, 1, out)
InplaceAddcdiv value        Div(tensor1, tensor2, new); InplaceAddcmul(selfRef, new, value, 1)
ClampMin clipValueMin       ClampMinTensor(self, clipValueMin, out)
ClampMax clipValueMax       ClampMaxTensor(self, clipValueMax, out)
EqScalar other              EqTensor(self, other, out)
NeScalar other              NeTensor(self, other, out)
LtScalar other              LtTensor(self, other, out)
LeScalar other              LeTensor(self, other, out)
GtScalar other              GtTensor(self, other, out)
GeScalar other              GeTensor(self, other, out)
InplaceMaskedFillScalar value InplaceMaskedFillTensor(selfRef, mask, value)
InplaceFillScalar value     InplaceFillTensor(selfRef, value)
~ApplyAdamWV2 lr            InplaceMul(varRef, 1 - single(lr) * single(weightDecay)) if weightDecay; InplaceZero(new); \
ApplyAdamWV2(new, mRef, vRef, maxGradNormOptionalRef, grad, step, 1.0, beta1, beta2, 0.0, eps, amsgrad, maximize); \
InplaceAddcmul(varRef, new, lr, 1)
InplaceUniform seed offset  InplaceUniformTensor(selfRef, from, to, seed, offset, drawn)
InplaceNormal seed offset   InplaceNormalTensor(selfRef, mean, std, seed, offset, drawn)
InplaceRandom seed offset   InplaceRandomTensor(selfRef, from, to, seed, offset, drawn)
DropoutGenMask seed offset  DropoutGenMaskV2Tensor(shape, prob, seed, offset, drawn, FLOAT, out)
"""


class FormCall(NamedTuple):
    """One call of a form: a function, its arguments, and when it is needed, ``""`` for always."""

    function: str
    arguments: tuple[str, ...]
    condition: str


class TensorForm(NamedTuple):
    """The calls in a function's place, and whether they round a result once more than it does."""

    calls: tuple[FormCall, ...]
    rounds_twice: bool


def _parse_call(text: str) -> FormCall:
    call, _, condition = text.partition(" if ")
    name, _, arguments = call.removesuffix(")").partition("(")
    return FormCall(f"aclnn{name}", split_arguments(arguments), condition)


def _forms() -> dict[tuple[str, frozenset[str]], TensorForm]:
    found = {}
    for line in filter(None, _ROWS.splitlines()):
        head, _, calls = line.partition("(")
        *names, first = head.split()
        function, *live = names
        parsed = tuple([_parse_call(each) for each in f"{first}({calls}".split("; ")])
        found[f"aclnn{function.removeprefix('~')}", frozenset(live)] = TensorForm(parsed, function.startswith("~"))
    return found


#: A function and its arguments that change → the calls instead.
FORMS: Final = _forms()
