"""The observer that leaves out the ends of a range where few elements lie (source: ``torch.ao.quantization.observer``)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Final

import numpy as np

import torchlike as t

from .observer_bases import UniformQuantizationObserverBase
from .utils import is_per_tensor

__all__ = ["HistogramObserver"]

#: The parts of a bin that are spread over other bins when the range grows.
_PARTS: Final = 16
_SINGLE: Final = np.float32


class HistogramObserver(UniformQuantizationObserverBase):
    """Count how many elements lie where, and choose the range of least error (source: ``torch.ao.quantization``).

    >>> import torchlike
    >>> observer = HistogramObserver(bins=8)
    >>> _ = observer(torchlike.tensor([-1.0, 0.0, 0.0, 0.5, 3.0]))
    >>> observer.histogram
    tensor([1., 0., 2., 1., 0., 0., 0., 1.])
    """

    _allows: ClassVar[Any] = staticmethod(is_per_tensor)
    _may_be_dynamic = False
    histogram: t.Tensor

    def __init__(self, bins: int = 2048, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", t.zeros(bins, **self._options))
        self.register_buffer("min_val", t.tensor(float("inf"), **self._options))
        self.register_buffer("max_val", t.tensor(float("-inf"), **self._options))
        self.dst_nbins = 2 ** t.iinfo(self.dtype).bits
        self.upsample_rate = _PARTS

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach()
        low, high = t.aminmax(x)
        if low == float("-inf") or high == float("inf"):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if x.numel() == 0:
                return x_orig
            low, high = t.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return x_orig
        old = self.histogram, self.min_val, self.max_val
        low, high = t.min(self.min_val, low), t.max(self.max_val, high)
        counts = t.histc(x, self.bins, min=low.item(), max=high.item()).to(self.histogram.device)
        self._keep(self._combine_histograms(*old, counts, low, high), low, high)
        return x_orig

    def reset_histogram(self, x: Any, min_val: Any, max_val: Any) -> None:
        """Forget what was counted, and count the elements of ``x`` from ``min_val`` to ``max_val``."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self._keep(t.histc(x, self.bins, min=min_val.item(), max=max_val.item()), min_val, max_val)

    def _keep(self, histogram: Any, low: Any, high: Any) -> None:
        for own, new in (self.histogram, histogram), (self.min_val, low), (self.max_val, high):
            own.detach_().resize_(new.shape)
            own.copy_(new)

    def _combine_histograms(
        self, orig_hist: Any, orig_min: Any, orig_max: Any, update_hist: Any, update_min: Any, update_max: Any
    ) -> Any:
        """Return the sum of two histograms; the range of the second has that of the first in it."""
        if update_min == orig_min and update_max == orig_max:
            return orig_hist + update_hist
        if orig_min == orig_max:
            one = t.histc(orig_min, bins=self.bins, min=update_min.item(), max=update_max.item())
            return one * t.sum(orig_hist) + update_hist
        return update_hist + self._upscale_histogram(orig_hist, orig_min, orig_max, update_min, update_max)

    def _upscale_histogram(self, histogram: Any, orig_min: Any, orig_max: Any, update_min: Any, update_max: Any) -> Any:
        """Return a histogram's counts in the bins of a greater range, each bin spread evenly."""
        count = self.bins * self.upsample_rate
        parts = histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        device = histogram.device
        middles = t.linspace(orig_min, orig_max, count + 1, device=device)[:-1] + 0.5 * ((orig_max - orig_min) / count)
        ends = t.linspace(update_min, update_max, self.bins + 1, device=device)
        places = t.bucketize(middles, ends, right=True) - 1
        return t.bincount(places.clamp(0, self.bins - 1), weights=parts, minlength=self.bins)

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # as torch's
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default scale and zero point ",
                stacklevel=2,
            )
            device = self.min_val.device.type
            return t.tensor([1.0], device=device), t.tensor([0], device=device)
        if self.bins != len(self.histogram):
            raise AssertionError("The number of bins in histogram should be the number given to this observer")
        return self._calculate_qparams(*self._non_linear_param_search())

    def _non_linear_param_search(self) -> tuple[Any, Any]:
        """Return the range that is left when bins are taken from either end as long as the error falls."""
        search = _Search(self.histogram.cpu().numpy(), float(self.min_val), float(self.max_val), self.dst_nbins)
        first, last = search.run(t.cumsum(self.histogram, dim=0).cpu().numpy(), t.sum(self.histogram).item())
        width = (self.max_val - self.min_val) / self.bins
        return self.min_val + width * first, self.min_val + width * (last + 1)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "min_val"], destination[prefix + "max_val"] = self.min_val, self.max_val

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        for name, start in ("min_val", float("inf")), ("max_val", float("-inf")):
            value = state_dict.get(prefix + name)
            if value is None:
                if strict:
                    missing_keys.append(prefix + name)
                continue
            if (version is None or version < 3) and value.shape == (0,):
                value = state_dict[prefix + name] = t.tensor(start)
            setattr(self, name, value)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)


class _Search:
    """The search for the range of least error, in ``float32``, as torch computes it."""

    def __init__(self, histogram: Any, low: float, high: float, steps: int) -> None:
        self.histogram, self.steps, self.bins = histogram, steps, len(histogram)
        self.width = (high - low) / self.bins

    def run(self, sums: Any, total: float) -> tuple[int, int]:
        """Return the first and the last bin of the range."""
        left, right, first, last, least = 0.0, 1.0, 0, self.bins - 1, float("inf")
        while left < right:
            next_left, next_right = left + 1e-05, right - 1e-05
            below, above = _SINGLE(next_left * total), _SINGLE(next_right * total)
            # The first bin whose sum is not below, and the last one whose sum is not above.
            start = min(max(int(np.searchsorted(sums, below)), first), last)
            end = max(min(int(np.searchsorted(sums, above, side="right")) - 1, last), first)
            next_first, next_last = first, last
            if start - first > last - end:
                next_first, left = start, next_left
            else:
                next_last, right = end, next_right
            if (next_first, next_last) == (first, last):
                continue
            error = self.find_error(next_first, next_last)
            if error > least:
                break
            least, first, last = error, next_first, next_last
        return first, last

    def find_error(self, first: int, last: int) -> float:
        """Return the sum of squared errors where the bins from ``first`` to ``last`` share the integers."""
        step = self.width * (last - first + 1) / self.steps
        if step == 0.0:
            return 0.0
        step32, half, density = _SINGLE(step), _SINGLE(step / 2), self.histogram / _SINGLE(self.width)
        begin = (np.arange(self.bins) - first).astype(_SINGLE) * _SINGLE(self.width)
        end = begin + _SINGLE(self.width)
        of_begin, of_end = (np.clip(np.floor_divide(each, step32), 0, self.steps - 1) for each in (begin, end))
        error = _integrate(begin - (of_begin + _SINGLE(0.5)) * step32, half, density)
        error = error + (of_end - of_begin - _SINGLE(1)) * _integrate(-half, half, density)
        error = error + _integrate(-half, end - (of_end * step32 + half), density)
        return float(error.sum(dtype=_SINGLE))


def _integrate(begin: Any, end: Any, density: Any) -> Any:
    return density * ((end * end * end - begin * begin * begin) / _SINGLE(3))
