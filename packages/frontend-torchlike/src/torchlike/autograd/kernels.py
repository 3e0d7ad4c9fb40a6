"""The kernels under the Autograd keys, generated for each overload from its schema and derivative formula.

A kernel runs the operator below autograd and, where grad mode is on and an input requires grad, makes one node with what the
formula needs. Both the kernel and its node's class are Python source made for the overload (`kernel_source`,
`node_source`), so that a call looks nothing up. For ``mul.Tensor`` and the formulas ``grad * other`` and ``grad * self``:

    def kernel(self, other):
        if grad_enabled():
            (e_self and e_other: the edges of inputs that require grad, or None)
            if e_self is not None or e_other is not None:
                (save the tensors that the formulas of wanted gradients use, with their versions)
                r = below(self, other)
                (make the node and give it to r)
                return r
        return below(self, other)

An in-place operator's kernel checks first that the change can be recorded, keeps a copy of its input where the formula uses
it, and rebases the history of the tensor instead of giving it a first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.formulas import conjugate
from dispatch_core.arrays import KEY_TYPES
from dispatch_core.keys import ARRAYS, AUTOGRAD, keys_of

from ..views import ONE_OF_SEVERAL, View
from .derivative import Recipe
from .device_keys import AUTOGRAD_BITS
from .grad_mode import is_grad_enabled
from .inplace import check_inplace, rebase
from .metadata import is_plain
from .node import Node, Output, sequence
from .saved import Saved, give_back, released, version_error, version_of

__all__ = ["kernel_source", "make_kernel", "node_name", "node_source"]


def node_name(name: str, number: int = 0) -> str:
    """Give the name of an operator's node in torch's manner.

    >>> node_name("aten::log_softmax.int"), node_name("aten::add_.Tensor")
    ('LogSoftmaxBackward0', 'AddBackward0')
    """
    base = name.rpartition("::")[2].partition(".")[0].removesuffix("_forward")
    return re.sub(r"(?:^|_+)([a-zA-Z0-9])", lambda found: found[1].upper(), base.rstrip("_")) + f"Backward{number}"


def node_source(recipe: Recipe, *, conjugates: bool = True) -> str:
    """Give the source of ``apply``: unpack what was saved, check it, compute the gradients that are wanted.

    Without ``conjugates`` it is what `_Conjugated` calls for gradients that are complex.
    """
    lines = ["def apply(node, grads):"]
    if recipe.outputs == 1:
        lines += ["    grad = grads[0]", "    if grad is None:", "        return (None,) * len(node.next)"]
    else:
        lines += ["    if all(grad is None for grad in grads):", "        return (None,) * len(node.next)"]
        lines += ["    grad = grads[0]"] if "grad" in recipe.names else []
    if conjugates and recipe.outputs == 1 and recipe.has_factors:
        found = "grad._dispatch_data.dtype in COMPLEX" if recipe.plain_arrays else "_dtype(grad).is_complex"
        lines += [f"    if {found}:", "        return conjugated(node, grads)"]
    tensors = [*recipe.saved_inputs, *recipe.saved_results]
    if tensors:
        lines += ["    saved = node.saved", "    if saved is None:", "        raise released()"]
        lines += [f"    {', '.join(tensors)}, = saved"]
        inputs = recipe.saved_inputs
        if inputs:
            lines += [f"    {', '.join(f'v_{name}' for name in inputs)}, = node.versions"]
        for name in inputs:
            if name in recipe.list_inputs:
                lines += [f"    for each, version in zip({name}, v_{name}, strict=True):"]
                lines += ["        if each is not None and version_of(each) != version:"]
                lines += ["            raise version_error(each, version)"]
            else:
                lines += [f"    if {name} is not None and version_of({name}) != v_{name}:"]
                lines += [f"        raise version_error({name}, v_{name})"]
        lines += [f"    {name} = give_back({name}, node)" for name in recipe.saved_results]
    if recipe.values:
        lines += [f"    {', '.join(recipe.values)}, = node.values"]
    if not recipe.list_inputs & set(recipe.gradients):
        wants = ", ".join(f"w_{index}" for index in range(len(recipe.gradients)))
        lines += [f"    {wants}, = node.next"]
        results = [
            f"{recipe.gradients[name]} if w_{index} is not None else None"
            for index, name in enumerate(recipe.gradients)
        ]
        return "\n".join([*lines, f"    return ({', '.join(results)},)"]) + "\n"
    lines += ["    found = []", "    start = 0", "    counts = iter(node.counts)"]
    for name in recipe.gradients:
        lines += ["    count = next(counts)", "    wanted = node.next[start:start + count]", "    start += count"]
        one = (
            f"found.extend({recipe.gradients[name]})"
            if name in recipe.list_inputs
            else (f"found.append({recipe.gradients[name]})")
        )
        lines += ["    if any(edge is not None for edge in wanted):", f"        {one}"]
        lines += ["    else:", "        found += [None] * count"]
    return "\n".join([*lines, "    return tuple(found)"]) + "\n"


def _edges(recipe: Recipe) -> list[str]:
    """Give the lines that find where the gradients of the inputs go."""
    lines = []
    for name in recipe.gradients:
        if name in recipe.list_inputs:
            wanted = "_t is not None and _t._dispatch_mask & AUTO and _t._autograd.requires_grad"
            lines += [f"e_{name} = [_t._autograd.edge if {wanted} else None for _t in {name}]"]
            continue
        condition = f"{name}._dispatch_mask & AUTO"
        if name in recipe.optional_inputs:
            condition = f"{name} is not None and {condition}"
        lines += [f"e_{name} = None", f"if {condition}:", f"    _s = {name}._autograd"]
        # Every other state is its own edge, and to ask for a property costs as much as all of this.
        lines += ["    if _s.requires_grad:", f"        e_{name} = _s.edge if type(_s) is View else _s"]
    return lines


def _wanted(recipe: Recipe, names: list[str]) -> str:
    """Give the condition that a gradient by any of ``names`` is wanted."""
    return " or ".join(
        f"any(_e is not None for _e in e_{name})" if name in recipe.list_inputs else f"e_{name} is not None"
        for name in names
    )


def _save(recipe: Recipe) -> list[str]:
    """Give the lines that keep input tensors and their versions, where a wanted gradient uses them."""
    lines = []
    every = list(recipe.gradients)
    for name in recipe.saved_inputs:
        users = recipe.users(name)
        always = set(users) == set(every)
        value = name
        if recipe.inplace and name == "self":
            value = "_clone(self)"
        if name in recipe.list_inputs:
            lines += [f"k_{name} = tuple({name})"]
            lines += [f"v_{name} = tuple(0 if _t is None else _version_of(_t) for _t in k_{name})"]
            continue
        lines += [f"k_{name} = None", f"v_{name} = 0"]
        conditions = [f"{name} is not None"] if name in recipe.optional_inputs else []
        conditions += [] if always else [f"({_wanted(recipe, users)})"]
        body = [
            f"k_{name} = {value}",
            # Asking for a state would make one.
            f"_s = getattr(k_{name}, '_autograd', None)",
            "if _s is not None and _s.storage is not None:",
            f"    v_{name} = _s.storage.version",
        ]
        if conditions:
            lines += [f"if {' and '.join(conditions)}:", *(f"    {line}" for line in body)]
        else:
            lines = [*lines[:-2], *body[:1], f"v_{name} = 0", *body[1:]]
    return lines + [f"{name} = {recipe.reading(name)}" for name in recipe.metadata if recipe.is_early(name)]


def _node(recipe: Recipe) -> list[str]:
    """Give the lines that make the node."""
    lines = ["_n = Node_()"]
    parts = [f"*e_{name}" if name in recipe.list_inputs else f"e_{name}" for name in recipe.gradients]
    lines += [f"_n.next = ({', '.join(parts)},)", "_n.seq = _next(_sequence)"]
    if recipe.list_inputs & set(recipe.gradients):
        counts = [f"len(e_{name})" if name in recipe.list_inputs else "1" for name in recipe.gradients]
        lines += [f"_n.counts = ({', '.join(counts)},)"]
    if recipe.outputs == 1:
        # See `is_plain`.
        plain = ["_d = _r._dispatch_data", "_n.meta = _d.shape, _d.dtype"]
        lines += plain if recipe.plain_arrays else ["_n.meta = _r._meta()"]
    else:
        lines += ["_n.metas = tuple([_t._meta() for _t in _r])"]
    return lines


def _keep(recipe: Recipe) -> list[str]:
    """Give the lines that hand the node what was saved."""
    lines = []
    kept = [f"k_{name}" for name in recipe.saved_inputs]
    for name in recipe.saved_results:
        number = recipe.results.index(name)
        value = "_r" if recipe.outputs == 1 else f"_r[{number}]"
        storage = "_r._state.shared_storage()" if recipe.inplace or recipe.view else "_n.shared_storage()"
        if recipe.outputs != 1:
            storage = f"{value}._state.shared_storage()"
        kept.append(f"Saved({value}, {storage}, {number})")
    if kept:
        lines += [f"_n.saved = ({', '.join(kept)},)"]
    if recipe.saved_inputs:
        lines += [f"_n.versions = ({', '.join(f'v_{name}' for name in recipe.saved_inputs)},)"]
    lines += [f"{name} = {recipe.reading(name)}" for name in recipe.metadata if not recipe.is_early(name)]
    if recipe.values:
        values = f"_n.values = ({', '.join(recipe.values)},)"
        # The node's class holds the defaults.
        others = " or ".join(f"{name} is not _default_{name}" for name in recipe.default_values)
        lines += [f"if {others}:", f"    {values}"] if others else [values]
    return lines


def _attach(recipe: Recipe) -> list[str]:
    """Give the lines that make the node the results' history."""
    if recipe.inplace:
        return ["_rebase(self, _n)"]
    if recipe.outputs == 1:
        if recipe.view:
            return [
                "if _r._state.is_view:",
                "    _r._state.history = _n",
                "else:",
                "    _r._autograd = _n",
                *_mark("_r"),
            ]
        return ["_r._autograd = _n", *_mark("_r")]
    lines = ["for _i, _t in enumerate(_r):"]
    if recipe.differentiable_results is not None:
        lines += [f"    if not {recipe.differentiable_results!r}[_i]:", "        continue"]
    lines += [
        "    if _dtype(_t).is_differentiable:",
        "        _o, _s = Output(_n, _i), _t._state",
        "        if _s.is_view:",
        "            _s.history = _o",
        "            if _s.refusal is None:",
        "                _s.refusal = ONE_OF_SEVERAL",
        "        else:",
    ]
    lines += [
        "            _o.storage = _s.storage",
        "            _t._autograd = _o",
        *(f"        {line}" for line in _mark("_t")),
    ]
    return lines


def _mark(name: str) -> list[str]:
    """Give the lines that set a result's Autograd bit, which needs no look-up where the result has the usual mask."""
    return [
        f"_m = {name}._dispatch_mask",
        f"{name}._dispatch_mask = RECORDED if _m == BELOW else _m | _bits[_m]",
    ]


def kernel_source(recipe: Recipe) -> str:
    """Give the source of the kernel."""
    call = f"_below({recipe.parameters})"
    lines = [f"def kernel({recipe.parameters}):", "    if _grad_enabled():"]
    inner = [*_edges(recipe), f"if {_wanted(recipe, list(recipe.gradients))}:"]
    body = ["_check_inplace(self)"] if recipe.inplace else []
    body += _save(recipe)
    body += [f"_r = {call}"]
    if recipe.result_may_be_integral:
        body += ["if not _dtype(_r).is_differentiable:", "    return _r"]
    if recipe.inplace:
        # What requires grad itself has a type that gradients have; integers take values that require grad, but no history.
        body += ["if e_self is None and not _dtype(self).is_differentiable:", "    return _r"]
    body += _node(recipe)
    if recipe.inplace or recipe.outputs == 1:
        body += [*_keep(recipe), *_attach(recipe)]
    else:
        body += [*_attach(recipe), *_keep(recipe)]
    body += ["return _r"]
    inner += [f"    {line}" for line in body]
    return "\n".join([*lines, *(f"        {line}" for line in inner), f"    return {call}"]) + "\n"


class _Conjugated:
    """Computes gradients that are complex, from the same formulas: see what ``derivatives`` says of them."""

    def __init__(self, recipe: Recipe, names: dict[str, Any]) -> None:
        self.recipe, self.names = recipe, names
        self.apply: Any = None

    def __call__(self, node: Any, grads: list[Any]) -> tuple[Any, ...]:
        if self.apply is None:
            scope = dict(self.names)
            source = node_source(self.recipe, conjugates=False)
            exec(compile(source, f"<complex backward of {self.recipe.op.name}>", "exec"), scope)  # noqa: S102  # as below
            self.apply = scope["apply"]
        found = self.apply(node, [None if grad is None else conjugate(grad) for grad in grads])
        return tuple(None if grad is None else conjugate(grad) for grad in found)


#: Complex dtypes, as arrays have them.
_COMPLEX = frozenset(
    {*(each for each in ScalarType if each.is_complex), np.dtype(np.complex64), np.dtype(np.complex128)}
)


def _clone(tensor: Any) -> Any:
    return dc.ops.aten.clone.default(tensor)


def make_kernel(op: Any, keyset: Any, recipe: Recipe) -> Callable[..., Any]:
    """Make the kernel of one overload for one effective keyset."""
    mask = keyset.mask | keyset.marker
    below = mask & ~AUTOGRAD
    types = [known.type for key in keys_of(mask & ARRAYS) for known in KEY_TYPES.get(key, ())]
    recipe.plain_arrays = bool(types) and all(is_plain[each] for each in types)
    names: dict[str, Any] = {
        **recipe.namespace,
        "released": released,
        "version_error": version_error,
        "version_of": version_of,
        "give_back": give_back,
        "COMPLEX": _COMPLEX,
        "_dtype": dc.dtype,
    }
    names["conjugated"] = _Conjugated(recipe, names)
    source = node_source(recipe)
    exec(compile(source, f"<backward of {op.name}>", "exec"), names)  # noqa: S102  # made above, from our own formulas
    body = {"apply": names["apply"], "saved": None, "values": tuple(recipe.default_values.values())}
    if recipe.saved_inputs or recipe.saved_results:
        body["release"] = _release
    cls = type(node_name(op.name, recipe.number), (Node,), body)
    scope: dict[str, Any] = {
        **recipe.helpers,
        **{f"_default_{name}": value for name, value in recipe.default_values.items()},
        "AUTO": mask & AUTOGRAD,
        "BELOW": below,
        "Node_": cls,
        "Output": Output,
        "RECORDED": below | AUTOGRAD_BITS[below],
        "Saved": Saved,
        "ONE_OF_SEVERAL": ONE_OF_SEVERAL,
        "View": View,
        "_below": op._entry.explicit_table[below],
        "_bits": AUTOGRAD_BITS,
        "_check_inplace": check_inplace,
        "_clone": _clone,
        "_dtype": dc.dtype,
        "_grad_enabled": is_grad_enabled,
        "_rebase": rebase,
        "_next": next,
        "_sequence": sequence,
        "_version_of": version_of,
    }
    exec(compile(kernel_source(recipe), f"<autograd of {op.name}>", "exec"), scope)  # noqa: S102  # as above
    kernel: Callable[..., Any] = scope["kernel"]
    return kernel


def _release(node: Any) -> None:
    node.saved = None
