"""Scaling of losses, so that small gradients do not vanish in half precision."""

from __future__ import annotations

import enum
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import float16, float32, int32

from ..creation import FACTORIES
from ..functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors import Tensor
from .settings import is_present

__all__ = ["GradScaler", "OptState"]

_full: Final[Any] = FACTORIES["full"]
_UNUSED: Final = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(enum.Enum):
    """How far an optimizer is in the present iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """What is known of an optimizer since the last update."""

    def __init__(self) -> None:
        self.stage = OptState.READY
        #: 1 where a gradient on the device was infinite or nan, else 0.
        self.found_inf: dict[dc.Device, Tensor] = {}


class GradScaler:
    """Multiplies losses, divides gradients, and leaves out steps with infinite ones (source: ``torch.amp.GradScaler``).

    The factor is a tensor on the device of the first loss: it shrinks by ``backoff_factor`` after a gradient that is
    infinite or nan, and grows by ``growth_factor`` after ``growth_interval`` steps without. For ``cuda``, which is not
    there, it warns and is disabled: losses and gradients stay as they are. Raises ``AssertionError`` for factors that lead
    the wrong way.

    >>> import torchlike
    >>> scaler = GradScaler("cpu", init_scale=4.)
    >>> w = torchlike.ones(1, requires_grad=True)
    >>> optimizer = torchlike.optim.SGD([w], lr=0.5)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([4.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach()
    tensor([0.5000])
    """

    _scale: Tensor | None
    _growth_tracker: Tensor | None

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not is_present("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker, self._growth_tracker = 0, None
        #: id of an optimizer → its progress.
        self._progress: defaultdict[int, _Progress] = defaultdict(_Progress)

    def _state(self, function: str) -> tuple[Tensor, Tensor]:
        """Return the factor and the number of good steps; ``AssertionError`` before the first loss."""
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {function} but {name} is None.  {_UNUSED}")
        assert self._scale is not None
        assert self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def _factor_on(self, device: dc.Device) -> Tensor:
        """Return the factor on a device; the first one gets it."""
        if self._scale is None:
            self._scale = _full((), self._init_scale, dtype=float32, device=device)
            self._growth_tracker = _full((), self._init_growth_tracker, dtype=int32, device=device)
        return self._scale.to(device=device)

    def scale(self, outputs: Any) -> Any:
        """Return a loss, or losses in containers, times the present factor; ``ValueError`` for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._factor_on(outputs.device)
        if isinstance(outputs, Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor: at most once before its step.

        Raises ``RuntimeError`` where that is done, or comes after the step, and ``ValueError`` for float16 gradients.
        """
        if not self._enabled:
            return
        scale, _ = self._state("unscale_")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        with no_grad():
            inverse = scale.double().reciprocal().float() if scale.device.type != "mps" else scale.reciprocal()
            progress.found_inf = _unscale(_gradients(optimizer), inverse)
        progress.stage = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the optimizer's ``step`` on unscaled gradients, unless one is infinite or nan, and return its result.

        Raises ``RuntimeError`` for a closure, and where the optimizer has stepped since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._state("step")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if not progress.found_inf:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        found = None
        if not any(each.item() for each in progress.found_inf.values()):
            found = optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return found

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the factor of the next iteration: smaller after an infinite gradient, larger after many good steps.

        ``new_scale`` sets it. Raises ``AssertionError`` where no gradients were looked at since the last update.
        """
        if not self._enabled:
            return
        scale, tracker = self._state("update")
        with no_grad():
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            elif new_scale is not None:
                self._check_new_scale(new_scale)
                scale.copy_(new_scale.reshape(()))
            else:
                found = [each for progress in self._progress.values() for each in progress.found_inf.values()]
                if not found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                combined = found[0].to(device=scale.device)
                for each in found[1:]:
                    combined = combined + each.to(device=scale.device)
                self._update(scale, tracker, combined != 0)
        self._progress = defaultdict(_Progress)

    def _check_new_scale(self, new_scale: Any) -> None:
        is_good = (
            isinstance(new_scale, Tensor)
            and new_scale.device.type == self._device
            and new_scale.numel() == 1
            and not new_scale.requires_grad
        )
        if not is_good:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )

    def _update(self, scale: Tensor, tracker: Tensor, is_infinite: Tensor) -> None:
        """Do what torch's operator ``_amp_update_scale_`` does, without reading a value."""
        where, zero = FUNCTIONS["where"], FUNCTIONS["zeros_like"](tracker)
        steps = tracker + 1
        grown = scale * self._growth_factor
        is_due = steps == self._growth_interval
        good = where(is_due & FUNCTIONS["isfinite"](grown), grown, scale)
        scale.copy_(where(is_infinite, scale * self._backoff_factor, good))
        tracker.copy_(where(is_infinite | is_due, zero, steps))

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the present factor; 1 where it is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of good steps in a row after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of good steps in a row after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state as torch's scaler does, so that either loads the other's; an empty dict where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned; ``RuntimeError`` for one of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        if self._enabled:
            if self._progress:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state


def _gradients(optimizer: Any) -> Iterator[Tensor]:
    """Yield the gradients of an optimizer's parameters, those of sparse ones' elements."""
    for group in optimizer.param_groups:
        for param in group["params"]:
            if not isinstance(param, Tensor):
                raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
            gradient: Any = param.grad
            if gradient is None:
                continue
            if gradient.dtype is float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            yield gradient._values() if getattr(gradient, "is_sparse", False) else gradient


def _unscale(gradients: Iterable[Tensor], inverse: Tensor) -> dict[dc.Device, Tensor]:
    """Multiply gradients by ``inverse``; return for each device 1 if one of its gradients is infinite or nan, else 0.

    As torch's operator ``_amp_foreach_non_finite_check_and_unscale_``, and without reading a value.
    """
    factors: dict[dc.Device, Tensor] = {}
    found: dict[dc.Device, Tensor] = {}
    for gradient in gradients:
        device = gradient.device
        if device not in found:
            factors[device] = inverse.to(device=device)
            found[device] = _full((), 0.0, dtype=float32, device=device)
        is_bad: Any = FUNCTIONS["isfinite"](gradient).logical_not().any()
        found[device] = FUNCTIONS["maximum"](found[device], is_bad.to(float32))
        gradient.mul_(factors[device])
    return found
