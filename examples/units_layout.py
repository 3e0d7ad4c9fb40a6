"""Tensors with physical units, as a layout.

A quantity is a record of an ordinary tensor and a unit. Products multiply units, sums compare them, and an operator without
a rule is refused. The components have the history, so gradients, pipelines, captured functions and transforms need nothing.
`docs/guides/write-a-layout.md` tells how a layout is written.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import dispatch_core as dc
import torchlike as torch
from dispatch_core.frontends import TensorLayout, call_converted, find_layout
from torchlike.layouts import LayoutData, layout, record_of, wrap
from torchlike.utils.pytree import tree_leaves


class UnitError(TypeError):
    """Units do not fit an operator."""


@dataclass(frozen=True)
class Unit:
    """Powers of base units, such as (("m", 1), ("s", -1))."""

    powers: tuple[tuple[str, Fraction], ...] = ()

    def __mul__(self, other: Unit) -> Unit:
        found = dict(self.powers)
        for name, power in other.powers:
            found[name] = found.get(name, Fraction(0)) + power
        return Unit(tuple(sorted((name, power) for name, power in found.items() if power)))

    def __pow__(self, exponent: float) -> Unit:
        return Unit(tuple((name, power * Fraction(exponent)) for name, power in self.powers if exponent))

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __str__(self) -> str:
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers) or "1"


@dataclass(frozen=True)
class Quantity(LayoutData):
    """A tensor and its unit."""

    value: torch.Tensor
    unit: Unit = field(default_factory=Unit)
    layout = layout("units")
    densified_by = "value_in(x, unit)"

    def to_text(self, tensor: torch.Tensor) -> str:
        """Return the text of the tensor."""
        return f"{self.value.tolist()} {self.unit}"


LAYOUT = TensorLayout(
    "Units",
    Quantity,
    component="value",
    shape=lambda record: dc.shape(record.value),
    dtype=lambda record: dc.dtype(record.value),
    strides=lambda record: dc.strides(record.value),
    hint="a rule for it belongs in RULES; value_in(x, unit) is an ordinary tensor",
    components_have_history=True,
)


def quantity(value: Any, **powers: int) -> torch.Tensor:
    """Return a tensor with a unit: ``quantity([1.0, 2.0], m=1, s=-1)``."""
    unit = Unit(tuple(sorted((name, Fraction(power)) for name, power in powers.items())))
    return wrap(LAYOUT.make(value=torch.as_tensor(value), unit=unit))


def unit_of(value: Any) -> Unit:
    """Return the unit of a tensor; that of an ordinary one, or of a number, is 1."""
    return record_of(value).unit if find_layout(value) is LAYOUT else Unit()


def bare(value: Any) -> Any:
    """Return the ordinary tensor of a quantity, any other value as it is."""
    return record_of(value).value if find_layout(value) is LAYOUT else value


def value_in(value: torch.Tensor, **powers: int) -> torch.Tensor:
    """Return the numbers of a quantity in a unit, which must be its own."""
    wanted = unit_of(quantity(0.0, **powers))
    if unit_of(value) != wanted:
        raise UnitError(f"the quantity is in {unit_of(value)}, not in {wanted}")
    return bare(value)


def same(op: Any, values: list[Any]) -> Unit:
    """Return the unit that all tensors have; a number beside them, but 0, has the unit 1."""
    units = {unit_of(each) for each in tree_leaves(values[:2]) if isinstance(each, torch.Tensor) or each}
    if len(units) > 1:
        raise UnitError(f"{op.name} takes tensors of one unit, not of {' and '.join(sorted(map(str, units)))}")
    return units.pop()


def pure(op: Any, values: list[Any]) -> Unit:
    """Return the unit 1, for functions of numbers."""
    if unit_of(values[0]) != Unit():
        raise UnitError(f"{op.name} takes numbers, not {unit_of(values[0])}")
    return Unit()


def keep(op: Any, values: list[Any]) -> Unit:
    """Return the unit of the first argument."""
    return unit_of(values[0])


#: The names of operators → the unit of their results, from all arguments in order.
RULES: dict[str, Callable[[Any, list[Any]], Unit]] = {
    name: rule
    for names, rule in {
        "add sub add_ sub_ maximum minimum cat stack copy_ eq ne lt le gt ge": same,
        "exp log sin cos tanh sigmoid softmax": pure,
        "neg abs sum mean max min clone relu zeros_like zero_ _to_copy _unsafe_view": keep,
        "ones_like sign isfinite argmax argmin item": lambda op, values: Unit(),
        "mul mul_ matmul mm mv bmm dot": lambda op, values: unit_of(values[0]) * unit_of(values[1]),
        "div div_": lambda op, values: unit_of(values[0]) / unit_of(values[1]),
        "reciprocal": lambda op, values: unit_of(values[0]) ** -1,
        "sqrt": lambda op, values: unit_of(values[0]) ** 0.5,
        "pow": lambda op, values: unit_of(values[0]) ** values[1],
    }.items()
    for name in names.split()
}


def run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the numbers; its rule gives the unit of the results, or refuses the call before it runs."""
    parameters = op.schema.arguments
    values = [*args, *(kwargs.get(each.name) for each in parameters[len(args) :])]
    is_view = any(each.alias and not each.is_write for each in op.schema.returns)
    rule = keep if is_view else RULES.get(op.packet.name.partition("::")[2])
    if rule is None:
        raise UnitError(f"{op.name} has no rule for units\nHint: {LAYOUT.hint}")
    unit = rule(op, values)
    written = [value for value, each in zip(values, parameters, strict=True) if each.is_write]
    if wrong := [str(unit_of(each)) for each in written if unit_of(each) != unit]:
        raise UnitError(f"{op.name} writes {unit} to a tensor in {wrong[0]}")

    def name_unit(value: torch.Tensor, record: Quantity) -> torch.Tensor:
        is_named = value.is_floating_point() and unit != Unit()
        return wrap(LAYOUT.make(value=value, unit=unit)) if is_named else value

    return call_converted(LAYOUT, op, args, kwargs, read=lambda record: record.value, make=name_unit)


@LAYOUT.for_each_key
def register(key: dc.DispatchKey) -> None:
    """Register the fallback for the quantities of a device."""
    dc.Library("_", "IMPL").fallback(run, key)


def energy(mass: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
    """Return the kinetic energy of bodies."""
    return (0.5 * mass * speed * speed).sum()


def main() -> None:
    """Print quantities, refusals, gradients, and the same by a pipeline, a captured function, vmap, and a file."""
    mass, speed = quantity([2.0, 3.0], kg=1), quantity([1.0, 4.0], m=1) / quantity(2.0, s=1)
    print("speed:", speed)
    print("energy:", energy(mass, speed))
    for name, call in {"m + kg": lambda: speed + mass, "exp(kg)": mass.exp, "erf(kg)": mass.erf}.items():
        try:
            call()
        except UnitError as error:
            print(f"{name}:", str(error).partition("\n")[0])
    print("by grad, momentum:", torch.func.grad(lambda speed: energy(mass, speed))(speed))
    numbers = torch.tensor([2.0, 3.0], requires_grad=True)
    value_in(energy(quantity(numbers, kg=1), speed), kg=1, m=2, s=-2).backward()
    print("by backward:", numbers.grad)
    with dc.pipeline() as pipe:
        total = energy(mass, speed)
    print("pipeline:", total, "of", pipe.stats().recorded, "recorded calls")
    step = dc.capture(energy)
    for _ in range(4):
        total = step(mass, speed)
    print("captured:", total, "by", step.stats().replays, "replays")
    print("vmap:", torch.func.vmap(energy)(mass, speed))
    print("vmap of numbers:", torch.func.vmap(lambda m: bare(energy(quantity(m, kg=1), speed)))(torch.ones(2, 2)))
    file = io.BytesIO()
    torch.save(mass, file)
    file.seek(0)
    with torch.serialization.safe_globals([Unit, Fraction]):
        print("file:", torch.load(file))


if __name__ == "__main__":
    main()
