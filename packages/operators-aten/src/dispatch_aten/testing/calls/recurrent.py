"""Right calls of the operators of ``operators.recurrent``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_core import ops

from ..drawing import CallRow, Draw, Make, call


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


CALLS: Final[tuple[CallRow, ...]] = (
    call("_ctc_loss", lambda r: (*_ctc(r), [6, 6], [2, 2])),
    call("_ctc_loss_backward", _ctc_backward),
    call("ctc_loss.IntList", lambda r: (*_ctc(r), [6, 5], [2, 1])),
    call("ctc_loss.Tensor", lambda r: (*_ctc(r), np.array([6, 5]), np.array([2, 1]))),
    call("gru_cell", _cell(3)),
    call("rnn_relu_cell rnn_tanh_cell", _cell(1)),
    call("lstm_cell", _cell(4, cells=True)),
    call("_pack_padded_sequence", lambda r: (r.f(4, 3, 2), np.array([4, 2, 1]), False)),
    call("_pad_packed_sequence", _pack),
    call("pad_sequence", lambda r: ([r.f(3, 2), r.f(1, 2)], True, 2.5)),
    call("lstm.input", lambda r: (r.f(3, 2, 3), [r.f(1, 2, 4)] * 2, *_layer(r, 4))),
    call("gru.input", lambda r: (r.f(3, 2, 3), r.f(1, 2, 4), *_layer(r, 3))),
    call("rnn_tanh.input rnn_relu.input", lambda r: (r.f(3, 2, 3), r.f(1, 2, 4), *_layer(r, 1))),
    call("lstm.data", lambda r: (r.f(5, 3), np.array([2, 2, 1]), [r.f(1, 2, 4)] * 2, *_layer(r, 4)[:-1])),
    call("gru.data", lambda r: (r.f(5, 3), np.array([2, 2, 1]), r.f(1, 2, 4), *_layer(r, 3)[:-1])),
    call("rnn_tanh.data rnn_relu.data", lambda r: (r.f(5, 3), np.array([2, 2, 1]), r.f(1, 2, 4), *_layer(r, 1)[:-1])),
)
