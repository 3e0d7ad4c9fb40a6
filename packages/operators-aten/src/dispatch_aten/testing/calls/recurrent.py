"""Functions that draw arguments of the operators of ``recurrent.rows``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_core import ops

from ..drawing import Draw, Make


def _ctc(r: Draw) -> tuple[Any, ...]:
    return ops.aten.log_softmax(r.f(6, 2, 4), 2), r.i(3, 2, 2) + 1


def _ctc_backward(r: Draw) -> tuple[Any, ...]:
    scores, targets = _ctc(r)
    loss, alpha = ops.aten._ctc_loss(scores, targets, [6, 5], [2, 1])
    return r.f(2), scores, targets, [6, 5], [2, 1], loss, alpha, 0


def _cell(gates: int, *, cells: bool = False) -> Make:
    def make(r: Draw) -> tuple[Any, ...]:
        hidden = [r.f(2, 4), r.f(2, 4)] if cells else r.f(2, 4)
        return r.f(2, 3), hidden, r.f(gates * 4, 3), r.f(gates * 4, 4), r.f(gates * 4), r.f(gates * 4)

    return make


def _layer(r: Draw, gates: int) -> tuple[Any, ...]:
    """Draw a recurrent layer's weights, and its options."""
    weights = [r.f(gates * 4, 3), r.f(gates * 4, 4), r.f(gates * 4), r.f(gates * 4)]
    return weights, True, 1, 0.0, False, False, False


def _pack(r: Draw) -> tuple[Any, ...]:
    data, sizes = ops.aten._pack_padded_sequence(r.f(4, 3, 2), np.array([4, 2, 1]), False)
    return data, sizes, False, 1.5, 5
