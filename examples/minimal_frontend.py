"""A frontend in forty lines: a tensor class with the two attributes that the dispatcher reads, operators, factories.

It knows the dispatcher and asks for the device "cpu"; which plugin provides that is found by entry point.
"""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

aten = dc.ops.aten


class Vector:
    """A tensor: its dispatch keys, and the backend's own array."""

    __slots__ = ("_dispatch_data", "_dispatch_mask")

    def __repr__(self) -> str:
        return f"Vector({dc.ops.prims.device_get(self)}, {dc.device(self)})"

    def __getattr__(self, name: str) -> Any:
        """Offer every operator as a method."""
        packet = getattr(aten, name)
        return lambda *args, **kwargs: packet(self, *args, **kwargs)


for python, operator in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "matmul": "matmul"}.items():
    setattr(Vector, f"__{python}__", lambda self, other, name=operator: getattr(aten, name)(self, other))

frontend = dc.register_frontend("minimal", Vector)


def vector(*values: float) -> Vector:
    """Make a vector of numbers on the cpu: a factory's raw array, wrapped."""
    rows = [aten.full([1], value, device="cpu") for value in values]
    return frontend.wrap(aten.cat(rows))


if __name__ == "__main__":
    a, b = vector(1.0, 2.0, 3.0), vector(10.0, 20.0, 30.0)
    print(a + b, (a * 2).exp().log(), a @ b, sep="\n")
    assert (a @ b).item() == 140.0
    assert (a + b).tanh().lt(1.0001).all().item()
    a.add_(b)  # in place, through the same boundary
    assert a.sum().item() == 66.0
    assert dc.backends()["cpu"].state == "loaded"
