"""``backward`` and ``grad``, which start the engine."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Literal, NamedTuple, overload

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD, LAYOUTS
from dispatch_core.tracebacks import api_boundary, trim_traceback

from ..functions.operator_functions import FUNCTIONS
from ..history.metadata import Meta, to_scalar_type
from ..history.node import Edge, Node, Output
from ..history.transforms import refuse_in_transform
from ..overriding.handling import (
    BEGUN,
    are_modes_asked,
    call_override,
    is_skipped,
    is_tensor_like,
    list_overloaded,
    overrides_any,
)
from ..tensors.arguments import check_tensors
from ..tensors.tensor import Tensor, wrap
from ..values.layouts import answer
from ..values.size import Size
from .engine import execute


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node and the number of its result (source: ``torch.autograd.graph``)."""

    node: Node
    output_nr: int


def _to_list(value: Any) -> list[Any]:
    """Return the tensors of any iterable, and one tensor or edge as a list of it."""
    is_one = isinstance(value, (Tensor, GradientEdge)) or not isinstance(value, Iterable)
    return [value] if is_one or is_tensor_like(value) else list(value)


def _to_inputs(value: Any, who: str) -> list[Any]:
    """Return the inputs of a call, those of a dictionary too, as torch takes them."""
    if isinstance(value, Mapping):
        if type(value) is not dict:
            kind = type(value).__name__
            raise TypeError(
                f"`inputs` argument to `{who}()` must be a dict, not {kind}. Other Mapping types are not supported."
            )
        return list(value.values())
    return _to_list(value)


def _ask(function: Any, outputs: list[Any], inputs: list[Any] | None, options: dict[str, Any]) -> Any:
    """Return the answer of a mode, or of the tensors' classes, to a call; ``NotImplemented`` where nothing overrides it."""
    asked = [each for each in (*outputs, *(inputs or ())) if is_tensor_like(each)]
    if (not are_modes_asked() and not overrides_any(tuple(asked))) or is_skipped(function):
        return NotImplemented
    given = None if inputs is None else tuple(inputs)
    is_grad = function is grad
    args = (tuple(outputs), given) if is_grad else (tuple(outputs),)
    return call_override(function, list_overloaded(asked), args, options if is_grad else {**options, "inputs": given})


def _to_edge(value: Tensor | GradientEdge) -> Edge:
    if not isinstance(value, GradientEdge):
        return value._state.edge
    return value.node if value.node.metas is None else Output(value.node, value.output_nr)


def _check(values: Sequence[Any], who: str, name: str) -> None:
    check_tensors([each for each in values if not isinstance(each, GradientEdge)], who, name)


def _make(function: str, edge: Edge) -> Tensor:
    """Return a gradient for a tensor of which only the edge is known."""
    meta = edge.get_meta(edge.output_nr)
    shape, dtype = ((), None) if meta is None else (meta[0], to_scalar_type(meta[1]))
    made: Tensor = wrap(
        getattr(dc.ops.aten, function).default(shape, dtype=dtype, device=getattr(edge.node, "device", None))
    )
    return made


def _look(value: Tensor | GradientEdge) -> tuple[tuple[int, ...], Any]:
    """Return the shape and dtype of a tensor, or of the one that an edge belongs to."""
    if not isinstance(value, GradientEdge):
        return dc.shape(value), dc.dtype(value)
    meta: Meta | None = value.node.get_meta(value.output_nr)
    return ((), None) if meta is None else (tuple(meta[0]), to_scalar_type(meta[1]))


def _pair_roots(
    outputs: Sequence[Tensor | GradientEdge], grads: Sequence[Tensor | None], who: str
) -> list[tuple[Edge, Tensor]]:
    """Pair every output's edge with the gradient that enters there, ones for a scalar without a given one."""
    _check(outputs, who, "tensors" if who == "backward" else "outputs")
    check_tensors(
        [given for given in grads if given is not None], who, "grad_tensors" if who == "backward" else "grad_outputs"
    )
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    pairs: list[tuple[Edge, Tensor]] = []
    for number, (output, given) in enumerate(zip(outputs, grads, strict=True)):
        shape, dtype = _look(output)
        needs = isinstance(output, GradientEdge) or output.requires_grad
        if given is None:
            if needs and prod(shape) != 1:
                raise RuntimeError(
                    "grad can be implicitly created only for scalar outputs\n"
                    f"Hint: reduce the tensor of shape {list(shape)} first, for example by sum(), or pass the gradient"
                )
            if needs and not dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
        elif tuple(given.shape) != shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {given.shape} and output[{number}] has a "
                f"shape of {Size(shape)}."
            )
        elif given.dtype.is_complex != dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output[{number}] has a dtype of {given.dtype} and output[{number}] has a "
                f"dtype of {dtype}."
            )
        if not needs:
            raise RuntimeError(
                f"element {number} of tensors does not require grad and does not have a grad_fn\n"
                "Hint: no input was made with requires_grad=True, or the result was made under no_grad or by detach"
            )
        edge = _to_edge(output)
        if given is None:
            given = (  # noqa: PLW2901  # it takes the place of the one that was not given
                _make("ones", edge) if isinstance(output, GradientEdge) else dc.ops.aten.ones_like.default(output)
            )
        elif given.dtype != dtype:
            given = given.to(dtype)  # noqa: PLW2901  # as torch for the first node
        pairs.append((edge, _enter(output, given)))
    return pairs


def _enter(output: Any, gradient: Tensor) -> Tensor:
    """Return a gradient as the output's node takes it: that of a tensor of a layout may be one of a component."""
    if not getattr(output, "_dispatch_mask", 0) & LAYOUTS:
        return gradient
    entering: Tensor = answer(output, "enter_gradient")(gradient)
    return entering


def _leave(target: Any, gradient: Tensor | None) -> Tensor | None:
    """Return the gradient of an input as one of the tensor itself; see `_enter`."""
    if gradient is None or not getattr(target, "_dispatch_mask", 0) & LAYOUTS:
        return gradient
    leaving: Tensor = answer(target, "leave_gradient")(gradient)
    return leaving


def _pair_one(output: Any, given: Any) -> list[tuple[Edge, Tensor]] | None:
    """Return the pair of a tensor that requires grad and its gradient where both are plain: the usual end of a graph."""
    if not (isinstance(output, Tensor) and output._dispatch_mask & AUTOGRAD):
        return None
    state, meta = output._state, output._shape_and_dtype()
    if not state.requires_grad:
        return None
    if given is not None:
        return [(state.edge, given)] if type(given) is Tensor and given._shape_and_dtype() == meta else None
    shape, dtype = meta
    if (shape and prod(shape) != 1) or not to_scalar_type(dtype).is_floating_point:
        return None
    return [(state.edge, dc.ops.aten.ones_like.default(output))]


def _get_edges(inputs: Sequence[Tensor | GradientEdge], who: str) -> list[Edge]:
    _check(inputs, who, "inputs")
    for each in inputs:
        if not isinstance(each, GradientEdge) and not each.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{who}()` cannot be empty.")
    return [_to_edge(each) for each in inputs]


@api_boundary
def backward(
    tensors: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_tensors: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Iterable[Tensor | None] | None = None,
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge] | None = None,
) -> None:
    """Accumulate the gradients of ``tensors`` into the leaves they came from (source: ``torch.autograd.backward``).

    ``grad_tensors`` holds the gradient of each tensor; a tensor of one element may leave it out. ``grad_variables`` is its
    older name. With ``inputs`` only those get a gradient. Raises ``RuntimeError`` for tensors that do not require grad and
    for graphs already freed.

    >>> import torchlike
    >>> x = torchlike.tensor([1., 2.], requires_grad=True)
    >>> torchlike.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    refuse_in_transform("backward")
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if BEGUN[0] or not isinstance(tensors, Tensor):
        # An iterator gives its tensors once.
        tensors = tensors if isinstance(tensors, Tensor) else _to_list(tensors)
        inputs = None if inputs is None else _to_inputs(inputs, "backward")
        options = {"grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph}
        found = _ask(backward, _to_list(tensors), inputs, options)
        if found is not NotImplemented:
            return
    roots = _pair_one(tensors, grad_tensors)
    if roots is None:
        outputs = _to_list(tensors)
        grads = [None] * len(outputs) if grad_tensors is None else _to_list(grad_tensors)
        roots = _pair_roots(outputs, grads, "backward")
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        execute(roots, keep_graph=keep, create_graph=create_graph)
        return
    targets = _to_inputs(inputs, "backward")
    edges = _get_edges(targets, "backward")
    found = execute(roots, keep_graph=keep, create_graph=create_graph, captures=edges, accumulates=True)
    for target, gradient in zip(targets, found, strict=True):
        # Leaves have taken theirs.
        if gradient is not None and not isinstance(target, GradientEdge) and not target.is_leaf:
            state = target._state
            state.grad = gradient if state.grad is None else state.grad + gradient


def backward_from(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of the tensor into the leaves it came from (source: ``torch.Tensor.backward``)."""
    try:
        _backward(self, gradient, retain_graph, create_graph, inputs=inputs)
    except Exception as error:
        trim_traceback(error)
        raise


#: Without the boundary, which the method is itself.
_backward: Any = inspect.unwrap(backward)


@overload
def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: Literal[False] | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor | None, ...]: ...
@api_boundary
def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of ``outputs`` by ``inputs`` without touching ``.grad`` (source: ``torch.autograd.grad``).

    Tensors may come in any iterable; for a dictionary of inputs the gradients are a dictionary with its keys.
    With ``is_grads_batched`` the first dimension of ``grad_outputs`` counts several gradients, which are computed one after
    another. Raises ``RuntimeError`` where an input was not used, unless ``allow_unused``.

    >>> import torchlike
    >>> x = torchlike.tensor(3., requires_grad=True)
    >>> torchlike.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if BEGUN[0] or not isinstance(outputs, Tensor):
        options = {"grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph}
        options |= {"only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched}
        options["materialize_grads"] = materialize_grads
        outputs = outputs if isinstance(outputs, Tensor) else _to_list(outputs)
        targets = _to_inputs(inputs, "grad")
        inputs = inputs if type(inputs) is dict else targets  # an iterator gives its tensors once
        found = _ask(grad, _to_list(outputs), targets, options)
        if found is not NotImplemented:
            return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=3,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if is_grads_batched:
        keep = create_graph if retain_graph is None else retain_graph
        options = {"create_graph": create_graph, "allow_unused": allow_unused, "materialize_grads": materialize_grads}
        targets = _to_inputs(inputs, "grad")
        rows = _grad_of_batch(_to_list(outputs), targets, _to_list(grad_outputs), keep, options)
        return dict(zip(inputs, rows, strict=True)) if type(inputs) is dict else rows
    unused_is_fine = materialize_grads if allow_unused is None else allow_unused
    results, targets = _to_list(outputs), _to_inputs(inputs, "grad")
    grads = [None] * len(results) if grad_outputs is None else _to_list(grad_outputs)
    roots = _pair_roots(results, grads, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    found = execute(roots, keep_graph=keep, create_graph=create_graph, captures=_get_edges(targets, "grad"))
    if not unused_is_fine and any(gradient is None for gradient in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    if materialize_grads:
        if any(isinstance(target, GradientEdge) and each is None for target, each in zip(targets, found, strict=True)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        found = [
            FUNCTIONS["zeros_like"](target.detach())._require_grad(create_graph) if gradient is None else gradient
            for target, gradient in zip(targets, found, strict=True)
        ]
    gradients = tuple([_leave(target, gradient) for target, gradient in zip(targets, found, strict=True)])
    return dict(zip(inputs, gradients, strict=True)) if type(inputs) is dict else gradients


def _grad_of_batch(
    outputs: list[Any], inputs: list[Any], weights: list[Any], keep: bool, options: dict[str, Any]
) -> tuple[Tensor | None, ...]:
    """Return the gradients for each row of the weights, one after another, stacked."""
    _check(outputs, "grad", "outputs")
    check_tensors([weight for weight in weights if weight is not None], "grad", "grad_outputs")
    for number, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        if weight is not None and tuple(weight.shape[1:]) != _look(output)[0]:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: grad_output[{number}] has a shape of {weight.shape} and output[{number}] has a "
                f"shape of {Size(_look(output)[0])}."
            )
    count = next((len(weight) for weight in weights if weight is not None), 0)
    rows = [
        grad(
            outputs,
            inputs,
            [None if each is None else each[row] for each in weights],
            keep or row + 1 < count,
            **options,
        )
        for row in range(count)
    ]
    stack = FUNCTIONS["stack"]
    return tuple(None if any(part is None for part in each) else stack(each) for each in zip(*rows, strict=True))


def clear_gradient(tensor: Tensor, set_to_none: bool) -> None:
    """Forget a leaf's gradient, or set it to zero in place, cut off from its history."""
    if set_to_none:
        tensor.grad = None
        return
    gradient = tensor.grad
    if gradient is None:
        return
    if gradient.grad_fn is not None:
        gradient.detach_().zero_()
    else:
        gradient.requires_grad_(False).zero_()
