"""The source of a node's ``apply``, made of an overload's derivative formulas: gradients of results in, of inputs out."""

from __future__ import annotations

import ast

from dispatch_aten.derivatives import names_used
from dispatch_core.calls import define

from .derivative import Derivative


def _share_calls(formulas: list[str], *, with_grad: bool) -> tuple[list[str], list[str]]:
    """Share one call between formulas that take items of it; return the lines that call, and the formulas.

    Unless a gradient is there in any case (``with_grad``), a call that takes it is made only where it is.
    """
    users: dict[str, list[int]] = {}
    for index, formula in enumerate(formulas):
        calls = (
            ast.unparse(node.value)
            for node in ast.walk(ast.parse(formula, mode="eval"))
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call)
        )
        for call in dict.fromkeys(calls):
            users.setdefault(call, []).append(index)
    lines, found = [], list(formulas)
    for number, (call, indices) in enumerate(users.items()):
        if len(indices) > 1:
            wanted = " or ".join(f"w_{index} is not None" for index in indices)
            if not with_grad and "grad" in names_used(call):
                wanted = f"grad is not None and ({wanted})"
            lines.append(f"shared_{number} = {call} if {wanted} else None")
            for index in indices:
                found[index] = found[index].replace(call, f"shared_{number}")
    return lines, found


def write_node_source(derivative: Derivative, *, conjugates: bool = True) -> str:
    """Return the source of ``apply``: unpack the saved values, check them, compute the gradients that are wanted.

    `_ConjugatedBackward` calls the source without ``conjugates`` for complex gradients.
    """
    lines: list[str] = []
    if derivative.outputs == 1:
        lines += ["grad = grads[0]", "if grad is None:", "    return (None,) * len(node.next)"]
    else:
        lines += ["if all(grad is None for grad in grads):", "    return (None,) * len(node.next)"]
        lines += ["grad = grads[0]"] if "grad" in derivative.names else []
    if conjugates and derivative.outputs == 1 and derivative.has_factors:
        found = "grad._dispatch_data.dtype in COMPLEX" if derivative.plain_arrays else "_dtype(grad).is_complex"
        lines += [f"if {found}:", "    return conjugated(node, grads)"]
    tensors = [*derivative.saved_inputs, *derivative.saved_results]
    if tensors:
        lines += ["saved = node.saved", "if saved is None:", "    raise make_released_error()"]
        lines += [f"{', '.join(tensors)}, = saved"]
        inputs = derivative.saved_inputs
        if inputs:
            lines += [f"{', '.join(f'v_{name}' for name in inputs)}, = node.versions"]
        for name in inputs:
            if name in derivative.list_inputs:
                lines += [f"for each, version in zip({name}, v_{name}, strict=True):"]
                lines += ["    if each is not None and read_version(each) != version:"]
                lines += ["        raise make_version_error(each, version)"]
            else:
                # `read_version`, without the call.
                lines += [f"_s = getattr({name}, '_autograd', None)"]
                lines += ["if type(_s) is tuple:", f"    _v = read_version({name})"]
                lines += ["else:", "    _v = 0 if _s is None or _s.storage is None else _s.storage.version"]
                lines += [f"if _v != v_{name}:", f"    raise make_version_error({name}, v_{name})"]
        lines += [f"{name} = restore_result({name}, node)" for name in derivative.saved_results]
    if derivative.frees_values:
        lines += ["if node.values is None:", "    raise make_released_error()"]
    if derivative.values:
        lines += [f"{', '.join(derivative.values)}, = node.values"]
    if not derivative.list_inputs & set(derivative.gradients):
        wants = ", ".join(f"w_{index}" for index in range(len(derivative.gradients)))
        lines += [f"{wants}, = node.next"]
        if "grad_input_mask" in derivative.names:
            lines += [
                f"grad_input_mask = [{', '.join(f'w_{i} is not None' for i in range(len(derivative.gradients)))}]"
            ]
        shared, formulas = _share_calls(list(derivative.gradients.values()), with_grad=derivative.outputs == 1)
        lines += shared
        results = [f"{formula} if w_{index} is not None else None" for index, formula in enumerate(formulas)]
        return define("apply(node, grads)", [*lines, f"return ({', '.join(results)},)"])
    lines += ["found = []", "start = 0", "counts = iter(node.counts)"]
    for name in derivative.gradients:
        lines += ["count = next(counts)", "wanted = node.next[start:start + count]", "start += count"]
        one = (
            f"found.extend({derivative.gradients[name]})"
            if name in derivative.list_inputs
            else (f"found.append({derivative.gradients[name]})")
        )
        lines += ["if any(edge is not None for edge in wanted):", f"    {one}"]
        lines += ["else:", "    found += [None] * count"]
    return define("apply(node, grads)", [*lines, "return tuple(found)"])
