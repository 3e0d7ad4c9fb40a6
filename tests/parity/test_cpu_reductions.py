"""Operators of the cpu backend that reduce or accumulate, beside torch's."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import FLOATS, SHAPES, array, arrays, flag, generator_for, maybe_dtype, pick, some_dim, some_dims, tame

from dispatch_aten.dtypes import ScalarType
from dispatch_backend_cpu.arrays import dtype_of
from dispatch_backend_cpu.kernels import KERNELS

REDUCTIONS = {
    "sum": lambda rng, a: ((), {"dtype": maybe_dtype(rng)}),
    "sum.dim_IntList": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {"dtype": maybe_dtype(rng)}),
    "prod": lambda rng, a: ((), {"dtype": maybe_dtype(rng, (ScalarType.Double, ScalarType.Long))}),
    "prod.dim_int": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "mean": lambda rng, a: ((), {"dtype": maybe_dtype(rng)}),
    "mean.dim": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {"dtype": maybe_dtype(rng)}),
    "amax": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "amin": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "max": lambda rng, a: ((), {}),
    "min": lambda rng, a: ((), {}),
    "max.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "min.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "argmax": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]), flag(rng)), {}),
    "argmin": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]), flag(rng)), {}),
    "any": lambda rng, a: ((), {}),
    "any.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "any.dims": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {}),
    "all": lambda rng, a: ((), {}),
    "all.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "all.dims": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {}),
    "var.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1, 2, 0.5]), "keepdim": flag(rng)},
    ),
    "std.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1, 2]), "keepdim": flag(rng)},
    ),
    "var_mean.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1]), "keepdim": flag(rng)},
    ),
    "linalg_vector_norm": lambda rng, a: (
        (pick(rng, [0, 1, 2, 3, 0.5, float("inf"), float("-inf")]), some_dims(rng, a.ndim), flag(rng)),
        {"dtype": None},
    ),
    "norm.Scalar": lambda rng, a: ((pick(rng, [1, 2, 3]),), {}),
    "norm.ScalarOpt_dim": lambda rng, a: ((pick(rng, [None, 1, 2]), some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "logsumexp": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "count_nonzero": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]),), {}),
    "count_nonzero.dim_IntList": lambda rng, a: ((some_dims(rng, a.ndim, none=False),), {}),
    "aminmax": lambda rng, a: ((), {"dim": pick(rng, [None, some_dim(rng, a.ndim)]), "keepdim": flag(rng)}),
    "cumsum": lambda rng, a: ((some_dim(rng, a.ndim),), {"dtype": maybe_dtype(rng)}),
    "cumprod": lambda rng, a: ((some_dim(rng, a.ndim),), {}),
    "cumsum_": lambda rng, a: ((some_dim(rng, a.ndim),), {"dtype": None}),
}
WITH_NAN = {"amax", "amin", "max", "min", "max.dim", "min.dim", "argmax", "argmin", "sum", "any", "all", "aminmax"}


@pytest.mark.filterwarnings("ignore")  # torch warns about degrees of freedom
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(compare, name):
    rng = generator_for(name)
    for _ in range(150):
        a = arrays(rng, 1)[0] if name in WITH_NAN else tame(rng)
        args, kwargs = REDUCTIONS[name](rng, a)
        compare(name, [a, *args], kwargs)


def test_softmax_family(compare):
    rng = generator_for("softmax")
    for _ in range(200):
        a = tame(rng, (*FLOATS, "int32"))
        dim = some_dim(rng, a.ndim)
        compare("_softmax", [a, dim, False])
        compare("_log_softmax", [a, dim, False])
        a = array(rng, pick(rng, SHAPES[1:]), pick(rng, FLOATS), special=False)
        dim = int(rng.integers(a.ndim))
        grad = array(rng, a.shape, a.dtype, special=False)
        compare("_softmax_backward_data", [grad, KERNELS["_softmax"](a, dim, False), dim, dtype_of(a)])
        compare("_log_softmax_backward_data", [grad, KERNELS["_log_softmax"](a, dim, False), dim, dtype_of(a)])


def test_losses(compare):
    rng = generator_for("losses")
    for _ in range(200):
        dtype = pick(rng, FLOATS[1:])
        classes = 4
        shape = pick(rng, [(5, classes), (classes,), (1, classes)])
        rows = array(rng, shape, dtype, special=False)
        high = classes + 1 if rng.random() < 0.05 else classes
        target = np.asarray(rng.integers(0, high, shape[:-1]))
        weight = pick(rng, [None, np.abs(array(rng, (classes,), dtype, special=False))])
        reduction, ignored = int(rng.integers(3)), pick(rng, [-100, 1])
        args = [rows, target, weight, reduction, ignored]
        compare("nll_loss_forward", args)
        if target.size and target.max() < classes:
            _, total = KERNELS["nll_loss_forward"](*args)
            grad = array(rng, target.shape if reduction == 0 else (), dtype, special=False)
            compare("nll_loss_backward", [grad, *args, np.asarray(total)])
        a, b = arrays(rng, 2, FLOATS, same=1, special=False)
        compare("mse_loss", [a, b, reduction])
        compare(
            "mse_loss_backward",
            [array(rng, a.shape if reduction == 0 else (), a.dtype, special=False), a, a, reduction],
        )
