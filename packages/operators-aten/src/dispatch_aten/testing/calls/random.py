"""Right calls of the operators of ``operators.random``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("native_dropout_backward", lambda r: (r.f(4), r.b(4), 1.25)),
    call("bernoulli", lambda r: (r.f(2, 3, low=0.0, high=1.0),)),
    call("bernoulli.p bernoulli_.float geometric_", lambda r: (r.f(2, 3), 0.5)),
    call(
        "native_dropout dropout dropout_ alpha_dropout alpha_dropout_ feature_alpha_dropout "
        "feature_alpha_dropout_ feature_dropout feature_dropout_",
        lambda r: (r.f(2, 3), 0.5, True),
    ),
    call("uniform_", lambda r: (r.f(2, 3), -1.0, 2.0)),
    call("normal_", lambda r: (r.f(2, 3), 1.0, 2.0)),
    call("random_ rand_like randn_like cauchy_ log_normal_", lambda r: (r.f(2, 3),)),
    call("random_.to randint_like", lambda r: (r.f(2, 3), 9)),
    call("random_.from randint_like.low_dtype", lambda r: (r.f(2, 3), 2, 9)),
    call("bernoulli_.Tensor", lambda r: (r.f(2, 3), r.f(2, 3, low=0.0, high=1.0))),
    call("exponential_", lambda r: (r.f(2, 3), 1.5)),
    call("rand randn", lambda r: ([2, 3],)),
    call("rand.generator randn.generator", lambda r: ([2, 3],), generator=None),
    call("randint", lambda r: (9, [2, 3])),
    call("randint.generator", lambda r: (9, [2, 3]), generator=None),
    call("randint.low", lambda r: (-2, 9, [2, 3])),
    call("randint.low_generator", lambda r: (-2, 9, [2, 3]), generator=None),
    call("randperm", lambda r: (5,)),
    call("randperm.generator", lambda r: (5,), generator=None),
    call(
        "_dirichlet_grad", lambda r: (r.f(4, low=0.1, high=0.9), r.f(4, low=0.5, high=3.0), r.f(4, low=3.0, high=9.0))
    ),
    call("_standard_gamma_grad", lambda r: (r.f(4, low=0.5, high=3.0), r.f(4, low=0.5, high=3.0))),
    call("rand_like.generator randn_like.generator", lambda r: (r.f(2, 3),), generator=None),
    call("randint_like.generator", lambda r: (r.f(2, 3), 5), generator=None),
    call("randint_like.low_generator_dtype", lambda r: (r.f(2, 3), 2, 5), generator=None),
    call("poisson _standard_gamma _sample_dirichlet", lambda r: (r.f(3, low=0.5, high=2),)),
    call("bernoulli.Tensor normal.Tensor_Tensor", lambda r: (r.f(3), r.f(3, low=0, high=1))),
    call("binomial", lambda r: (r.i(9, 3) * 1.0, r.f(3, low=0, high=1))),
    call("multinomial", lambda r: (r.f(3, low=0, high=1), 2)),
    call("normal.Tensor_float", lambda r: (r.f(2, 3), 2.0)),
    call("normal.float_Tensor", lambda r: (2.0, r.f(3, low=0, high=1))),
    call("normal.float_float", lambda r: (2.0, 1.0, [3])),
)
