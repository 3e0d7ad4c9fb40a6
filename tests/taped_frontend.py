"""A second frontend: exact numbers with a tape for gradients and a `vmap`, written with the documented names alone.

It implements one protocol, ``Autograd``. ``vmap`` is a layer: a fallback under ``FuncTorchBatched`` that goes on with
`OpOverload.runner` for each row.
"""

from __future__ import annotations

from fractions import Fraction

import dispatch_core as dc
from dispatch_core import frontends

SCHEMAS = (
    "add(Tensor self, Tensor other) -> Tensor",
    "mul(Tensor self, Tensor other) -> Tensor",
    "scale(Tensor self, int factor=2, *, bool negate=False) -> Tensor",
    "split(Tensor self, int at) -> (Tensor, Tensor)",
    "join(Tensor[] parts) -> Tensor",
    "square_sum(Tensor self, Tensor other) -> Tensor",
)


class Exact:
    """The elements of a tensor."""

    def __init__(self, values):
        self.values = [Fraction(value) for value in values]


class Taped:
    """A tensor of exact numbers. One that is tracked has the node that made it, and a gradient after backward."""

    __slots__ = ("_dispatch_data", "_dispatch_mask", "gradient", "node")

    @property
    def values(self):
        return self._dispatch_data.values


class Rows(Taped):
    """The rows over which a function is mapped: to operators, a tensor under one key more."""

    __slots__ = ("rows",)


class Tape(frontends.Autograd):
    """Records the operators with a formula, by the author's `backward`."""

    def autograd_kernel(self, op, keyset, formula):
        below = (keyset.mask | keyset.marker) & ~frontends.AUTOGRAD

        def run(*args, **kwargs):
            result = op.redispatch(below, *args, **kwargs)
            if formula.backward is not None:
                results = result if isinstance(result, tuple) else (result,)
                node = (formula.backward, args, kwargs, results)
                for each in results:
                    track(each).node = node
            return result

        return run


class Frontend:
    """The frontend with its operators, device and layer, until it is closed."""

    def __init__(self):
        library = self.library = dc.Library("taped", "DEF")
        for schema in SCHEMAS:
            library.define(schema)
        self.ops = dc.ops.taped
        arrays = dc.ArrayType(Exact, shape=lambda array: (len(array.values),), dtype=lambda array: "exact")
        self.device = dc.register_backend(dc.BackendInfo("exact", array_types=(arrays,)), KERNELS)
        library.impl("square_sum", self._square_sum)
        for name, backward in FORMULAS.items():
            dc.register_autograd(f"taped::{name}", backward, lib=library)
        self.layer = dc.Library("_", "IMPL")
        self.layer.fallback(run_rows, "FuncTorchBatched", with_keyset=True)
        self.frontend = dc.register_frontend("taped", Taped, autograd=Tape())

    def _square_sum(self, x, y):
        total = self.ops.add(x, y)
        return self.ops.mul(total, total)

    def tensor(self, values):
        return self.frontend.wrap(Exact(values))

    def close(self):
        self.layer.close()
        self.device.close()
        self.library.close()


def zip_with(function):
    return lambda self, other: Exact(map(function, self.values, other.values))


KERNELS = {
    "taped::add": zip_with(Fraction.__add__),
    "taped::mul": zip_with(Fraction.__mul__),
    "taped::scale": lambda self, factor, *, negate: Exact((-factor if negate else factor) * x for x in self.values),
    "taped::split": lambda self, at: (Exact(self.values[:at]), Exact(self.values[at:])),
    "taped::join": lambda parts: Exact(x for part in parts for x in part.values),
}


def track(tensor):
    """Record operators on a tensor."""
    tensor._dispatch_mask |= dc.DispatchKey.AutogradExact.value
    tensor.gradient = tensor.node = None
    return tensor


def plain(values):
    """Return fractions as a list, for formulas."""
    return list(map(Fraction, values))


# Formulas on lists of fractions: the gradient of each argument, of those of the results.

FORMULAS = {
    "add": lambda ctx, grad: (grad, grad),
    "mul": lambda ctx, grad: tuple([g * x for g, x in zip(grad, other.values, strict=True)] for other in reversed(ctx)),
    "scale": lambda ctx, grad: [[g * ctx[1] for g in grad], None],
    "split": lambda ctx, first, second: [[*first, *second], None],
    "join": lambda ctx, grad: [cut(grad, ctx[0])],
}


def cut(values, like):
    """Return values in pieces as long as these tensors."""
    rest = iter(values)
    return [[next(rest) for _ in each.values] for each in like]


def backward(result, gradient):
    """Add up gradients, from a result to the leaves, in the order of a walk over the tape."""
    order, seen = [], set()

    def visit(node):
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            for each in tensors_of(node[1]):
                visit(getattr(each, "node", None))
            order.append(node)

    visit(result.node)
    grads = {id(result): plain(gradient)}
    for formula, args, kwargs, results in reversed(order):
        given = [grads.get(id(each), [Fraction(0)] * len(each.values)) for each in results]
        found = formula(context_of(args, kwargs), *given)
        for argument, part in zip(args, found, strict=False):
            pairs = zip(argument, part, strict=True) if isinstance(argument, list) else [(argument, part)]
            for each, values in pairs:
                if isinstance(each, Taped):
                    before = grads.get(id(each), [Fraction(0)] * len(values))
                    grads[id(each)] = [x + y for x, y in zip(before, values, strict=True)]
                    each.gradient = grads[id(each)]


def context_of(args, kwargs):
    """Return the arguments of a call; a factor with its sign."""
    return (args[0], -args[1] if kwargs["negate"] else args[1]) if "negate" in kwargs else args


def tensors_of(args):
    for each in args:
        yield from each if isinstance(each, list) else (each,)


# vmap.


def batch(rows):
    made = Rows()
    made.rows, made._dispatch_data = rows, rows[0]._dispatch_data
    made._dispatch_mask = rows[0]._dispatch_mask | dc.DispatchKey.FuncTorchBatched.value
    return made


def run_rows(keyset, op, *args, **kwargs):
    """Run an operator for each row, below the layer."""
    parameters = frontends.call_signature(op).parameters
    values = [*args, *(kwargs[each.name] for each in parameters[len(args) :])]
    run = op.runner((keyset - "FuncTorchBatched").mask | keyset.marker)
    size = next(len(each.rows) for each in tensors_of(values) if isinstance(each, Rows))
    found = [run(*[row_of(value, index) for value in values]) for index in range(size)]
    if isinstance(found[0], tuple):
        return tuple(batch(list(each)) for each in zip(*found, strict=True))
    return batch(found)


def row_of(value, index):
    if isinstance(value, list):
        return [row_of(each, index) for each in value]
    return value.rows[index] if isinstance(value, Rows) else value


def vmap(function):
    """Return a function over lists of rows; an argument that is a tensor is the same for all rows."""

    def call(*args):
        size = next(len(each) for each in args if isinstance(each, list))
        result = function(*[batch(each) if isinstance(each, list) else each for each in args])
        return result.rows if isinstance(result, Rows) else [result] * size

    return call
