"""Random graphs and backwards through them, drawn by a seed, and everything that these show of themselves."""

from __future__ import annotations

import itertools
import random
import re
import threading
import traceback
from typing import Any

import numpy as np

import torchlike as T

_PLACE = re.compile(r"0x[0-9a-f]+")
_SHAPES = [(2, 3), (2, 3), (2, 3), (3,), (1, 3), (2, 1), (), (3, 2)]


class _Failure(Exception):
    """An error of a hook or of a function's backward."""


class _Probe(T.autograd.Function):
    """Hand a tensor on, and tell of its gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, name: str, way: str, log: list[Any]) -> Any:
        ctx.name, ctx.way, ctx.log = name, way, log
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        ctx.log.append((ctx.name, _bytes(grad), T.is_grad_enabled()))
        if ctx.way == "error":
            raise _Failure(ctx.name)
        if ctx.way == "inner":
            x = T.tensor([1.0, 2.0], requires_grad=True)
            (x * x).sum().backward()
            ctx.log.append(("inner", _bytes(x.grad)))
        if ctx.way == "wide":
            grad = grad.expand(2, *grad.shape)
        return (None if ctx.way == "none" else grad * 2), None, None, None


class _Pair(T.autograd.Function):
    """Two results, of which a gradient may come for one alone."""

    @staticmethod
    def forward(ctx: Any, one: Any, other: Any, log: list[Any]) -> Any:
        ctx.log = log
        ctx.save_for_backward(one)
        return one + other, one * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.log.append(("pair", *map(_bytes, grads)))
        (one,) = ctx.saved_tensors
        return grads[0], (grads[1] * one) if one.shape == grads[1].shape else grads[1], None


def _bytes(tensor: Any) -> Any:
    if not isinstance(tensor, T.Tensor):
        return repr(tensor)
    array = tensor.detach().numpy()
    return str(array.dtype), array.shape, array.strides, array.tobytes(), tensor.requires_grad


def _hook(name: str, way: str, log: list[Any]) -> Any:
    def hook(*given: Any) -> Any:
        log.append(
            (name, [[_bytes(each) for each in part] if isinstance(part, tuple) else _bytes(part) for part in given])
        )
        if way == "error":
            raise _Failure(name)
        if way == "queue":
            T.autograd.Variable._execution_engine.queue_callback(lambda: log.append(("queued", T.is_grad_enabled())))
        if way == "change" and isinstance(given[0], T.Tensor):
            return given[0] * 3
        return None

    return hook


class _Graph:
    """One program: leaves, the tensors made of them, and what was seen."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.log: list[Any] = []
        self.names = map(str, itertools.count())
        values = np.random.default_rng(seed)
        self.leaves = []
        for _ in range(self.draw.randrange(1, 5)):
            kind = np.float64 if self.draw.random() < 0.2 else np.float32
            made = T.tensor(values.standard_normal(self.draw.choice(_SHAPES)).astype(kind))
            if made.ndim == 2 and self.draw.random() < 0.2:
                made = made.t()
            self.leaves.append(made.requires_grad_(self.draw.random() < 0.9))
        self.weight = T.tensor(values.standard_normal((3, 3)).astype(np.float32), requires_grad=True)
        self.bias = T.tensor(values.standard_normal(3).astype(np.float32), requires_grad=True)
        self.leaves += [self.weight, self.bias]
        self.tensors = list(self.leaves[:-2])
        self.handles: list[Any] = []
        #: The tensors whose gradients are kept. To ask any others for their nodes would take short ones apart.
        self.kept: list[Any] = []

    def _way(self) -> str:
        return self.draw.choice(["", "", "", "change", "queue", "error" if self.draw.random() < 0.2 else ""])

    def _extend(self) -> None:
        draw = self.draw
        x, y = draw.choice(self.tensors), draw.choice(self.tensors)
        name = next(self.names)
        # Drawn first: the second of two runs draws the same, whatever a statement raises.
        way = draw.choice(["", "", "none", "inner", "wide", "error" if draw.random() < 0.15 else ""])
        statements: list[Any] = [
            lambda: x * y,
            lambda: x + y,
            lambda: x - y * 2.0,
            x.relu,
            lambda: x.tanh() + x,
            lambda: x.exp() * 0.1,
            lambda: x.reshape(-1),
            x.t,
            lambda: x[..., :2],
            lambda: x.unsqueeze(0),
            lambda: x.expand(2, *x.shape),
            lambda: T.nn.functional.linear(x, self.weight, self.bias),
            lambda: T.nn.functional.linear(x, self.weight),
            lambda: x @ self.weight,
            lambda: x.softmax(-1),
            lambda: x.split(1, -1)[0],
            lambda: T.cat([x, y], -1),
            lambda: x.max(-1).values,
            lambda: x.sum(-1, keepdim=True),
            x.double,
            lambda: x.clone().mul_(y),
            lambda: self._write(x, y),
            lambda: x.mul_(2.0),
            x.detach,
            lambda: _Probe.apply(x, name, way, self.log),
            lambda: _Probe.apply(x, name, way, self.log),
            lambda: _Pair.apply(x, y, self.log)[draw.randrange(2)],
            lambda: T.nn.functional.layer_norm(x, x.shape[-1:], self.bias, None),
        ]
        self._try(lambda: self.tensors.append(draw.choice(statements)()))

    @staticmethod
    def _write(x: Any, y: Any) -> Any:
        made = x.clone()
        made[..., 0] = y[..., 0] * 2
        return made

    def _watch(self) -> None:
        draw = self.draw
        x, name, way = draw.choice([*self.tensors, *self.leaves]), next(self.names), self._way()
        hook = _hook(name, way, self.log)
        kinds: list[Any] = [
            lambda: x.register_hook(hook),
            lambda: x.grad_fn.register_hook(hook),
            lambda: x.grad_fn.register_prehook(hook),
            lambda: x.register_post_accumulate_grad_hook(hook),
            lambda: (x.retain_grad(), self.kept.append(x)),
            lambda: T.autograd.graph.register_multi_grad_hook([x, self.weight], hook),
            lambda: [self.handles[-1].remove()][0],
        ]
        self._try(lambda: self.handles.append(draw.choice(kinds)() or self.handles[-1]))

    def _change(self) -> None:
        draw, leaf = self.draw, self.draw.choice(self.leaves)
        kinds: list[Any] = [
            lambda: setattr(leaf, "grad", None),
            lambda: leaf.grad.zero_().sum(),
            lambda: leaf.requires_grad_(False),
            lambda: leaf.data.mul_(0.5),
            leaf.detach_,
            lambda: self.tensors.pop(0) if len(self.tensors) > 1 else None,
        ]
        self._try(draw.choice(kinds))

    def _run_backward(self) -> None:
        draw = self.draw
        roots = [draw.choice(self.tensors) for _ in range(draw.choice([1, 1, 1, 2]))]
        options: dict[str, Any] = {"retain_graph": draw.choice([None, None, True, True, False])}
        options["create_graph"] = draw.random() < 0.15
        inputs = draw.choice([*self.leaves, *self.tensors]) if draw.random() < 0.25 else None
        wanted = draw.choice([self.leaves, draw.choices([*self.leaves, *self.tensors], k=3)])
        kind = draw.random()

        def run() -> None:
            if kind < 0.4:
                roots[0].sum().backward(**options, inputs=inputs)
            elif kind < 0.7:
                roots[0].backward(T.ones_like(roots[0]) * 0.5, **options)
            elif kind < 0.8:
                found = T.autograd.grad(roots[0].sum(), wanted, allow_unused=True, **options)
                self.log.append([_bytes(each) for each in found])
            elif kind < 0.85:
                with T.autograd.detect_anomaly():
                    roots[0].sum().backward(**options)
            elif kind < 0.9:
                worker = threading.Thread(target=self._try, args=(lambda: roots[0].sum().backward(**options),))
                worker.start()
                worker.join()
            else:
                T.autograd.backward(roots, [T.ones_like(each) for each in roots], **options)

        self._try(run)
        self.log.append(T.is_grad_enabled())

    def _try(self, run: Any) -> None:
        try:
            run()
        except Exception as error:  # noqa: BLE001  # whatever comes has to be the same
            frames = [
                (each.filename.rpartition("/")[2], each.name) for each in traceback.extract_tb(error.__traceback__)
            ]
            shown = _PLACE.sub("0x", "".join(traceback.format_exception_only(error)))
            self.log.append((type(error).__name__, shown, frames))

    def run(self) -> list[Any]:
        """Run the program; return what it shows."""
        for _ in range(self.draw.randrange(1, 5)):
            for _ in range(self.draw.randrange(1, 12)):
                self._extend()
                if self.draw.random() < 0.25:
                    self._watch()
            for _ in range(self.draw.randrange(1, 4)):
                self._run_backward()
                if self.draw.random() < 0.3:
                    self._change()
                self.show()
        return self.log

    def show(self) -> None:
        """Note the gradients, and which of them share memory."""
        found = [each.grad for each in self.leaves]
        self._try(lambda: found.extend(each.grad for each in self.kept))
        self.log.append([_bytes(each) for each in found])
        arrays = [each.detach().numpy() for each in (*found, *self.tensors) if each is not None]
        self.log.append([np.may_share_memory(one, other) for one, other in itertools.combinations(arrays, 2)])


def run_graph(seed: int) -> list[Any]:
    """Return everything that the program of a seed shows."""
    x = T.ones(2, 2, requires_grad=True)
    for _ in range(40):  # calls whose nodes were taken apart before go the usual way for a time
        T.nn.functional.linear(x, x)
        _ = x @ x
    return _Graph(seed).run()
