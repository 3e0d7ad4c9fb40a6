"""Random numbers under `vmap`: other ones for each row, the same ones for all, or none.

Note [How rows draw]
    With "different" an operator draws one block of numbers for all rows: a factory makes it with the batch in front, and
    an operator on tensors runs on the tensors below, whose batch is one more dimension. With "same" it draws for one row:
    on tensors that are not batched it runs as it is, and of a batched one whose values it does not read a single row will
    do. Operators that read the values of a batched tensor to draw cannot give all rows the same numbers.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT
from dispatch_core.frontends import call_signature

from ..functions.arrangements import broadcast_shapes
from ..tensors.tensor import Tensor
from .calls import call_in_order, tensors_of, wrap_results, written_tensors
from .stack import below
from .tensors import Batched, note_write

_ERROR: Final = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
    "flags on vmap or perform the randomness operation out of vmap"
)
_UNBATCHED: Final = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If "
    "this is necessary for your usage, please file an issue with functorch."
)
_SAME: Final = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
_OUT: Final = "vmap: We do not support calling out variants of random operations inside of vmap. "
#: Operators that draw a number for each element of their tensors, so that a batch in front is one more dimension.
_ELEMENTWISE: Final = frozenset(
    "bernoulli bernoulli.p bernoulli.Tensor bernoulli_.float bernoulli_.Tensor binomial cauchy_ exponential_ geometric_"
    " log_normal_ native_dropout normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor normal_ poisson rand_like"
    " rand_like.generator randint_like randint_like.generator randint_like.low_dtype randint_like.low_generator_dtype"
    " randn_like randn_like.generator random_ random_.from random_.to uniform_ _standard_gamma"
    " cauchy exponential geometric log_normal normal_functional random random.from random.to uniform".split()
)
#: Those of them that read the values of their tensors, not the shape alone.
_BY_VALUE: Final = frozenset(
    "bernoulli bernoulli.Tensor bernoulli_.Tensor binomial normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor"
    " poisson _standard_gamma".split()
)
#: Composites that draw into a tensor of their own, which has to be of all rows.
_DROPOUTS: Final = frozenset({"alpha_dropout", "feature_dropout", "feature_alpha_dropout"})
_ATTENTION: Final = "_scaled_dot_product_efficient_attention"
#: Those that draw along their last dimension, and take one more in front of it.
_BY_ROW: Final = frozenset({"multinomial", "_sample_dirichlet"})


def check_randomness(randomness: str) -> None:
    """Refuse a word that is none of the three."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def run_random(op: Any, values: tuple[Any, ...], level: Any) -> tuple[Any] | None:
    """Run an operator that draws; None for one that leaves that to its parts, or does not draw with these arguments.

    See Note [How rows draw]. Raises ``RuntimeError``, in torch's words, for draws that the level does not allow.
    """
    name = op.name.partition("::")[2]
    signature = call_signature(op)
    if name == "native_dropout" and values[2] is False:
        return None
    if name == _ATTENTION and values[5]:
        # Its parts draw as they are told to.
        return (EXPLICIT[name](*values[:-1], scale=values[-1]),)
    if name in _DROPOUTS:
        if level.randomness != "different" or level.owns(values[0]):
            return None
        return (call_in_order(op, (level.enter(level.leave(values[0], 0), 0), *values[1:])),)
    sized = None if signature.has_tensors else _find_size(op)
    if sized is None and name not in _ELEMENTWISE | _BY_ROW and not name.startswith("randperm"):
        return None
    if level.randomness == "error":
        raise RuntimeError(_ERROR)
    if any(each.is_write and each.kwarg_only for each in op.schema.arguments):
        raise RuntimeError(_OUT)
    if level.randomness == "same":
        return (_draw_once(op, name, values, level),)
    if any(not level.owns(tensor) for tensor in written_tensors(op, values)):
        raise RuntimeError(_UNBATCHED)
    return (_draw_block(op, values, level, sized),)


def _find_size(op: Any) -> int | None:
    """Return the index of the argument that is the shape of a factory's result, or None."""
    names = [argument.name for argument in op.schema.arguments]
    return names.index("size") if "size" in names else None


def _draw_block(op: Any, values: tuple[Any, ...], level: Any, sized: int | None) -> Any:
    """Draw other numbers for each row."""
    given = list(values)
    with below():
        if sized is not None:
            given[sized] = [level.size, *given[sized]]
            found = call_in_order(op, tuple(given))
        elif not call_signature(op).has_tensors:
            found = dc.ops.aten.stack.default([call_in_order(op, values) for _ in range(level.size)], 0)
        else:
            given = _align(op, given, level)
            # Rows of a matrix of weights are drawn one by one, so all matrices are one.
            shape = dc.shape(given[0]) if op.name == "aten::multinomial" else ()
            if shape:
                given[0] = given[0].reshape(-1, shape[-1])
            found = call_in_order(op, tuple(given))
            if shape:
                found = found.reshape(*shape[:-1], -1)
    for tensor in written_tensors(op, values):
        note_write(tensor)
    return wrap_results(op, Batched, level, found, values)


def _align(op: Any, values: list[Any], level: Any) -> list[Any]:
    """Return a call's arguments with the tensors below, in shapes that broadcast: the first is one block for all rows."""
    common = broadcast_shapes(*[dc.shape(tensor) for tensor in tensors_of(op, tuple(values))])

    def lower(value: Any) -> Any:
        if not level.owns(value):
            return value
        sizes = dc.shape(value)
        return value._dispatch_data.value.reshape(level.size, *[1] * (len(common) - len(sizes)), *sizes)

    lowered = [lower(value) for value in values]
    if op.schema.arguments[0].is_write:
        return [values[0]._dispatch_data.value, *lowered[1:]]
    first = next(place for place, each in enumerate(values) if isinstance(each, Tensor))
    lowered[first] = lower(values[first]).expand(level.size, *common)
    return lowered


def _draw_once(op: Any, name: str, values: tuple[Any, ...], level: Any) -> Any:
    """Draw the same numbers for all rows."""
    owned = [tensor for tensor in tensors_of(op, values) if level.owns(tensor)]
    with below():
        if not owned:
            return call_in_order(op, values)
        is_write = op.schema.arguments[0].is_write
        if name in _BY_VALUE | _BY_ROW and not (is_write and all(each is values[0] for each in owned)):
            raise RuntimeError(_SAME)
        whole = values[0]._dispatch_data.value
        row = dc.ops.aten.new_empty.default(whole, dc.shape(whole)[1:])
        if name == "native_dropout":
            kept = call_in_order(op, (dc.ops.aten.ones_like.default(row), *values[1:]))[1]
            scale = 0.0 if values[1] == 1 else 1.0 / (1.0 - values[1])
            found: Any = whole * kept * scale, kept.expand(dc.shape(whole))
        else:
            found = call_in_order(op, (row, *values[1:]))
            if not is_write:
                return found
            whole.copy_(found)
    for tensor in written_tensors(op, values):
        note_write(tensor)
    return wrap_results(op, Batched, level, found, values)
