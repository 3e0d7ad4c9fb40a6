"""Jacobians, Hessians and their products with vectors (source: ``torch.autograd.functional``).

``func`` takes one tensor or several and returns one or several. Results have the structure of torch's: a tensor where inputs
and outputs are single, and tuples where they are not.
"""

from __future__ import annotations

__name__ = "torchlike.autograd.functional"  # see Note [Public paths]

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from dispatch_core.tracebacks import api_boundary

from ..autograd.gradients import grad
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import enable_grad
from ..tensors.tensor import Tensor
from .jacobians import jvp as push
from .jacobians import list_bases
from .mapping import vmap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors: TypeAlias = Tensor | tuple[Tensor, ...]

_STRICT: Final = "This is not allowed in strict mode"
_INDEPENDENT: Final = f"The output of the user-provided function is independent of input {{}}. {_STRICT}."


def _to_tuple(value: Any, name: str, who: str) -> tuple[tuple[Tensor, ...], bool]:
    """Return the tensors as a tuple, and whether they came as one; ``TypeError`` for anything else."""
    is_tuple = isinstance(value, tuple)
    given = value if is_tuple else (value,)
    for number, each in enumerate(given):
        if not isinstance(each, Tensor):
            where = f"Value at index {number} of " if is_tuple else ""
            raise TypeError(
                f"The {name} given to {who} must be either a Tensor or a tuple of Tensors. "
                f"{where}{name} has type {type(each).__name__}"
            )
    return given, is_tuple


def _from_tuple(values: Sequence[Any], is_tuple: bool) -> Any:
    return tuple(values) if is_tuple else values[0]


def _enter(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Return inputs to differentiate by: views in the graph for ``create_graph``, fresh leaves without it."""
    return tuple(
        each.view_as(each) if create_graph and each.requires_grad else each.detach().requires_grad_() for each in inputs
    )


def _call(
    func: Callable[..., Any], inputs: tuple[Tensor, ...], who: str, name: str = "outputs of the user-provided function"
) -> tuple[tuple[Tensor, ...], bool]:
    return _to_tuple(func(*inputs), name, who)


def _leave(values: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    return tuple(values) if create_graph else tuple(each.detach() for each in values)


def _fill(
    gradients: Sequence[Tensor | None],
    like: Sequence[Tensor],
    strict: bool,
    create_graph: bool = False,
    *,
    text: str = _INDEPENDENT,
    kind: str = "jacobian",
) -> list[Tensor]:
    """Put zeros where no gradient arrived; with ``strict`` that is an error, with ``create_graph`` a constant one too."""
    found = []
    for number, (gradient, each) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(text.format(number))
            gradient = FUNCTIONS["zeros_like"](each)  # noqa: PLW2901  # the gradient that is missing
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {kind} of the user-provided function is independent of input {number}. {_STRICT} when"
                " create_graph=True."
            )
        found.append(gradient)
    return found


def _check_curvature(gradients: Sequence[Tensor | None], strict: bool) -> None:
    """Refuse first derivatives that do not depend on the inputs: their own would be zero."""
    for number, each in enumerate(gradients):
        if strict and each is None:
            raise RuntimeError(_INDEPENDENT.format(number))
        if strict and not (each is not None and each.requires_grad):
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input"
                f" {number} is independent of the input. {_STRICT}: a linear function has no curvature."
            )


def _pull(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Tensor | None] | None, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Return the gradients of the outputs that depend on the inputs, None for all where none does."""
    given = [None] * len(outputs) if weights is None else list(weights)
    pairs = [(each, weight) for each, weight in zip(outputs, given, strict=True) if each.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [each for each, _ in pairs],
        list(inputs),
        [weight for _, weight in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def _check_vector(v: Any, like: tuple[Tensor, ...], like_is_tuple: bool, who: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function has a single output with a single element."
                if who != "hvp"
                else "The vector v can only be None if the input to the user-provided function "
                "is a single Tensor with a single element."
            )
        return (FUNCTIONS["ones_like"](like[0].detach()),)
    vectors, _ = _to_tuple(v, "v", who)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for number, (vector, each) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != each.shape:
            where = f"Entry {number} in " if like_is_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {each.shape} but got {vector.shape}.")
    return vectors


@api_boundary
def vjp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the outputs and the product of a vector with the Jacobian.

    ``v`` has the shapes of the outputs; it may be left out for one output of one element.

    >>> import torchlike
    >>> vjp(lambda x: x * x, torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 1.0]))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        given, is_tuple = _to_tuple(inputs, "inputs", "vjp")
        entered = _enter(given, create_graph)
        outputs, is_output_tuple = _call(func, entered, "vjp")
        _check_dependence(outputs, strict)
        vectors = _check_vector(v, outputs, is_output_tuple, "vjp")
        found = _pull(outputs, entered, vectors, create_graph)
        products = _fill(found, entered, strict, create_graph)
    return _from_tuple(_leave(outputs, create_graph), is_output_tuple), _from_tuple(
        _leave(products, create_graph), is_tuple
    )


def _check_dependence(outputs: Sequence[Tensor], strict: bool) -> None:
    for number, each in enumerate(outputs):
        if strict and not each.requires_grad:
            raise RuntimeError(
                f"Output {number} of the user-provided function does not require gradients. "
                "The outputs must be computed in a differentiable manner from the input when running in strict mode."
            )


@api_boundary
def jvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the outputs and the product of the Jacobian with a vector of the inputs' shapes.

    >>> import torchlike
    >>> jvp(lambda x: x.sum() * x, torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 0.0]))[1]
    tensor([4., 2.])
    """
    with enable_grad():
        given, is_tuple = _to_tuple(inputs, "inputs", "jvp")
        entered = _enter(given, create_graph)
        vectors = _check_vector(v, entered, is_tuple, "hvp")
        outputs, is_output_tuple = _call(func, entered, "jvp")
        _check_dependence(outputs, strict)
        # The gradients are linear in these weights, and their derivative along ``v`` is the product.
        weights = tuple(FUNCTIONS["zeros_like"](each).detach()._require_grad() for each in outputs)
        pulled = _pull(outputs, entered, weights, True)
        _fill(pulled, entered, strict)
        pairs = [(each, vector) for each, vector in zip(pulled, vectors, strict=True) if each is not None]
        found = _pull([each for each, _ in pairs], weights, [vector for _, vector in pairs], create_graph)
        products = _fill(
            found,
            outputs,
            strict,
            create_graph,
            text="The gradient with respect to the input is independent of entry {} in the grad_outputs when using the"
            f" double backward trick to compute forward mode gradients. {_STRICT}.",
        )
    return _from_tuple(_leave(outputs, create_graph), is_output_tuple), _from_tuple(
        _leave(products, create_graph), is_output_tuple
    )


@api_boundary
def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian: for each output and input a tensor of the output's shape followed by the input's.

    With ``vectorize`` all rows are computed at once, under `vmap`. ``strategy="forward-mode"``, which needs it, computes the
    columns by directions: of complex functions it gives the derivative, where the other gives its conjugate.

    >>> import torchlike
    >>> jacobian(lambda x: x * x, torchlike.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {strategy!r}.')
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError('jacobian: create_graph=True needs strategy="reverse-mode"')
        if strict:
            raise RuntimeError('jacobian: strict=True and strategy="forward-mode" are not supported together')
        if not vectorize:
            raise NotImplementedError("Computing Jacobian using forward-mode is only implemented for `vectorize=True`.")
        return _push_all(func, inputs)
    with enable_grad():
        given, is_tuple = _to_tuple(inputs, "inputs", "jacobian")
        entered = _enter(given, create_graph)
        outputs, is_output_tuple = _call(func, entered, "jacobian")
        _check_dependence(outputs, strict)
        if vectorize and strict:  # an error about the function comes first
            raise RuntimeError("jacobian: `strict=True` and `vectorized=True` are not supported together")
        find = _pull_all if vectorize else _pull_each
        rows = []
        for number, output in enumerate(outputs):
            text = f"Output {number} of the user-provided function is independent of input {{}}. {_STRICT}."
            rows.append(_leave(find(output, entered, create_graph, strict, text), create_graph))
    return _from_tuple([_from_tuple(row, is_tuple) for row in rows], is_output_tuple)


def _pull_each(output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool, text: str) -> list[Tensor]:
    """Return the rows of one output, one after another."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for element in flat.unbind(0) if flat.numel() else ():
        found = _pull([element], inputs, None, create_graph)
        filled = _fill(found, inputs, strict, create_graph, text=text)
        for column, each in zip(columns, filled, strict=True):
            column.append(each)
    return [
        FUNCTIONS["stack"](column).reshape((*output.shape, *each.shape))
        if column
        else FUNCTIONS["zeros_like"](each).new_zeros((*output.shape, *each.shape))
        for column, each in zip(columns, inputs, strict=True)
    ]


def _pull_all(output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool, text: str) -> list[Tensor]:
    """Return the rows of one output, all at once."""
    if not output.numel():
        return _pull_each(output, inputs, create_graph, strict, text)
    (basis,) = list_bases([output.detach()], None)
    found = vmap(lambda way: tuple(_fill(_pull([output], inputs, [way], create_graph), inputs, strict)))(basis[0])
    return [rows.reshape((*output.shape, *each.shape)) for rows, each in zip(found, inputs, strict=True)]


def _push_all(func: Callable[..., Any], inputs: Tensors) -> Any:
    """Return the Jacobian, column by column at once."""
    given, is_tuple = _to_tuple(inputs, "inputs", "jacobian")
    shapes: list[Any] = []
    is_output_tuple: list[bool] = []

    def call(*points: Tensor) -> tuple[Tensor, ...]:
        outputs, was_tuple = _call(func, points, "jacobian")
        shapes[:], is_output_tuple[:] = [each.shape for each in outputs], [was_tuple]
        return outputs

    (bases,) = list_bases(given, None)
    pushed = vmap(lambda *ways: push(call, given, ways)[1])(*bases)
    sizes = [each.numel() for each in given]
    rows = [
        [
            block.reshape((*shape, *each.shape))
            for block, each in zip(FUNCTIONS["split"](found.movedim(0, -1), sizes, dim=-1), given, strict=True)
        ]
        for found, shape in zip(pushed, shapes, strict=True)
    ]
    return _from_tuple([_from_tuple(row, is_tuple) for row in rows], is_output_tuple[0])


def _check_single(outputs: tuple[Tensor, ...], is_tuple: bool, who: str) -> None:
    if is_tuple:
        raise RuntimeError(f"The function given to {who} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {who} should contain a single element")


@api_boundary
def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function with one result of one element.

    >>> import torchlike
    >>> hessian(lambda x: (x ** 3).sum(), torchlike.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given, is_tuple = _to_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {outer_jacobian_strategy!r}.'
        )

    def gradient(*points: Tensor) -> tuple[Tensor, ...]:
        outputs, is_output_tuple = _call(func, points, "hessian")
        _check_single(outputs, is_output_tuple, "hessian")
        _check_dependence(outputs, strict)
        found = _pull(outputs, points, None, True)
        gradients = tuple(_fill(found, points, False))
        _check_curvature(gradients, strict)
        return gradients

    rows = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return _from_tuple([_from_tuple(row, is_tuple) for row in rows], is_tuple)


@api_boundary
def vhp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output and the product of a vector of the inputs' shapes with the Hessian.

    >>> import torchlike
    >>> vhp(lambda x: (x ** 3).sum(), torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 1.0]))[1]
    tensor([ 6., 12.])
    """
    return _multiply_hessian(func, inputs, v, create_graph, strict, "vhp")


@api_boundary
def hvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output and the product of the Hessian with a vector of the inputs' shapes.

    >>> import torchlike
    >>> hvp(lambda x: (x ** 3).sum(), torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 1.0]))[1]
    tensor([ 6., 12.])
    """
    return _multiply_hessian(func, inputs, v, create_graph, strict, "hvp")


def _multiply_hessian(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool, who: str
) -> tuple[Any, Any]:
    """Return the output and the product; the Hessian is symmetric, so both sides are one."""
    with enable_grad():
        given, is_tuple = _to_tuple(inputs, "inputs", who)
        entered = _enter(given, create_graph)
        vectors = _check_vector(v, entered, is_tuple, "hvp")
        outputs, is_output_tuple = _call(func, entered, who)
        _check_single(outputs, is_output_tuple, who)
        _check_dependence(outputs, strict)
        first = _pull(outputs, entered, None, True)
        _check_curvature(first, strict)
        gradients = tuple(_fill(first, entered, strict))
        found = _pull(gradients, entered, vectors, create_graph)
        products = _fill(
            found,
            entered,
            strict,
            create_graph,
            text=f"The jacobian of the user-provided function is independent of input {{}}. {_STRICT}.",
            kind="hessian",
        )
    return _from_tuple(_leave(outputs, create_graph), False), _from_tuple(_leave(products, create_graph), is_tuple)
