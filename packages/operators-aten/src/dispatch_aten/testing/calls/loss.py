"""Right calls of the operators of ``operators.loss``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ...dtypes import BY_NAME
from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("_softmax", lambda r: (r.f(2, 3), 1, False)),
    call("_log_softmax", lambda r: (r.f(2, 3), 0, False)),
    call("softmax.int log_softmax.int", lambda r: (r.f(2, 3), 1)),
    call("log_softmax.int", lambda r: (r.f(2, 3).astype("f4"), 1, BY_NAME["float64"])),
    call("_softmax_backward_data _log_softmax_backward_data", lambda r: (r.f(2, 3), r.f(2, 3), 1, BY_NAME["float64"])),
    call("nll_loss_backward", lambda r: (r.f(), r.f(4, 3), r.i(3, 4), None, 1, -100, np.array(4.0))),
    call("nll_loss_backward", lambda r: (r.f(4), r.f(4, 3), r.i(3, 4), r.p(3), 0, 1, np.array(0.0))),
    call("cross_entropy_loss nll_loss nll_loss_nd multi_margin_loss", lambda r: (r.f(4, 3), r.i(3, 4))),
    call("nll_loss_nd", lambda r: (r.f(2, 3, 4, 5), r.i(3, 2, 4, 5), None, 0)),
    call("nll_loss_nd", lambda r: (r.f(2, 3, 4), r.i(3, 2, 4), r.p(3), 1, 2)),
    call("cross_entropy_loss", lambda r: (r.f(4, 3), r.i(3, 4), r.p(3), 1, 1, 0.2)),
    call("cross_entropy_loss", lambda r: (r.f(4, 3), r.i(3, 4), None, 1, -100, 0.2)),
    call("cross_entropy_loss", lambda r: (r.f(4, 3), r.p(4, 3) / 3, None, 1, -100, 0.1)),
    call("cross_entropy_loss", lambda r: (r.f(2, 3, 4), r.i(3, 2, 4), None, 2)),
    call("mse_loss_backward", lambda r: (r.f(), r.f(4, 3), r.f(4, 3), 1)),
    call(
        "l1_loss huber_loss smooth_l1_loss cosine_similarity pairwise_distance cdist", lambda r: (r.f(4, 3), r.f(4, 3))
    ),
    call("binary_cross_entropy", lambda r: (r.f(4, low=0.1, high=0.9), r.f(4, low=0.0, high=1.0), r.f(4))),
    call("soft_margin_loss hinge_embedding_loss", lambda r: (r.f(4, 3), r.s(4, 3))),
    call("poisson_nll_loss", lambda r: (r.f(4), r.f(4, low=2.0, high=5.0), True, True, 1e-8, 1)),
    call("kl_div", lambda r: (r.f(4), r.f(4, low=0.1, high=0.9))),
    call("margin_ranking_loss", lambda r: (r.f(4), r.f(4), r.s(4), 0.5)),
    call("cosine_embedding_loss", lambda r: (r.f(4, 3), r.f(4, 3), r.s(4), 0.5)),
    call("triplet_margin_loss", lambda r: (r.f(4, 3), r.f(4, 3), r.f(4, 3))),
    call("multilabel_margin_loss", lambda r: (r.f(2, 4), np.array([[3, 0, -1, 1], [1, -1, 2, 0]]))),
    call("nll_loss2d", lambda r: (r.f(2, 3, 4, 4), r.i(3, 2, 4, 4))),
    call("_euclidean_dist", lambda r: (r.f(4, 3), r.f(5, 3))),
    call("pdist", lambda r: (r.f(4, 3),)),
    call("bilinear", lambda r: (r.f(5, 2), r.f(5, 3), r.f(4, 2, 3), r.f(4))),
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
