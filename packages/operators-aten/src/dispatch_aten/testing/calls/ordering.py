"""Right calls of the operators of ``operators.ordering``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("median nanmedian msort unique_consecutive _unique2", lambda r: (r.f(3, 5),)),
    call("median.dim nanmedian.dim mode", lambda r: (r.f(3, 5), 1)),
    call("kthvalue", lambda r: (r.f(3, 5), 2)),
    call("quantile nanquantile", lambda r: (r.f(3, 5), np.array([0.2, 0.7]), 1)),
    call("quantile.scalar nanquantile.scalar", lambda r: (r.f(3, 5), 0.3, 1)),
    call("unique_dim", lambda r: (r.i(2, 6, 2), 0, True, True, True)),
    call("bincount", lambda r: (r.i(5, 9), r.f(9))),
    call("histc histogram.bin_ct", lambda r: (r.f(9), 4)),
    call("histogram.bins_tensor", lambda r: (r.f(9), np.array([-1.0, 0, 0.5, 1]))),
    call("histogramdd", lambda r: (r.f(9, 2), [3, 2])),
    call("histogramdd.int_bins", lambda r: (r.f(9, 2), 3)),
    call("histogramdd.TensorList_bins", lambda r: (r.f(9, 2), [np.arange(-1.0, 2), np.arange(-2.0, 2)])),
    call("bucketize.Scalar", lambda r: (0.3, np.sort(r.f(4)))),
    call("bucketize.Tensor", lambda r: (r.f(2, 3), np.sort(r.f(4)))),
    call("searchsorted.Scalar", lambda r: (np.sort(r.f(4)), 0.3)),
    call("searchsorted.Tensor", lambda r: (np.sort(r.f(4)), r.f(2, 3))),
)
