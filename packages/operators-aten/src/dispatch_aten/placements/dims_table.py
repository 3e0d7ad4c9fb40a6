"""The table of what aten's operators do to dimensions: rows, and rules for those whose arguments decide it.

Note [Names]
    A rule is found by an operator's name with its overload, ``max.dim``, else by the name alone. In-place operators and those
    with ``out=`` have the rule of the functional one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import gcd, prod
from typing import Any, Final

from .dims import Call, Dims, Label, Rule, normalize, read_row

__all__ = ["USED", "find_rule"]

_ROWS: Final = """
mm: ik,kj->ij; linear 0|1
bmm: bik,bkj->bij; linear 0|1
mv: ik,k->i; linear 0|1
dot: k,k->; linear 0|1
addmm: ~ij,ik,kj->ij; linear 01|02; addend 0
baddbmm: ~bij,bik,bkj->bij; linear 01|02; addend 0
embedding: vd,*->*d; linear 0; whole v
embedding_dense_backward: *d,*->vd; linear 0; whole v
native_layer_norm: *#,#,#->*#,*@,*@
native_layer_norm_backward: *#,*#,*@,*@,#,#->*#,#,#; linear 0
_fused_rms_norm: *#,#->*#,*@
_fused_rms_norm_backward: *#,*#,*@,#->*#,#; linear 0
convolution: n.,.,.->n.
convolution_backward: n.,n.,.->n.,.,.; linear 0
max_pool2d_with_indices: nchw->nchw,nchw; whole chw
max_pool2d_with_indices_backward: nchw,nchw,nchw->nchw; whole chw; linear 0
avg_pool2d: nchw->nchw; whole chw; linear 0
avg_pool2d_backward: nchw,nchw->nchw; whole chw; linear 0
_adaptive_avg_pool2d: nchw->nchw; whole chw; linear 0
_adaptive_avg_pool2d_backward: nchw,nchw->nchw; whole chw; linear 0
native_dropout_backward: *,*->*; linear 0
tril: *ij->*ij; whole ij; linear 0
triu: *ij->*ij; whole ij; linear 0
"""

#: Operators of the tag ``pointwise`` that sums go through, each with the sets of arguments; see Note [Labels] in `dims`.
_LINEAR: Final = {
    "add.Tensor": "01",
    "sub.Tensor": "01",
    "rsub.Tensor": "01",
    "mul": "0|1",
    "div.Tensor": "0",
    "div.Scalar": "0",
    "neg": "0",
    "clone": "0",
    "where.self": "12",
    "lerp.Scalar": "01",
    **dict.fromkeys(
        "gelu_backward threshold_backward tanh_backward sigmoid_backward silu_backward elu_backward leaky_relu_backward"
        " hardtanh_backward hardswish_backward hardsigmoid_backward softplus_backward mish_backward logit_backward"
        " log_sigmoid_backward mse_loss_backward smooth_l1_loss_backward".split(),
        "0",
    ),
}
#: Pointwise operators without the tag, or of which a call with a reduction is one without (``reduction=0``).
_POINTWISE: Final = frozenset(
    "rsub fill copy floor_divide hardswish masked_fill log_sigmoid_forward _prelu_kernel complex copysign"
    " hardshrink_backward softshrink_backward elu_backward leaky_relu_backward hardtanh_backward hardswish_backward"
    " hardsigmoid_backward softplus_backward log_sigmoid_backward mse_loss_backward smooth_l1_loss_backward".split()
)
_REDUCTIONS: Final = {
    "sum": "sum",
    "nansum": "sum",
    "count_nonzero": "sum",
    "mean": "avg",
    "prod": "product",
    "amax": "max",
    "amin": "min",
    "max.default": "max",
    "min.default": "min",
    "all": "min",
    "any": "max",
    **dict.fromkeys(
        "max.dim min.dim argmax argmin aminmax var.correction std.correction var_mean.correction std_mean.correction"
        " logsumexp median nanmedian mode kthvalue linalg_vector_norm norm".split()
    ),
}
_LOSSES: Final = frozenset(
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits soft_margin_loss".split()
)
#: Operators that need a dimension as a whole, and leave the others to themselves; the argument that names it.
_ALONG: Final = {
    **dict.fromkeys(
        "_softmax _log_softmax _safe_softmax _softmax_backward_data _log_softmax_backward_data sort topk cumsum cumprod"
        " logcumsumexp cummax cummin glu glu_backward slice split split_with_sizes slice_scatter slice_backward"
        " unsafe_split gather scatter scatter_add scatter_reduce cat".split(),
        "dim",
    ),
    "flip": "dims",
    "roll": "dims",
}
_LINEAR_ALONG: Final = frozenset("flip roll slice split split_with_sizes unsafe_split slice_backward".split())
_LINEAR_BACKWARD: Final = frozenset({"cumsum", "_softmax_backward_data", "_log_softmax_backward_data", "glu_backward"})


def _linear(text: str, call: Call) -> tuple[frozenset[int], ...]:
    """Return sets of arguments that are all given: a number in the place of one is no term to be summed."""
    ranks = {place: rank for rank, place in enumerate(call.places)}
    sets = [[*map(int, each)] for each in text.split("|") if each]
    return tuple(frozenset(ranks[place] for place in each) for each in sets if all(place in ranks for place in each))


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[Label, ...]]]:
    """Return the shape that shapes are broadcast to, and the labels of each: numbers of its dimensions."""
    shapes = list(shapes)
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    full = tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))
    labels = [
        tuple(None if size == 1 != full[dim] else dim for dim, size in enumerate(shape, ndim - len(shape)))
        for shape in shapes
    ]
    return full, labels


def _pointwise(call: Call, linear: str = "", outputs: int = 1) -> Dims | None:
    full, labels = _broadcast(call.shapes)
    made = tuple(range(len(full)))
    return Dims(tuple(labels), (made,) * outputs, linear=_linear(linear, call))


def _loss(call: Call) -> Dims | None:
    full, labels = _broadcast(call.shapes)
    reduction = call.values.get("reduction", 1)
    return None if reduction == 1 else Dims(tuple(labels), (tuple(range(len(full))) if not reduction else (),))


def _nll_loss(call: Call) -> Dims | None:
    reduction = call.values["reduction"]
    if len(call.shapes[0]) != 2 or reduction == 1:
        return None
    return read_row("nc,n,c->,; whole c" if reduction else "nc,n,c->n,; whole c")(call)


def _nll_loss_backward(call: Call) -> Dims | None:
    if len(call.shape_of(1) or ()) != 2:
        return None
    return read_row(f"{'n' if call.shapes[0] else ''},nc,n,c,->nc; whole c; linear 0")(call)


def _convert(call: Call) -> Dims | None:
    return _pointwise(call, "0" if call.values.get("dtype") is None else "")  # sums of what was rounded are others


def _reduction(call: Call, combine: str | None, linear: bool = False) -> Dims | None:
    (shape,) = call.shapes
    dims = call.values.get("dim")
    gone = normalize(None if dims in (None, [], ()) else dims, len(shape))
    keep = bool(call.values.get("keepdim"))
    left = tuple(None if dim in gone else dim for dim in range(len(shape)) if keep or dim not in gone)
    whole = frozenset[Any](gone) if combine is None else frozenset()
    sets = (frozenset({0}),) if linear else ()
    # An average is one of equal parts, and some reductions need an element.
    even = {} if combine == "sum" else {dim: shape[dim] for dim in gone} if shape else {}
    return Dims((tuple(range(len(shape))),), (left, left), whole, even, combine or "sum", sets)


def _along(call: Call, name: str, linear: bool = False, backward: bool = False) -> Dims | None:
    ndim = max(map(len, call.shapes))
    if any(len(shape) != ndim for shape in call.shapes):
        return None
    dims = call.values.get(name, -1 if name == "dim" else None)
    gone = normalize(None if dims == [] else dims, ndim)
    kept = [dim for dim in range(ndim) if dim not in gone and len({shape[dim] for shape in call.shapes}) == 1]
    labels = tuple(dim if dim in kept else None for dim in range(ndim))
    sets = (frozenset({0}),) if linear or backward else ()
    shapes = {"input_sizes": 0} if "input_sizes" in call.values else {}
    return Dims((labels,) * len(call.shapes), (labels, labels), linear=sets, any_way=linear, shapes=shapes)


def _cat(call: Call) -> Dims | None:
    found = _along(call, "dim")
    return found and Dims(found.inputs, found.outputs[:1], linear=(frozenset(range(len(call.shapes))),), any_way=True)


def _stack(call: Call) -> Dims | None:
    labels: tuple[Label, ...] = tuple(range(len(call.shapes[0])))
    dim = call.values.get("dim", 0) % (len(labels) + 1)
    made = (*labels[:dim], None, *labels[dim:])
    return Dims((labels,) * len(call.shapes), (made,), linear=(frozenset(range(len(call.shapes))),), any_way=True)


def _view(inputs: tuple[Label, ...], output: tuple[Label, ...], **options: Any) -> Dims:
    return Dims((inputs,), (output,), linear=(frozenset({0}),), any_way=True, **options)


def _permuted(call: Call) -> Dims | None:
    (shape,) = call.shapes
    labels = list(range(len(shape)))
    if "dims" in call.values:
        return _view(tuple(labels), normalize(call.values["dims"], len(shape)))
    made = labels[:]
    if len(shape) > 1:
        one, other = call.values.get("dim0", 0) % len(shape), call.values.get("dim1", 1) % len(shape)
        made[one], made[other] = labels[other], labels[one]
    return _view(tuple(labels), tuple(made))


def _same(call: Call) -> Dims | None:
    labels = tuple(range(len(call.shapes[0])))
    return _view(labels, labels)


def _like(call: Call) -> Dims | None:
    labels = tuple(range(len(call.shapes[0])))
    return Dims((labels,), (labels,), unread=frozenset({0}))


def _new(call: Call) -> Dims | None:
    labels = tuple(range(len(call.shapes[0])))
    alike = tuple(call.values["size"]) == call.shapes[0]
    made: tuple[Label, ...] = labels if alike else (None,) * len(call.values["size"])
    inputs = labels if alike else (None,) * len(labels)
    return Dims((inputs,), (made,), unread=frozenset({0}), shapes={"size": 0})


def _expand(call: Call) -> Dims | None:
    (shape,) = call.shapes
    size = call.values["size"]
    new = len(size) - len(shape)
    inputs = tuple(dim + new for dim in range(len(shape)))
    kept = tuple(None if was == 1 != size[dim] else dim for dim, was in zip(inputs, shape, strict=True))
    return _view(kept, (None,) * new + kept, shapes={"size": 0})


def _squeeze(call: Call) -> Dims | None:
    (shape,) = call.shapes
    dims = normalize(call.values.get("dim"), len(shape))
    labels = tuple(None if dim in dims and shape[dim] == 1 else dim for dim in range(len(shape)))
    return _view(labels, tuple(dim for dim in range(len(shape)) if dim not in dims or shape[dim] != 1))


def _unsqueeze(call: Call) -> Dims | None:
    labels = tuple(range(len(call.shapes[0])))
    dim = call.values["dim"] % (len(labels) + 1)
    return _view(labels, (*labels[:dim], None, *labels[dim:]))


def _select(call: Call) -> Dims | None:
    ndim = len(call.shapes[0])
    dim = call.values.get("dim", 0) % max(ndim, 1)
    labels = tuple(None if each == dim else each for each in range(ndim))
    return _view(labels, labels[:dim] + labels[dim + 1 :])


def _select_backward(call: Call) -> Dims | None:
    sizes = call.values["input_sizes"]
    dim = call.values["dim"] % len(sizes)
    labels: tuple[Label, ...] = tuple(range(len(sizes) - 1))
    return _view(labels, (*labels[:dim], None, *labels[dim:]), shapes={"input_sizes": 0})


def _reshape(call: Call) -> Dims | None:
    """Return the labels of a view: a group of dimensions that becomes another group is cut at its first one of more than 1."""
    (shape,) = call.shapes
    size = list(call.values["size"])
    if -1 in size:
        known = prod(each for each in size if each != -1)
        size[size.index(-1)] = prod(shape) // known if known else 0
    inputs: list[Label] = [None] * len(shape)
    output: list[Label] = [None] * len(size)
    if prod(shape) != prod(size):
        return None
    if not prod(shape):
        return _view(tuple(inputs), tuple(output), shapes={"size": 0})
    even: dict[Any, int] = {}
    sizes: dict[Any, int] = {}
    i = j = 0
    while i < len(shape) and j < len(size):
        first, second = i, j
        one, other = shape[i], size[j]
        i, j = i + 1, j + 1
        while one != other:
            if one < other:
                one, i = one * shape[i], i + 1
            else:
                other, j = other * size[j], j + 1
        first = next((each for each in range(first, i) if shape[each] != 1), first)
        second = next((each for each in range(second, j) if size[each] != 1), second)
        inputs[first] = output[second] = label = first
        if shape[first] != size[second]:
            even[label] = gcd(shape[first], size[second])
            sizes[label] = size[second]
    return _view(tuple(inputs), tuple(output), even=even, sizes=sizes, shapes={"size": 0})


def _index_select(call: Call) -> Dims | None:
    ndim = len(call.shapes[0])
    dim = normalize(call.values["dim"], ndim)[0]
    labels = tuple(None if each == dim else each for each in range(ndim))
    if not ndim or len(call.shapes[1]) != 1:
        return None
    return Dims((labels, ("i",)), ((*labels[:dim], "i", *labels[dim + 1 :]),), linear=(frozenset({0}),))


def _index(call: Call, *, puts: bool = False) -> Dims | None:
    """Return the labels of indexing by tensors of numbers: what they index is whole, they themselves may be cut."""
    shape = call.shapes[0]
    given: list[bool] = call.values["indices"]
    if "mask" in given:
        return None
    at = [dim for dim, each in enumerate(given) if each]
    count = len(at)
    full, labels = _broadcast(call.shapes[1 : count + 1])
    first = at[0] if at == list(range(at[0], at[0] + count)) else 0
    own = tuple(None if dim in at else dim for dim in range(len(shape)))
    kept = tuple(dim for dim in range(len(shape)) if dim not in at)
    by_index: list[tuple[Label, ...]] = [tuple(None if each is None else f"i{each}" for each in one) for one in labels]
    middle: tuple[Label, ...] = tuple(f"i{dim}" for dim in range(len(full)))
    made = (*kept[:first], *middle, *kept[first:])
    if not puts:
        return Dims((own, *by_index), (made,), linear=(frozenset({0}),))
    values = call.shapes[-1]
    target = made[len(made) - len(values) :]
    left = tuple(None if size == 1 or label in middle else label for size, label in zip(values, target, strict=True))
    whole = [(None,) * len(each) for each in by_index]
    return Dims((own, *whole, left), (own,))


def _pad(call: Call) -> Dims | None:
    ndim, pad = len(call.shapes[0]), call.values["pad"]
    padded = {ndim - 1 - index // 2 for index, each in enumerate(pad) if each}
    labels = tuple(None if dim in padded else dim for dim in range(ndim))
    return Dims((labels,), (labels,), linear=(frozenset({0}),))


_RULES: Final[dict[str, Rule]] = {
    **{name: read_row(text) for name, text in (line.split(": ", 1) for line in _ROWS.split("\n") if line)},
    **{name: partial(_reduction, combine=way, linear=name in ("sum", "mean")) for name, way in _REDUCTIONS.items()},
    **dict.fromkeys(_LOSSES, _loss),
    **{
        name: partial(_along, name=each, linear=name in _LINEAR_ALONG, backward=name in _LINEAR_BACKWARD)
        for name, each in _ALONG.items()
    },
    **dict.fromkeys(("t", "transpose", "permute"), _permuted),
    **dict.fromkeys(("alias", "detach", "view.dtype"), _same),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), _like),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), _new),
    **dict.fromkeys(("view", "_unsafe_view"), _reshape),
    **dict.fromkeys(("select", "unbind"), _select),
    "_to_copy": _convert,
    "cat": _cat,
    "stack": _stack,
    "expand": _expand,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "select_backward": _select_backward,
    "nll_loss_forward": _nll_loss,
    "nll_loss_backward": _nll_loss_backward,
    "index_select": _index_select,
    "index.Tensor": _index,
    "index_put": partial(_index, puts=True),
    "constant_pad_nd": _pad,
}
#: The arguments besides tensors that rules read.
USED: Final = frozenset(
    "dim dims dim0 dim1 size input_sizes keepdim reduction dtype normalized_shape indices pad".split()
)


def find_rule(name: str, tags: Iterable[str] = (), results: int = 1) -> Rule | None:
    """Return the rule for an operator by its name, with the overload, and its tags; None where there is none.

    >>> find_rule("mm.default")(Call(((2, 3), (3, 4)), (0, 1), {})).outputs, find_rule("linalg_qr.default")
    ((('i', 'j'),), None)
    """
    base, _, overload = name.partition(".")
    name = f"{base}.{overload or 'default'}"
    if (found := _RULES.get(name) or _RULES.get(base)) is not None:
        return found
    if "pointwise" in tags or base in _POINTWISE:
        return partial(_pointwise, linear=_LINEAR.get(name) or _LINEAR.get(base) or "", outputs=results)
    return None
