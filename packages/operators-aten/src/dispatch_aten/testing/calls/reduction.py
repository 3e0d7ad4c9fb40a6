"""Right calls of the operators of ``operators.reduction``: names, and a function that draws their arguments."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dispatch_core import ops

from ...dtypes import BY_NAME
from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("hash_tensor", lambda r: (r.i(9, 2, 3),)),
    call("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [0, -1], True)),
    call("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [1])),
    call("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [])),
    call("mean.dim", lambda r: (r.f(2, 3, 4), [0, -1])),
    call("mean.dim", lambda r: (r.f(2, 3, 4), None, True)),
    call("prod.dim_int max.dim", lambda r: (r.f(2, 3, 4), 1)),
    call("prod.dim_int", lambda r: (r.f(2, 3) * np.array([0.0, 1, 1]), 1, True)),
    call("prod", lambda r: (r.f(2, 3) * np.array([0.0, 1, 1]),)),
    call("prod", lambda r: (r.f(),)),
    call("amax", lambda r: (r.f(2, 3, 4), [0, 2])),
    call("amin", lambda r: (r.f(2, 3, 4), [], True)),
    call("amax", lambda r: (r.i(2, 3, 4) * 1.0, [1])),
    call("max", lambda r: (r.i(2, 3, 4) * 1.0,)),
    call("min.dim", lambda r: (r.f(2, 3, 4), -1, True)),
    call("max.dim", lambda r: (r.f(), 0)),
    call("any.dim", lambda r: (r.b(2, 3), 1)),
    call("all.dim", lambda r: (r.b(2, 3), 0, True)),
    call("any.dims", lambda r: (r.i(2, 2, 3), [0, 1])),
    call("all.dims", lambda r: (r.i(2, 2, 3), [])),
    call("all.dims", lambda r: (r.i(2, 2, 3), None, True)),
    call("var.correction", lambda r: (r.f(2, 3, 4), [1]), correction=0, keepdim=True),
    call("std.correction", lambda r: (r.f(2, 3, 4), [1, 2]), correction=2, keepdim=False),
    call("var_mean.correction", lambda r: (r.f(2, 3, 4), None), correction=1, keepdim=False),
    call("var.dim", lambda r: (r.f(2, 3, 4), [1], False)),
    call("std.dim", lambda r: (r.f(2, 3, 4), [1], True, True)),
    call("linalg_vector_norm", lambda r: (np.zeros(3), 2)),
    call("norm.ScalarOpt_dim", lambda r: (r.f(2, 3), None, [0], True)),
    call("logsumexp", lambda r: (r.f(2, 3), [1], True)),
    call("logsumexp", lambda r: (r.f(2, 3) * 100, [0, 1])),
    call("count_nonzero.dim_IntList", lambda r: (r.i(2, 2, 3), [0])),
    call("aminmax", lambda r: (r.f(2, 3),), dim=1, keepdim=True),
    call("aminmax", lambda r: (r.f(2, 3),)),
    call("cumsum", lambda r: (r.f(2, 3), 1)),
    call("cumprod", lambda r: (r.f(2, 4), 1)),
    call("cumprod", lambda r: (r.f(2, 5) * np.array([1.0, 0, 1, 0, 1]), 1)),
    call("sum_to_size", lambda r: (r.f(2, 3, 4), [3, 1])),
    call("max.other min.other", lambda r: (r.f(2, 3), r.f(3))),
    call("norm.ScalarOpt_dim_dtype", lambda r: (r.f(2, 3), 2, [1], False), dtype=BY_NAME["float64"]),
    call("norm.ScalarOpt_dtype", lambda r: (r.f(2, 3), 2), dtype=BY_NAME["float64"]),
    call("var_mean.dim", lambda r: (r.f(2, 3), [1])),
    call("dist", lambda r: (r.f(4, 3), r.f(4, 3))),
    call("std_mean nanmean nansum corrcoef cov cumulative_trapezoid.dx trapezoid.dx trapz.dx", lambda r: (r.f(3, 5),)),
    call("std_mean.correction", lambda r: (r.f(3, 5), [1]), correction=0, keepdim=True),
    call("std_mean.dim", lambda r: (r.f(3, 5), [1])),
    call("cummax cummin logcumsumexp", lambda r: (r.f(3, 5), 1)),
    call("cummaxmin_backward", lambda r: (r.f(3, 5), x := r.f(3, 5), ops.aten.cummax(x, 1)[1], 1)),
    call("cumulative_trapezoid.x trapezoid.x trapz.x", lambda r: (r.f(3, 5), r.f(5))),
    call("gradient.array", lambda r: (r.f(3, 5),), dim=[0, 1]),
    call("gradient.scalararray", lambda r: (r.f(3, 5),), spacing=2.0, dim=[0, 1]),
    call("gradient.scalarint", lambda r: (r.f(3, 5),), spacing=2.0, dim=1),
    call("gradient.scalarrayarray", lambda r: (r.f(3, 5),), spacing=[2.0, 1.0], dim=[0, 1]),
    call("gradient.scalarrayint", lambda r: (r.f(3, 5),), spacing=[2.0], dim=1),
    call("gradient.tensorarray", lambda r: (r.f(3, 5),), spacing=[np.array([0.0, 1, 3])], dim=[0]),
    call("gradient.tensorarrayint", lambda r: (r.f(3, 5),), spacing=[np.array([0.0, 1, 3])], dim=0),
    call("diff", lambda r: (r.f(3, 5), 2)),
    call("renorm", lambda r: (r.f(4, 3), 2, 0, 0.7)),
    call(
        "sum mean prod max min any all var std var_mean argmax argmin count_nonzero norm.Scalar",
        lambda r: (r.f(2, 3, 4),),
    ),
    *(
        call("linalg_vector_norm", lambda r, p=p: (r.f(2, 3), p, [1]))
        for p in (0, 1, 2, 3, 2.5, 0.5, math.inf, -math.inf)
    ),
)
