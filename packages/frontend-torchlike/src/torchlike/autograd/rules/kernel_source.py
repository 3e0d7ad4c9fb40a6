"""The sources of the kernel under an Autograd key, and of the method ``apply`` of the nodes that it makes.

The kernel runs the operator, and makes a node where an input requires grad.

For ``mul.Tensor`` and the formulas ``grad * other`` and ``grad * self``:

    def kernel(self, other):
        if grad_enabled():
            (e_self and e_other: the edges of inputs that require grad, or None)
            if e_self is not None or e_other is not None:
                (save the tensors that the formulas of wanted gradients use, with their versions)
                r = below(self, other)
                (make the node, the history of r)
                return r
        return below(self, other)

An in-place operator's kernel checks first that the change can be recorded, keeps a copy of its input where the formula uses
it, and rebases the history of the tensor instead of giving it a first one.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable

from dispatch_aten.derivatives import names_used
from dispatch_core.calls import define, indent, parse_expression

from .derivative import Derivative


def write_edges(names: Iterable[str], lists: Container[str], optional: Container[str]) -> list[str]:
    """Return the lines that find where the gradients of the inputs go; some are lists, and some may be None."""
    lines = []
    for name in names:
        if name in lists:
            wanted = "_t is not None and _t._dispatch_mask & AUTO and (_s := _read_state(_t)).requires_grad"
            lines += [f"e_{name} = [(_s.edge if type(_s) is View else _s) if {wanted} else None for _t in {name}]"]
            continue
        condition = f"{name}._dispatch_mask & AUTO"
        if name in optional:
            condition = f"{name} is not None and {condition}"
        lines += [f"e_{name} = None", f"if {condition}:", f"    _s = {name}._autograd"]
        # As `read_state`.
        found = f"{name}._state if _s[0]._dispatch_mask & AUTO else NO_HISTORY"
        lines += ["    if type(_s) is tuple:", f"        _s = {found}"]
        # Every other state is its own edge, and to ask for a property costs as much as all of this.
        lines += ["    if _s.requires_grad:", f"        e_{name} = _s.edge if type(_s) is View else _s"]
    return lines


def write_version(name: str, tensor: str = "") -> list[str]:
    """Return the lines that read a tensor's version into ``v_name``; 0 for None."""
    tensor = tensor or name
    return [
        f"v_{name} = 0",
        # Asking for a state would make one.
        f"_s = getattr({tensor}, '_autograd', None)",
        "if type(_s) is tuple:",
        f"    v_{name} = _read_version({tensor})",
        "elif _s is not None and _s.storage is not None:",
        f"    v_{name} = _s.storage.version",
    ]


def _write_condition(derivative: Derivative, names: list[str]) -> str:
    """Return the condition that a gradient by any of ``names`` is wanted."""
    return " or ".join(
        f"e_{name}.count(None) < len(e_{name})" if name in derivative.list_inputs else f"e_{name} is not None"
        for name in names
    )


def _write_saving(derivative: Derivative) -> list[str]:
    """Return the lines that keep input tensors and their versions, where a wanted gradient uses them."""
    lines = []
    every = list(derivative.gradients)
    for name in derivative.saved_inputs:
        users = derivative.users(name)
        always = set(users) == set(every)
        value = name
        if derivative.inplace and name == "self":
            value = "_clone(self)"
        if name in derivative.list_inputs:
            lines += [f"k_{name} = tuple({name})"]
            lines += [f"v_{name} = tuple(0 if _t is None else _read_version(_t) for _t in k_{name})"]
            continue
        lines += [f"k_{name} = None", f"v_{name} = 0"]
        conditions = [f"{name} is not None"] if name in derivative.optional_inputs else []
        conditions += [] if always else [f"({_write_condition(derivative, users)})"]
        first, *version = f"k_{name} = {value}", *write_version(name, f"k_{name}")
        if conditions:
            lines += [f"if {' and '.join(conditions)}:", *indent([first, *version[1:]])]
        else:
            lines = [*lines[:-2], first, *version]
    return lines + [f"{name} = {derivative.reading(name)}" for name in derivative.metadata if derivative.is_early(name)]


def _write_refusal(name: str, optional: Container[str]) -> list[str]:
    """Return the lines that refuse a tensor that requires grad and has no formula."""
    given = f"{name} is not None and " if name in optional else ""
    return [f"if {given}{name}._dispatch_mask & AUTO and {name}.requires_grad:", f"    raise _make_refusal({name!r})"]


def _write_node(derivative: Derivative) -> list[str]:
    """Return the lines that make the node."""
    lines = ["_n = Node_()"]
    parts = [f"*e_{name}" if name in derivative.list_inputs else f"e_{name}" for name in derivative.gradients]
    lines += [f"_n.next = ({', '.join(parts)},)", "_n.seq = _next(_sequence)"]
    if derivative.list_inputs & set(derivative.gradients):
        counts = [f"len(e_{name})" if name in derivative.list_inputs else "1" for name in derivative.gradients]
        lines += [f"_n.counts = ({', '.join(counts)},)"]
    if derivative.outputs == 1:
        # See `is_plain`.
        plain = ["_d = _r._dispatch_data", "_n.meta = _d.shape, _d.dtype"]
        lines += plain if derivative.plain_arrays else ["_n.meta = _r._shape_and_dtype()"]
    else:
        every = "[(_d.shape, _d.dtype) for _d in [_t._dispatch_data for _t in _r]]"
        if not derivative.plain_arrays or derivative.leaves_out:
            every = f"[{'None if _t is None else ' * derivative.leaves_out}_t._shape_and_dtype() for _t in _r]"
        lines += [f"_n.metas = tuple({every})"]
    return lines


def _write_keeping(derivative: Derivative) -> list[str]:
    """Return the lines that pass the saved values to the node."""
    lines = []
    kept = [f"k_{name}" for name in derivative.saved_inputs]
    for name in derivative.saved_results:
        number = derivative.results.index(name)
        value = "_r" if derivative.outputs == 1 else f"_r[{number}]"
        if derivative.outputs != 1:
            kept.append(f"Saved({value}, _make_storage({value}), {number})")
        elif derivative.inplace or derivative.view:
            kept.append(f"Saved({value}, {value}._state.shared_storage(), {number})")
        else:
            lines += ["_n.storage = Storage()"]
            kept.append(f"Saved({value}, _n.storage, {number})")
    if kept:
        lines += [f"_n.saved = ({', '.join(kept)},)"]
    if derivative.saved_inputs:
        lines += [f"_n.versions = ({', '.join(f'v_{name}' for name in derivative.saved_inputs)},)"]
    lines += [f"{name} = {derivative.reading(name)}" for name in derivative.metadata if not derivative.is_early(name)]
    if derivative.values:
        values = f"_n.values = ({', '.join(derivative.values)},)"
        # The node's class holds the defaults.
        others = " or ".join(f"{name} is not _default_{name}" for name in derivative.default_values)
        lines += [f"if {others}:", f"    {values}"] if others else [values]
    return lines


def write_attaching(derivative: Derivative) -> list[str]:
    """Return the lines that make the node the results' history."""
    if derivative.inplace:
        return ["_turn(self, _n)" if derivative.inplace_view else "_rebase(self, _n)"]
    if derivative.outputs == 1:
        if derivative.view:
            # A view has the Autograd bit already.
            return [
                "_s = getattr(_r, '_autograd', None)",
                "if type(_s) is tuple:",
                "    _s = _r._state",
                "if type(_s) is View:",
                "    _s.history = _n",
                "else:",
                "    _r._autograd = _n",
                *indent(_write_mark("_r")),
            ]
        return ["_r._autograd = _n", *_write_mark("_r")]
    if derivative.outputs and derivative.differentiable_results is not None:
        # Those of which torch says so have a type that gradients have.
        lines = []
        for number, is_differentiable in enumerate(derivative.differentiable_results):
            if is_differentiable:
                lines += [f"_t = _r[{number}]", *_write_output(str(number))]
        return lines
    if derivative.view:
        # Parts of a tensor that requires grad, whose type is one that gradients have.
        return ["for _i, _t in enumerate(_r):", *indent(_write_output("_i"))]
    return [
        "for _i, _t in enumerate(_r):",
        f"    if {'_t is not None and ' * derivative.leaves_out}_dtype(_t).is_differentiable:",
        *indent(indent(_write_output("_i"))),
    ]


def _write_output(number: str) -> list[str]:
    """Return the lines that make a node the history of one of its results, ``_t``."""
    return [
        f"_o, _s = Output(_n, {number}), getattr(_t, '_autograd', None)",
        "if _s is None:",
        "    _t._autograd = _o",
        *indent(_write_mark("_t")),
        "else:",
        "    if type(_s) is tuple:",
        "        _s = _t._state",
        "    if _s.is_view:",
        "        _s.history = _o",
        "        if _s.refusal is None:",
        "            _s.refusal = ONE_OF_SEVERAL",
        "    else:",
        "        _o.storage = _s.storage",
        "        _t._autograd = _o",
        *indent(indent(_write_mark("_t"))),
    ]


def _write_mark(name: str) -> list[str]:
    """Return the lines that set a result's Autograd bit, which needs no look-up where the result has the usual mask."""
    return [
        f"_m = {name}._dispatch_mask",
        f"{name}._dispatch_mask = RECORDED if _m == BELOW else _m | _bits[_m]",
    ]


def write_kernel_source(derivative: Derivative) -> str:
    """Return the source of the kernel."""
    call = f"_below({derivative.parameters})"
    body = ["_check_inplace(self)"] if derivative.inplace else []
    body += _write_saving(derivative)
    body += [f"_r = {call}"]
    if derivative.result_may_be_integral:
        body += ["if not _dtype(_r).is_differentiable:", "    return _r"]
    if derivative.inplace:
        # A tensor that requires grad has a type that gradients have; integers take values that require grad, but no history.
        body += ["if e_self is None and not _dtype(self).is_differentiable:", "    return _r"]
    body += _write_node(derivative)
    if derivative.inplace or derivative.outputs == 1:
        body += [*_write_keeping(derivative), *write_attaching(derivative)]
    else:
        body += [*write_attaching(derivative), *_write_keeping(derivative)]
    body += ["return _r"]
    condition = f"if {_write_condition(derivative, list(derivative.gradients))}:"
    edges = write_edges(derivative.gradients, derivative.list_inputs, derivative.optional_inputs)
    recorded = [line for name in derivative.refused for line in _write_refusal(name, derivative.optional_inputs)]
    recorded += [*edges, condition, *indent(body)]
    return define(f"kernel({derivative.parameters})", ["if _grad_enabled():", *indent(recorded), f"return {call}"])


# The source of a node's ``apply``: gradients of results in, of inputs out.


def _share_calls(formulas: list[str], *, with_grad: bool) -> tuple[list[str], list[str]]:
    """Share one call between formulas that take items of it; return the lines that call, and the formulas.

    Unless a gradient is there in any case (``with_grad``), a call that takes it is made only where it is.
    """
    users: dict[str, list[int]] = {}
    for index, formula in enumerate(formulas):
        calls = (
            ast.unparse(node.value)
            for node in ast.walk(parse_expression(formula))
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
