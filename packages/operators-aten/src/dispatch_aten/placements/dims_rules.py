"""What operators do to dimensions where their arguments decide it: functions of a call, for the table."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, prod
from typing import Any

from .dims import Call, Dims, Label, normalize, read_row

__all__ = [
    "along",
    "cat",
    "convert",
    "expand",
    "index",
    "index_select",
    "like",
    "loss",
    "new",
    "nll_loss",
    "nll_loss_backward",
    "pad",
    "permute",
    "pointwise",
    "reduction",
    "reshape",
    "same",
    "select",
    "select_backward",
    "squeeze",
    "stack",
    "unsqueeze",
]


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
    labels: list[tuple[Label, ...]] = [
        tuple(None if size == 1 != full[dim] else dim for dim, size in enumerate(shape, ndim - len(shape)))
        for shape in shapes
    ]
    return full, labels


def pointwise(call: Call, linear: str = "", outputs: int = 1) -> Dims | None:
    """Return a call's `Dims`: each element is made of those at its place; dimensions of size 1 are broadcast."""
    full, labels = _broadcast(call.shapes)
    made = tuple(range(len(full)))
    return Dims(tuple(labels), (made,) * outputs, linear=_linear(linear, call))


def loss(call: Call) -> Dims | None:
    """Return a call's `Dims`: a loss of elements, or their sum; None for an average."""
    full, labels = _broadcast(call.shapes)
    reduction = call.values.get("reduction", 1)
    return None if reduction == 1 else Dims(tuple(labels), (tuple(range(len(full))) if not reduction else (),))


def nll_loss(call: Call) -> Dims | None:
    """Return a call's `Dims`: a loss of classes, which are whole."""
    reduction = call.values["reduction"]
    if len(call.shapes[0]) != 2 or reduction == 1:
        return None
    return read_row("nc,n,c->,; whole c" if reduction else "nc,n,c->n,; whole c")(call)


def nll_loss_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradient of a loss of classes."""
    if len(call.shape_of(1) or ()) != 2:
        return None
    return read_row(f"{'n' if call.shapes[0] else ''},nc,n,c,->nc; whole c; linear 0")(call)


def convert(call: Call) -> Dims | None:
    """Return a call's `Dims`: a copy in another dtype, or a copy."""
    return pointwise(call, "0" if call.values.get("dtype") is None else "")  # sums of what was rounded are others


def reduction(call: Call, combine: str | None, linear: bool = False) -> Dims | None:
    """Return a call's `Dims`: dimensions that are combined, or needed whole without a way to combine parts."""
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


def truths(call: Call, combine: str) -> Dims | None:
    """Return a call's `Dims`: dimensions that are combined, of which an empty list names none."""
    dims = call.values.get("dim")
    return pointwise(call) if dims is not None and not len(dims) else reduction(call, combine)


def embedding_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradient of a table, which may be scaled by how often each row was taken."""
    scaled = call.values.get("scale_grad_by_freq")
    return read_row(f"*d,*->vd; linear 0; whole {'v*' if scaled else 'v'}")(call)


def along(call: Call, name: str, linear: bool = False, backward: bool = False) -> Dims | None:
    """Return a call's `Dims`: dimensions that are needed whole, all others apart from each other."""
    ndim = max(map(len, call.shapes))
    if any(len(shape) != ndim for shape in call.shapes):
        return None
    dims = call.values.get(name, -1 if name == "dim" else None)
    gone = normalize(None if dims in ([], ()) else dims, ndim)
    kept = [dim for dim in range(ndim) if dim not in gone and len({shape[dim] for shape in call.shapes}) == 1]
    labels = tuple(dim if dim in kept else None for dim in range(ndim))
    sets = (frozenset({0}),) if linear or backward else ()
    shapes = {"input_sizes": 0} if "input_sizes" in call.values else {}
    return Dims((labels,) * len(call.shapes), (labels, labels), linear=sets, any_way=linear, shapes=shapes)


def cat(call: Call) -> Dims | None:
    """Return a call's `Dims`: tensors behind each other."""
    found = along(call, "dim")
    return found and Dims(found.inputs, found.outputs[:1], linear=(frozenset(range(len(call.shapes))),), any_way=True)


def stack(call: Call) -> Dims | None:
    """Return a call's `Dims`: tensors along a new dimension."""
    labels: tuple[Label, ...] = tuple(range(len(call.shapes[0])))
    dim = call.values.get("dim", 0) % (len(labels) + 1)
    made = (*labels[:dim], None, *labels[dim:])
    return Dims((labels,) * len(call.shapes), (made,), linear=(frozenset(range(len(call.shapes))),), any_way=True)


def _view(inputs: tuple[Label, ...], output: tuple[Label, ...], **options: Any) -> Dims:
    return Dims((inputs,), (output,), linear=(frozenset({0}),), any_way=True, **options)


def permute(call: Call) -> Dims | None:
    """Return a call's `Dims`: dimensions in another order."""
    (shape,) = call.shapes
    labels = list(range(len(shape)))
    if "dims" in call.values:
        return _view(tuple(labels), normalize(call.values["dims"], len(shape)))
    made = labels[:]
    if len(shape) > 1:
        one, other = call.values.get("dim0", 0) % len(shape), call.values.get("dim1", 1) % len(shape)
        made[one], made[other] = labels[other], labels[one]
    return _view(tuple(labels), tuple(made))


def same(call: Call) -> Dims | None:
    """Return a call's `Dims`: the same dimensions."""
    labels = tuple(range(len(call.shapes[0])))
    return _view(labels, labels)


def reinterpret(call: Call) -> Dims | None:
    """Return a call's `Dims`: the bytes of the last dimension are read as others."""
    labels: tuple[Label, ...] = tuple(range(len(call.shapes[0])))
    labels = (*labels[:-1], None) if labels else ()
    return Dims((labels,), (labels,))


def like(call: Call) -> Dims | None:
    """Return a call's `Dims`: a new tensor that lies as another one."""
    labels = tuple(range(len(call.shapes[0])))
    return Dims((labels,), (labels,), unread=frozenset({0}))


def new(call: Call) -> Dims | None:
    """Return a call's `Dims`: a new tensor of a size, which lies as another one of this size, else whole."""
    labels = tuple(range(len(call.shapes[0])))
    alike = tuple(call.values["size"]) == call.shapes[0]
    made: tuple[Label, ...] = labels if alike else (None,) * len(call.values["size"])
    inputs = labels if alike else (None,) * len(labels)
    return Dims((inputs,), (made,), unread=frozenset({0}), shapes={"size": 0})


def expand(call: Call) -> Dims | None:
    """Return a call's `Dims`: dimensions of size 1 that are repeated, and new ones in front."""
    (shape,) = call.shapes
    size = call.values["size"]
    new = len(size) - len(shape)
    inputs = tuple(dim + new for dim in range(len(shape)))
    kept = tuple(None if was == 1 != size[dim] else dim for dim, was in zip(inputs, shape, strict=True))
    return _view(kept, (None,) * new + kept, shapes={"size": 0})


def squeeze(call: Call) -> Dims | None:
    """Return a call's `Dims`: dimensions of size 1 left out."""
    (shape,) = call.shapes
    dims = normalize(call.values.get("dim"), len(shape))
    labels = tuple(None if dim in dims and shape[dim] == 1 else dim for dim in range(len(shape)))
    return _view(labels, tuple(dim for dim in range(len(shape)) if dim not in dims or shape[dim] != 1))


def unsqueeze(call: Call) -> Dims | None:
    """Return a call's `Dims`: a dimension of size 1 put in."""
    labels = tuple(range(len(call.shapes[0])))
    dim = call.values["dim"] % (len(labels) + 1)
    return _view(labels, (*labels[:dim], None, *labels[dim:]))


def select(call: Call) -> Dims | None:
    """Return a call's `Dims`: a dimension left out that is needed whole."""
    ndim = len(call.shapes[0])
    dim = call.values.get("dim", 0) % max(ndim, 1)
    labels = tuple(None if each == dim else each for each in range(ndim))
    return _view(labels, labels[:dim] + labels[dim + 1 :])


def select_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradient of one place of a dimension."""
    sizes = call.values["input_sizes"]
    dim = call.values["dim"] % len(sizes)
    labels: tuple[Label, ...] = tuple(range(len(sizes) - 1))
    return _view(labels, (*labels[:dim], None, *labels[dim:]), shapes={"input_sizes": 0})


def reshape(call: Call) -> Dims | None:
    """Return the labels of a view: a group of dimensions that becomes another one is cut at its first."""
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


def index_select(call: Call) -> Dims | None:
    """Return a call's `Dims`: a dimension whose places are chosen by a tensor."""
    ndim = len(call.shapes[0])
    dim = normalize(call.values["dim"], ndim)[0]
    labels = tuple(None if each == dim else each for each in range(ndim))
    if not ndim or len(call.shapes[1]) != 1:
        return None
    return Dims((labels, ("i",)), ((*labels[:dim], "i", *labels[dim + 1 :]),), linear=(frozenset({0}),))


def index(call: Call, *, puts: bool = False) -> Dims | None:
    """Return the labels of indexing by tensors of numbers: what they index is whole, they themselves may be cut."""
    shape = call.shapes[0]
    given: list[Any] = call.values["indices"]
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


def pad(call: Call) -> Dims | None:
    """Return a call's `Dims`: dimensions that grow, which are needed whole."""
    ndim, pad = len(call.shapes[0]), call.values["pad"]
    padded = {ndim - 1 - index // 2 for index, each in enumerate(pad) if each}
    labels = tuple(None if dim in padded else dim for dim in range(ndim))
    return Dims((labels,), (labels,))
