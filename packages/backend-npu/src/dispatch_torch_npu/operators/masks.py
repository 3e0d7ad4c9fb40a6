"""The masks of attention: those that a call gives, and those that its sparse mode means.

Note [Compressed masks]
    In the modes 2 to 4 a call gives a triangle of 2048 x 2048 whatever the lengths are, which only the device's function
    reads; the mode itself says which positions take part. Here these are computed from the lengths, and the triangle's
    values are not looked at.
"""

from __future__ import annotations

from typing import Final

import torchlike
from torchlike import Tensor

from ..refusals import refuse

__all__ = ["check_mask", "hidden_positions", "is_triangle"]

#: The sparse modes that are served, by number.
DEFAULT, ALL, LEFT_UP, RIGHT_DOWN, BAND = range(5)
_COMPRESSED: Final = (2048, 2048)
_SMALLEST_RANK: Final = 2


def check_mask(mask: Tensor | None, mode: int, queries: int, keys: int) -> None:
    """Refuse a mode that is not served, and a mask that does not fit a mode.

    Raises ``NotServedError`` for the modes of prefixes and packed lengths, ``ValueError`` for a mask of a wrong shape.
    """
    if mode not in (DEFAULT, ALL, LEFT_UP, RIGHT_DOWN, BAND):
        refuse(
            f"npu_fusion_attention(sparse_mode={mode})",
            "masks of prefixes (5, 6) and of packed sequences (7, 8) are not computed",
            "give the whole mask as atten_mask, with sparse_mode=1",
        )
    if mask is None:
        return
    if mode in (DEFAULT, ALL):
        if mask.dim() < _SMALLEST_RANK or tuple(mask.shape[-2:]) != (queries, keys):
            raise ValueError(
                f"atten_mask has the shape {tuple(mask.shape)}; in sparse_mode {mode} its last dimensions are those of"
                f" the scores, ({queries}, {keys})\n"
                "Hint: the compressed mask of 2048 x 2048 is for the modes 2, 3 and 4"
            )
    elif tuple(mask.shape[-2:]) != _COMPRESSED:
        raise ValueError(
            f"atten_mask has the shape {tuple(mask.shape)}; in sparse_mode {mode} it is the compressed one, 2048 x 2048\n"
            "Hint: with a mask of the scores' own shape write sparse_mode=1"
        )


def hidden_positions(
    mask: Tensor | None, mode: int, before: int, after: int, queries: int, keys: int, device: torchlike.device
) -> Tensor | None:
    """Return where scores are left out, as a mask that broadcasts to batch, heads, queries, keys; None for nowhere.

    Without a mask the mode and the numbers of positions before and after have no effect, as in torch_npu.

    >>> hidden_positions(torchlike.ones(2048, 2048).bool(), 2, 0, 0, 2, 3, torchlike.device("cpu"))
    tensor([[False,  True,  True],
            [False, False,  True]])
    """
    if mask is None:
        return None
    if mode in (DEFAULT, ALL):
        return mask.to(device).bool()
    rows = torchlike.arange(queries, device=device).unsqueeze(1)
    columns = torchlike.arange(keys, device=device)
    if mode == LEFT_UP:
        return columns > rows
    rows = rows + (keys - queries)  # counted from the end of both
    if mode == RIGHT_DOWN:
        return columns > rows
    return (columns > rows + after) | (columns < rows - before)


def is_triangle(mode: int, queries: int, keys: int) -> bool:
    """Return whether a mode leaves out what is after a query's own position, as ``is_causal`` does.

    >>> is_triangle(3, 4, 4), is_triangle(3, 4, 5)
    (True, False)
    """
    return mode == LEFT_UP or (mode == RIGHT_DOWN and queries == keys)
