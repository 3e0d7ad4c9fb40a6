"""Right calls of operators of ``loss.rows`` that follow one pattern."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    *(
        call("nll_loss_forward", lambda r, w=w, k=k: (r.f(4, 3), r.i(3, 4), r.p(3) if w else None, k, 1))
        for w in (False, True)
        for k in (0, 1, 2)
    ),
    *(call("mse_loss", lambda r, k=k: (r.f(4, 3), r.f(4, 3), k)) for k in (0, 1, 2)),
    *(
        call("binary_cross_entropy_with_logits", lambda r, k=k, w=w: (r.f(4, 3), r.b(4, 3) * 1.0, *w(r), k))
        for k in (0, 1, 2)
        for w in (lambda r: (None, None), lambda r: (r.p(3), r.p(3)))
    ),
)
