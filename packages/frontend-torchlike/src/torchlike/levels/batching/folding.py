"""Pooling, padding, interpolation, sampling and columns of windows: the batch is more samples for one call."""

from __future__ import annotations

from typing import Any, Final

from .calls import BatchedCall, Rule, aten, map_results


def fold(rank: int, *, size: str = "") -> Rule:
    """Return the rule of an operator whose tensors have this rank, one less where there is no dimension of samples.

    The argument named by ``size`` is the shape of a tensor.
    """

    def rule(call: BatchedCall) -> Any:
        tensors = {name: call.with_batch(name) for name in call.tensors()}
        has_samples = len(next(iter(tensors.values())).shape) > rank
        changed: dict[str, Any] = {
            # Random samples of fractional pooling have a dimension of samples in any case.
            name: _merge(tensor) if has_samples or name == "random_samples" else tensor
            for name, tensor in tensors.items()
        }
        if not has_samples:
            return call.run(**changed)  # the batch itself takes the place of the samples
        if size:
            changed[size] = [call.size * call[size][0], *call[size][1:]]
        samples = next(iter(tensors.values())).shape[1]

        def split(each: Any) -> Any:
            """Return a result with its batch, one that is not asked for as it is."""
            asked = each is not None and len(each.shape) > 1
            return aten.view.default(each, (call.size, samples, *each.shape[1:])) if asked else each

        return map_results(call.run(**changed), split)

    return rule


def _merge(tensor: Any) -> Any:
    """Return a tensor with the batch and the samples as one dimension."""
    shape = tensor.shape
    return aten.reshape.default(tensor, (shape[0] * shape[1], *shape[2:]))


def _fold_by_dims() -> dict[str, Rule]:
    """Return the rules of operators named by the number of their spatial dimensions."""
    named = {
        "max_pool{}d_with_indices": (2, 3),
        "avg_pool{}d": (2, 3),
        "_adaptive_avg_pool{}d": (2, 3),
        "adaptive_max_pool{}d": (2, 3),
        "fractional_max_pool{}d": (2, 3),
        "max_unpool{}d": (2, 3),
        "reflection_pad{}d": (1, 2, 3),
        "replication_pad{}d": (1, 2, 3),
        "grid_sampler_{}d": (2, 3),
    }
    found = {}
    for name, counts in named.items():
        for count in counts:
            found[name.format(count)] = found[f"{name.format(count)}_backward"] = fold(count + 2)
    return found


_RESAMPLERS: Final = {
    1: "upsample_nearest1d _upsample_nearest_exact1d upsample_linear1d",
    2: "upsample_nearest2d _upsample_nearest_exact2d upsample_bilinear2d upsample_bicubic2d _upsample_bilinear2d_aa"
    " _upsample_bicubic2d_aa _upsample_lanczos2d_aa",
    3: "upsample_nearest3d _upsample_nearest_exact3d upsample_trilinear3d",
}

RULES: Final[dict[str, Rule]] = {
    **_fold_by_dims(),
    **{name: fold(count + 2) for count, names in _RESAMPLERS.items() for name in names.split()},
    **{
        f"{name}_backward": fold(count + 2, size="input_size")
        for count, names in _RESAMPLERS.items()
        for name in names.split()
    },
    "im2col": fold(4),
    "col2im": fold(3),
}
