"""Random programs of tensors, drawn by a seed, and an exact account of what each statement gives."""

from __future__ import annotations

import random
import traceback
import warnings
from functools import partial
from typing import Any

import torchlike

SHAPES = [(), (1,), (3,), (4, 3), (3, 4), (1, 3), (4, 1), (2, 3, 4), (2, 1, 4), (0, 3), (64,), (40, 30)]
DTYPES = (
    ["float32"] * 6 + ["float64"] * 2 + ["int64"] * 2 + ["bool", "int32", "uint8", "float16", "complex64", "bfloat16"]
)
UNARY = (
    "rsqrt neg exp sqrt reciprocal sin tanh floor isnan logical_not relu sigmoid abs bitwise_not t detach log".split()
)
BINARY = "add mul sub div eq lt maximum minimum logical_and fmod copysign matmul mm bitwise_and atan2 pow".split()
IN_PLACE = "add_ mul_ sub_ div_".split()
FOLDS = "sum mean amax amin prod max any all".split()
NUMBERS = [0, 1, 2, -1, 3, 0.0, -0.0, 0.5, -2.5, 1e30, 1e300, float("inf"), float("nan"), 2**53 + 1, 2**70, True, 1j]
#: How a program's statements run, beside each other.
SURROUNDINGS = ["plain"] * 6 + ["no_grad", "pipeline", "profile"]


class Program:
    """A program of a few tensors and statements; ``account`` grows by an entry for each statement."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.account: list[Any] = []
        torchlike.manual_seed(seed)
        self.tensors = [self._make() for _ in range(4)]

    def _make(self) -> Any:
        draw = self.draw
        dtype, shape = getattr(torchlike, draw.choice(DTYPES)), draw.choice(SHAPES)
        if dtype is torchlike.bool:
            made = torchlike.rand(shape) > 0.5
        elif dtype.is_floating_point or dtype.is_complex:
            made = (torchlike.randn(shape) * draw.choice([1, 1, 1, 30, 1e38])).to(dtype)
            if draw.random() < 0.3 and made.numel():
                made.view(-1)[0] = draw.choice([-0.0, float("nan"), float("inf"), -float("inf")])
            if draw.random() < 0.4:
                made.requires_grad_()
        else:
            made = torchlike.randint(0, 9, shape, dtype=dtype)
        return made

    def run(self, count: int) -> list[Any]:
        """Run so many statements, and return the account of them."""
        surrounding = self.draw.choice(SURROUNDINGS)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if surrounding == "no_grad":
                with torchlike.no_grad():
                    self._run(count)
            elif surrounding == "pipeline":
                try:
                    with torchlike.pipeline():
                        self._run(count, quiet=True)
                except Exception as error:  # noqa: BLE001 - a part of the account
                    self.account.append((type(error).__name__, str(error)))
                self.account += [describe(each) for each in self.tensors]
            elif surrounding == "profile":
                import dispatch_core as dc

                with dc.profile():
                    self._run(count)
            else:
                self._run(count)
        if surrounding != "pipeline":  # whose plans are made once, whichever way runs first
            self.account += [str(each.message) for each in told]
        return self.account

    def _run(self, count: int, *, quiet: bool = False) -> None:
        for _ in range(count):
            try:
                found = self._step()
            except Exception as error:  # noqa: BLE001 - a part of the account
                frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                self.account.append((type(error).__name__, str(error), getattr(error, "__notes__", []), frames))
                continue
            for each in found if isinstance(found, (tuple, list)) else [found]:
                if isinstance(each, torchlike.Tensor):
                    self.tensors[self.draw.randrange(len(self.tensors))] = each
                    if not quiet:
                        self.account.append(describe(each))
                else:
                    self.account.append(repr(each))

    def _step(self) -> Any:
        draw, a = self.draw, self.draw.choice(self.tensors)
        alike = [each for each in self.tensors if each.dtype is a.dtype and each.shape[-1:] == a.shape[-1:]]
        b = draw.choice(alike if draw.random() < 0.7 else self.tensors)
        dim, number = draw.choice([0, 1, -1, 2, -2, 5]), draw.choice(NUMBERS)
        kind = draw.randrange(20)
        if kind == 0:
            return getattr(torchlike, draw.choice(UNARY))(a)
        if kind == 1:
            return getattr(torchlike, draw.choice(BINARY))(a, b)
        if kind == 2:
            return draw.choice(
                [lambda: a + number, lambda: number - a, lambda: a * number, lambda: a / number, lambda: a < number]
            )()
        if kind == 3:
            return getattr(a, draw.choice(IN_PLACE))(draw.choice([b, number]))
        if kind == 4:
            return getattr(a, draw.choice(FOLDS))()
        if kind == 5:
            fold = draw.choice(["sum", "mean", "amax", "amin", "prod"])
            return getattr(a, fold)(
                draw.choice([dim, (dim,)]) if fold in ("sum", "mean", "amax") else dim, draw.random() < 0.4
            )
        if kind == 6:
            return a.view(draw.choice([(-1,), (3, -1), (a.numel(),), (4, 3), (1, -1), (2, 6), (-1, -1)]))
        if kind == 7:
            return a.transpose(dim, draw.choice([0, 1, -1]))
        if kind == 8:
            return draw.choice(
                [lambda: a[0], lambda: a[-1], lambda: a[1:], lambda: a[:, 1], lambda: a[::2], lambda: a.select(dim, 1)]
            )()
        if kind == 9:
            torchlike.sum(a * a if a.dtype is not torchlike.bool else a).backward()
            return [a.grad] if isinstance(a.grad, torchlike.Tensor) else a.grad
        if kind == 10:
            return (
                torchlike.nn.functional.linear(a, b)
                if draw.random() < 0.5
                else torchlike.addmm(draw.choice(self.tensors), a, b)
            )
        if kind == 11:
            return self._make()
        if kind == 12:
            bounds = draw.choice([(0, 1), (None, 0.5), (-1.5, None), (number, None)])
            return draw.choice([partial(a.clamp, *bounds), partial(a.clamp_min, number), partial(torchlike.mv, a, b)])()
        if kind == 14:
            F, factor = torchlike.nn.functional, draw.choice([0.5, 1, 2, 0.1, -1.0, 0.0, True])
            formulas = [F.gelu, F.silu, F.mish, F.softplus, F.hardswish, partial(F.leaky_relu, negative_slope=factor)]
            formulas += [
                partial(F.elu, alpha=factor),
                partial(F.softshrink, lambd=0.5),
                partial(F.gelu, approximate="tanh"),
            ]
            both = [partial(torchlike.lerp, a, b, factor), partial(torchlike.addcmul, a, b, b, value=factor)]
            return draw.choice([*(partial(each, a) for each in formulas), *both])()
        if kind == 16:
            F, eps = torchlike.nn.functional, draw.choice([1e-5, 0.1])
            layers = [partial(F.softmax, a, dim), partial(F.log_softmax, a, -1), partial(F.softmax, a, -1)]
            layers += [partial(F.layer_norm, a, draw.choice([a.shape[-1:], a.shape, (3,)]), eps=eps)]
            layers += [partial(F.layer_norm, a, b.shape[-1:], b.detach()[(0,) * (b.dim() - 1)], None, eps)]
            return draw.choice(layers)()
        if kind == 17:
            F, reduction = torchlike.nn.functional, draw.choice(["mean", "sum", "none"])
            loss = draw.choice([F.cross_entropy, F.nll_loss])
            target = torchlike.randint(-1, 5, a.shape[:1]) % draw.choice([3, 3, 3, 7])
            return loss(a, target, reduction=reduction)
        if kind == 18:
            length = a.shape[dim] if -a.dim() <= dim < a.dim() else 3
            places = torchlike.randint(
                0, max(length, 1) + draw.choice([0, 0, 0, 1]), draw.choice([b.shape, a.shape, (5,)])
            )
            line = places.reshape(-1)[:5]
            ways = [
                partial(torchlike.cat, [a, b, a], dim),
                partial(torchlike.stack, [a, b], dim),
                partial(a.cumsum, dim),
            ]
            ways += [
                partial(a.gather, dim, places),
                partial(a.scatter, dim, places, b),
                partial(a.index_select, dim, line),
            ]
            ways += [partial(a.scatter_add, dim, places, b), partial(a.index_add, dim, line, b)]
            return draw.choice(ways)()
        if kind == 19:
            F, count = torchlike.nn.functional, draw.choice([1, 2])
            image, weight = torchlike.randn(2, count, 5, 6), torchlike.randn(3, count, 3, draw.choice([1, 3]))
            weight.requires_grad_()
            padding, stride = draw.choice([0, 1, 2]), draw.choice([1, 1, 2])
            found = F.conv2d(image, weight, padding=padding, stride=stride)
            rows = F.embedding(torchlike.randint(0, 4, (3, 2)), torchlike.randn(4, count).requires_grad_())
            return [torchlike.autograd.grad(draw.choice([found, rows]).exp().sum(), weight, allow_unused=True)[0], rows]
        if kind == 13:
            size = draw.choice([(2, *a.shape), (-1,), (4, 3), (2, 3, 4), (1, 1, 64), (3, 4)])
            views = [partial(a.expand, size), partial(a.unsqueeze, dim), a.squeeze, partial(a.squeeze, dim)]
            views += [
                partial(a.permute, draw.choice([(1, 0), (0, 1), (2, 0, 1), (0,)])),
                partial(a.reshape, size),
                a.flatten,
            ]
            return draw.choice(views)()
        return draw.choice([a.exp_, a.neg_, a.relu_, partial(a.add_, b, alpha=2), a.item])()


def describe(tensor: Any) -> Any:
    """Return everything that shows of a tensor: its values to the bit, layout, dtype and history."""
    try:
        plain = tensor.detach()
        if plain.dtype is torchlike.bfloat16:
            plain = plain.float()
        values = plain.numpy().tobytes()
        history = tensor.requires_grad, tensor.is_leaf, type(tensor.grad_fn).__name__, tensor._version
    except RuntimeError as error:  # a view whose history is refused
        return type(error).__name__, str(error)
    return values, str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), *history
