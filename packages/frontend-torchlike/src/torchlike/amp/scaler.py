"""Scaling of losses, so that small gradients do not vanish in half precision."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import float16, float32, int32
from dispatch_core.devices import read_alias
from dispatch_core.lazy_text import repr_by_attributes

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from .settings import is_present

_full: Final[Any] = FACTORIES["full"]
_UNUSED: Final = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(enum.Enum):
    """How far an optimizer is in the present iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """Return the record of an optimizer after an update.

    The second entry tells for each device whether a gradient there was infinite or nan, as a tensor of 1 or 0.
    """
    return {"stage": OptState.READY, "found_inf_per_device": {}}


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

    __repr__ = repr_by_attributes("_device", "_enabled")

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
        device = read_alias(device)
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
        #: id of an optimizer → its progress since the last update.
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, function: str) -> tuple[Tensor, Tensor]:
        """Return the factor and the number of good steps; ``AssertionError`` before the first loss."""
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {function} but {name} is None.  {_UNUSED}")
        assert self._scale is not None
        assert self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def _factor_on(self, device: dc.Device) -> Tensor:
        """Return the factor on a device; it is made on the first that asks."""
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

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[dc.Device, Tensor]:
        """Multiply an optimizer's gradients; programs override it, to let ``allow_fp16`` be True."""
        with no_grad():
            return _unscale(_gradients(optimizer, allow_fp16=allow_fp16), inv_scale, found_inf)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor: at most once before its step.

        Raises ``RuntimeError`` where that is done, or comes after the step, and ``ValueError`` for float16 gradients.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        with no_grad():
            inverse = scale.double().reciprocal().float()
        found_inf = _full((), 0.0, dtype=float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if any(each.item() for each in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the optimizer's ``step`` on unscaled gradients, unless one is infinite or nan, and return its result.

        An optimizer with ``_step_supports_amp_scaling`` unscales by itself, by its attributes ``grad_scale`` and
        ``found_inf``. Raises ``RuntimeError`` for a closure, and where the optimizer has stepped since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            found = self._step_by_itself(optimizer, state, *args, **kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            found = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return found

    def _step_by_itself(self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Call the step of an optimizer that unscales its gradients and skips the step itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let "
                "the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, grad_scaler=self, **kwargs)
        is_unscaled = state["stage"] is OptState.UNSCALED
        if not is_unscaled:
            self._check_inf_per_device(optimizer)
        scale, _ = self._check_scale_growth_tracker("step")
        known = getattr(optimizer, "grad_scale", None)
        optimizer.grad_scale = known if is_unscaled else scale if known is None else scale * known
        optimizer.found_inf = sum(each.to(scale.device) for each in state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer: Any) -> dict[dc.Device, Tensor]:
        """Look for infinite gradients of an optimizer, and leave them as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found_inf = (_full((), value, dtype=float32, device=scale.device) for value in (1.0, 0.0))
        found = self._unscale_grads_(optimizer, one, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[dc.Device, Tensor]:
        found: dict[dc.Device, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the factor of the next iteration: smaller after an infinite gradient, larger after many good steps.

        ``new_scale`` sets it. Raises ``AssertionError`` where no gradients were looked at since the last update.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        with no_grad():
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            elif new_scale is not None:
                self._check_new_scale(new_scale)
                scale.copy_(new_scale.reshape(()))
            else:
                states = self._per_optimizer_states.values()
                found = [each for state in states for each in state["found_inf_per_device"].values()]
                if not found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                combined = found[0].to(device=scale.device)
                for each in found[1:]:
                    combined = combined + each.to(device=scale.device)
                self._update(scale, tracker, combined != 0)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

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
        """Update the scale as torch's ``_amp_update_scale_``, without reading a value."""
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
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state


def _gradients(optimizer: Any, *, allow_fp16: bool) -> Iterator[Tensor]:
    """Yield the gradients of an optimizer's parameters, the elements of sparse ones."""
    for group in optimizer.param_groups:
        for param in group["params"]:
            if not isinstance(param, Tensor):
                raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
            gradient: Any = param.grad
            if gradient is None:
                continue
            if not allow_fp16 and gradient.dtype is float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            if getattr(gradient, "is_sparse", False):
                if gradient.dtype is float16:  # whose sums may be infinite
                    param.grad = gradient = gradient.coalesce()
                gradient = gradient._values()
            yield gradient


def _unscale(gradients: Iterable[Tensor], inverse: Tensor, found_inf: Tensor) -> dict[dc.Device, Tensor]:
    """Multiply gradients by ``inverse``; return for each device 1 if one of its gradients is infinite or nan, else 0.

    As torch's operator ``_amp_foreach_non_finite_check_and_unscale_``, and without reading a value.
    """
    factors: dict[dc.Device, Tensor] = {}
    found: dict[dc.Device, Tensor] = {}
    for gradient in gradients:
        device = gradient.device
        if device not in found:
            factors[device], found[device] = inverse.to(device=device), found_inf.to(device=device)
        is_bad: Any = FUNCTIONS["isfinite"](gradient).logical_not().any()
        found[device] = FUNCTIONS["maximum"](found[device], is_bad.to(float32))
        gradient.mul_(factors[device])
    return found
