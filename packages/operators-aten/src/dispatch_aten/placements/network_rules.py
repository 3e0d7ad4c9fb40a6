"""What the operators of networks of images do to dimensions: convolutions, batch norm and group norm."""

from __future__ import annotations

from .dims import Call, Dims, Label, read_row

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "convolution",
    "convolution_backward",
    "group_norm",
    "group_norm_backward",
]


def _image(channels: Label, ndim: int) -> tuple[Label, ...]:
    """Return the labels of a batch of images, whose pixels are needed whole."""
    return ("n", channels, *[None] * (ndim - 2))


def _kernel(call: Call, ndim: int) -> tuple[Label, ...]:
    first, second = ("i", "o") if call.values["transposed"] else ("o", "i")
    return (first, second, *[None] * (ndim - 2))


def _channels(call: Call, kernel: int) -> dict[str, int]:
    """Return the numbers of channels, which parts divide: a convolution needs one of each."""
    return dict(zip(_kernel(call, 2), call.shapes[kernel], strict=False))  # type: ignore[arg-type]  # two letters


def convolution(call: Call) -> Dims | None:
    """Return a call's `Dims`: a convolution of samples; without groups also of channels, which are summed."""
    if call.values["groups"] != 1:
        return read_row("n.,.,.->n.")(call)
    ndim = len(call.shapes[0])
    inputs = (_image("i", ndim), _kernel(call, ndim), ("o",))[: len(call.shapes)]
    bias = frozenset({2}) if len(call.shapes) > 2 else frozenset[int]()
    return Dims(inputs, (_image("o", ndim),), even=_channels(call, 1), linear=(bias | {0}, bias | {1}), addends=bias)


def convolution_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradients of a convolution; that of the bias needs the images' channels whole."""
    if call.values["groups"] != 1:
        return read_row("n.,n.,.->n.,.,.; linear 0")(call)
    ndim, has_bias = len(call.shapes[0]), call.values["output_mask"][2]
    return Dims(
        (_image("o", ndim), _image("i", ndim), _kernel(call, ndim)),
        (_image("i", ndim), _kernel(call, ndim), ("o",)),
        whole=frozenset({"i"}) if has_bias else frozenset(),
        even=_channels(call, 2),
        linear=(frozenset({0}),),
        shapes={"bias_sizes": 2} if has_bias and call.values["bias_sizes"] else {},
    )


def _of_channels(call: Call, given: int, results: int, *, training: bool) -> Dims | None:
    """Return the `Dims` of a call on images, of which ``given`` are arguments, and numbers of their channels."""
    labels = ("n", "c", *range(len(call.shapes[0]) - 2))
    inputs = [
        labels if rank < given else ("c",) if shape != (0,) else (None,) for rank, shape in enumerate(call.shapes)
    ]
    whole = frozenset(labels) - {"c"} if training else frozenset()
    return Dims(tuple(inputs), (labels, *[("c",)] * results), whole=whole, even={"c": call.shapes[0][1]})


def batch_norm(call: Call) -> Dims | None:
    """Return a call's `Dims`: channels apart from each other; in training, of a whole batch."""
    if call.values.get("training"):
        return _of_channels(call, 1, 4, training=True)
    found = _of_channels(call, 1, 2, training=False)
    return found and Dims(found.inputs, (found.outputs[0], (None,), (None,)), even=found.even)


def batch_norm_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradients of batch norm, of a whole batch."""
    return _of_channels(call, 2, 2, training=True)


def group_norm(call: Call) -> Dims | None:
    """Return a call's `Dims`: samples apart from each other."""
    found = read_row("n.,.,.->n.,n.,n.")(call)
    return found and Dims(found.inputs, (found.inputs[0], ("n", None), ("n", None)), counts={"N": "n"})


def group_norm_backward(call: Call) -> Dims | None:
    """Return a call's `Dims`: the gradients of samples, and of a weight and a bias, which are summed over them."""
    found = read_row("n.,n.,n.,n.,.->n.,.,.; linear 0")(call)
    return found and Dims(found.inputs, (found.inputs[0], (None,), (None,)), linear=found.linear, counts={"N": "n"})
