"""A mode that counts floating-point operations by the shapes of products (source: ``torch.utils.flop_counter``).

Element-wise operators are not counted. A product of matrices of m x k and k x n counts 2 m n k; convolutions and their
gradients are counted as such products.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, Self, TypeAlias

import dispatch_core as dc
from dispatch_core.display import Column, DataTable

from ..tensors.tensor import Tensor
from ..values.pytree import tree_map
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape: TypeAlias = Sequence[int]
Formula: TypeAlias = Callable[..., int]

#: An operator, without its overload → its formula, which gets the call's arguments and ``out_val``, the result.
flop_registry: Final[dict[Any, Formula]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Register the function that counts the operations of operators, named without overload: ``torchlike.ops.aten.mm``.

    The formula gets the call's arguments with shapes instead of tensors, and the result's shape as ``out_shape``; with
    ``get_raw`` the tensors and ``out_val``. Raises ``ValueError`` for an unknown operator, ``RuntimeError`` for one that
    has a formula (source: ``torch.utils.flop_counter``).
    """

    def register(formula: Formula) -> Formula:
        found = formula if get_raw else _with_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, dc.OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e."
                    f" torchlike.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = found
        return found

    return register


def _shape(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, Tensor) else value


def _with_shapes(formula: Formula) -> Formula:
    @wraps(formula)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return count


_aten: Final = dc.ops.aten


@register_flop_formula(_aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *_: Any, **__: Any) -> int:
    """Return the operations of a product of two matrices."""
    rows, inner = a_shape
    return rows * b_shape[1] * 2 * inner


@register_flop_formula(_aten.addmm)
def addmm_flop(_: Shape, a_shape: Shape, b_shape: Shape, **__: Any) -> int:
    """Return the operations of a product of two matrices; those of the addition are left out."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, **_: Any) -> int:
    """Return the operations of a batch of products."""
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(_: Shape, a_shape: Shape, b_shape: Shape, **__: Any) -> int:
    """Return the operations of a batch of products; those of the addition are left out."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Return the operations of a convolution: each output element, or each input's of a transposed one, meets the filter."""
    places = (x_shape if transposed else out_shape)[2:]
    return math.prod(places) * math.prod(w_shape) * x_shape[0] * 2


@register_flop_formula([_aten.convolution, _aten._convolution])
def conv_flop(
    x_shape: Shape, w_shape: Shape, _: Any, __: Any, ___: Any, ____: Any, transposed: bool, *_rest: Any, **given: Any
) -> int:
    """Return the operations of a convolution; those of its bias are left out."""
    return conv_flop_count(x_shape, w_shape, given["out_shape"], transposed)


@register_flop_formula(_aten.convolution_backward)
def conv_backward_flop(
    grad_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: Any,
    output_mask: Sequence[bool],
    *,
    out_shape: Sequence[Shape],
) -> int:
    """Return the operations of a convolution's gradients, each of which is a convolution itself."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        x, grad, into = (_swap(each) for each in (x_shape, grad_shape, out_shape[1]))
        count += conv_flop_count(grad, x, into) if transposed else conv_flop_count(x, grad, into)
    return count


def _swap(shape: Shape) -> Shape:
    """Return a shape with batch and channels exchanged."""
    return (shape[1], shape[0], *shape[2:])


@register_flop_formula(_aten.scaled_dot_product_attention)
def sdpa_flop(query_shape: Shape, key_shape: Shape, value_shape: Shape, *_: Any, **__: Any) -> int:
    """Return the operations of attention that is one call: of its two batches of products, whatever the mask leaves out."""
    *batch, length, width = query_shape
    count = math.prod(batch)
    return bmm_flop((count, length, width), (count, width, key_shape[-2])) + bmm_flop(
        (count, length, key_shape[-2]), (count, *value_shape[-2:])
    )


class FlopCounterMode:
    """Count the floating-point operations of a block, by module and operator (source: ``torch.utils.flop_counter``).

    With ``display`` the table is printed when the block ends, down to modules at ``depth``. ``custom_mapping`` gives
    operators formulas as `register_flop_formula` does. Entered again, it counts from zero.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(4, 8)
    >>> with FlopCounterMode(display=False) as counter:
    ...     layer(torchlike.ones(2, 4)).sum().backward()
    >>> counter.get_total_flops()
    256
    >>> print(counter.get_table())
    Module          FLOP  % Total
    --------------  ----  -------
    Linear           256  100.00%
     - aten::addmm   128   50.00%
     - aten::mm      128   50.00%
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        custom = {
            target: formula if getattr(formula, "_get_raw", False) else _with_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_registry: dict[Any, Formula] = {**flop_registry, **custom}
        self.mod_tracker = ModuleTracker()
        self._mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """Return the operations of the whole block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the operations by module, ``Global`` among them, and by operator."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a table, down to modules at ``depth``."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        modules = [
            name for name in sorted(self.flop_counts) if name != "Global" and (depth is None or name.count(".") < depth)
        ]
        rows: list[tuple[str, int]] = []
        # The whole is a row of its own where no module has all of it.
        is_alone = total and all(sum(self.flop_counts[name].values()) < total for name in modules)
        for name in [*["Global"] * bool(is_alone), *modules]:
            space = " " * (name.count(".") + bool(is_alone and name != "Global"))
            counts = self.flop_counts[name]
            rows.append((space + name, sum(counts.values())))
            rows += [(f"{space} - {packet.name}", count) for packet, count in counts.items()]
        return str(_make_table(rows or [("Global", 0)], total))

    def _count(self, packet: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for module in self.mod_tracker.parents:
                self.flop_counts[module][packet] += count

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        mode, self._mode = self._mode, None
        assert mode is not None
        mode.__exit__(None, None, None)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table())  # noqa: T201  # as torch does


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        self.counter._count(func.packet, result, args, named)
        return result


_UNITS: Final = ("", "K", "M", "B", "T")


def _make_table(rows: Iterable[tuple[str, int]], total: int) -> DataTable:
    """Return a table in which all counts have the unit that suits the whole."""
    index = max(0, min(len(_UNITS) - 1, (len(str(total)) - 2) // 3))

    def show(count: int) -> str:
        return f"{count / 1000**index:.3f}{_UNITS[index]}" if index else str(count)

    columns = [
        Column("Module"),
        Column("FLOP", show, is_number=True),
        Column("% Total", lambda part: f"{part:.2%}", is_number=True),
    ]
    return DataTable(columns, [(name, count, count / total if total else 0.0) for name, count in rows])
