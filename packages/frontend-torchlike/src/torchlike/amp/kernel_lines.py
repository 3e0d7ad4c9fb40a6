"""The kernels under the Autocast keys as source lines, which calls in a block have in their own code.

They find out themselves that nothing is to be cast, and call a function of `kernels` for each tensor that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dispatch_core.calls import indent

from ..names.lazy_names import import_lazily

if TYPE_CHECKING:
    from .kernels import OperatorCasts
else:
    OperatorCasts = import_lazily("torchlike.amp.kernels", "OperatorCasts")


def write_kernel(call: OperatorCasts, policy: str, words: Sequence[str]) -> list[str]:
    """Return the lines of a policy's kernel for the names of all arguments."""
    run = _write_run(call, words)
    lines = [
        "__b = __choices()",
        "__d = None if __b is None else __b.active.get(__device)",
        "if __d is None:",
        *indent(run),
    ]
    tensors, lists = [words[index] for index in call.tensors], [words[index] for index in call.lists]
    if policy in ("lower_precision_fp", "fp32") and not lists:
        return [*lines, *_write_casts(call, words, "__float32" if policy == "fp32" else "__d")]
    if policy == "promote":
        lines += _write_promotion(call, tensors, lists, run)
    return [*lines, f"return __act(__call, ({''.join(f'{word}, ' for word in words)}), __d)"]


def _write_casts(call: OperatorCasts, words: Sequence[str], wanted: str) -> list[str]:
    """Return the lines that cast each tensor of another dtype; a tensor that follows itself is cast once where it may be."""
    lines, cast, before = [], [*words], -1
    for index in call.tensors:
        word, made = words[index], f"__p{index}"
        value = f"{word} if (__x := {word}.dtype) is {wanted} else __cast({word}, __x, {wanted})"
        if before >= 0 and call.joins_casts:
            value = f"{cast[before]} if {word} is {words[before]} else {value}"
        if call.is_optional(index):
            value = f"None if {word} is None else {value}"
        lines.append(f"{made} = {value}")
        cast[index], before = made, index
    return [*lines, *_write_run(call, cast)]


def _write_promotion(
    call: OperatorCasts, tensors: Sequence[str], lists: Sequence[str], run: Sequence[str]
) -> list[str]:
    """Return the lines that run a call of tensors of one dtype, if these are a list, or a fixed number and all given."""
    if tensors and not lists and not any(map(call.is_optional, call.tensors)):
        tests = ["(__x is __d or __x is __float32)", *(f"{word}.dtype is __x" for word in tensors[1:])]
        return [f"__x = {tensors[0]}.dtype", f"if {' and '.join(tests)}:", *indent(run)]
    if tensors or len(lists) != 1:
        return []
    items = lists[0]
    loop = [
        f"for __i in {items}:",
        "    if __i is None or __i.dtype is not __x:",
        "        break",
        "else:",
        *indent(run),
    ]
    lines = [f"__x = {items}[0].dtype", "if __x is __d or __x is __float32:", *indent(loop)]
    return [f"if {items} and {items}[0] is not None:", *indent(lines)]


def _write_run(call: OperatorCasts, words: Sequence[str]) -> list[str]:
    """Return the lines that run the call below; a composite as an ordinary call, where nothing else is masked."""
    lines = [f"return __below({', '.join(words)})"]
    if not call.runs_plainly:
        return lines
    pairs = zip(words, call.arguments, strict=True)
    given = ", ".join(f"{each.name}={word}" if each.kwarg_only else word for word, each in pairs)
    plainly = ["__t = __set[None]", "try:", f"    return __op({given})", "finally:", "    __reset(__t)"]
    return ["if __c == __own:", *indent(plainly), *lines]
