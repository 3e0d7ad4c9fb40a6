"""Operators on several tensors as modules, so that their results are observed (source: ``torch.ao.nn.quantized``)."""

from __future__ import annotations

from typing import Any

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

from .utils import ScaledModule, guard_attributes

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FXFloatFunctional(nn.Module):
    """Compute with numbers, unobserved (source: ``torch.ao.nn.quantized.FXFloatFunctional``)."""

    def _see(self, result: Any) -> Any:
        return result

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            f"{type(self).__name__} is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two tensors."""
        return self._see(t.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return the sum of a tensor and a number."""
        return t.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """Return the product of two tensors, element by element."""
        return self._see(t.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return the product of a tensor and a number."""
        return t.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Return tensors joined along a dimension."""
        return self._see(t.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return the sum of two tensors, but 0 where it is negative."""
        return self._see(F.relu(t.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of two matrices."""
        return self._see(t.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Compute with numbers that are observed (source: ``torch.ao.nn.quantized.FloatFunctional``).

    One module for each place where a network adds, multiplies or joins; `prepare` puts an observer into it.

    >>> import torchlike
    >>> FloatFunctional().add(torchlike.tensor(1.0), torchlike.tensor(2.0))
    tensor(3.)
    """

    activation_post_process: Any

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _see(self, result: Any) -> Any:
        return self.activation_post_process(result)


class QFunctional(ScaledModule):
    """Compute with integers (source: ``torch.ao.nn.quantized.QFunctional``)."""

    activation_post_process: Any

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = nn.Identity()

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def _run(self, name: str, *args: Any, **options: Any) -> Any:
        guard_attributes(self, "scale", "zero_point")
        scaled = {"scale": self.scale, "zero_point": self.zero_point}
        return self.activation_post_process(getattr(t.ops.quantized, name)(*args, **options, **scaled))

    def forward(self, x: Any) -> Any:
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two tensors."""
        return self._run("add", x, y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return the sum of a tensor and a number."""
        return t.ops.quantized.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """Return the product of two tensors, element by element."""
        return self._run("mul", x, y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return the product of a tensor and a number."""
        return t.ops.quantized.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Return tensors joined along a dimension."""
        return self._run("cat", x, dim=dim)

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return the sum of two tensors, but 0 where it is negative."""
        return self._run("add_relu", x, y)

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of two matrices."""
        return self._run("matmul", x, y)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """Return the module for an observed one."""
        if type(mod) is not FloatFunctional:
            raise AssertionError(
                f"QFunctional.from_float expects an instance of FloatFunctional, got {type(mod).__name__}"
            )
        made = QFunctional()
        made._take_qparams(mod.activation_post_process)
        return made
