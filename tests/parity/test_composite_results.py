"""An operator's composite gives the same as a kernel: gradients, leaves, versions and aliases, on every backend.

The cpu has a kernel for most operators, the sparing backend for few, and the frozen one cannot write: what a program sees of
a result, beside its values, is the same on all of them.
"""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the cases are made beside torch")

import aten_cases as cases  # noqa: E402  # after the skip
import wide_cases  # noqa: E402
from comparison import flatten  # noqa: E402

import dispatch_core as dc  # noqa: E402
import torchlike  # noqa: E402
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT, aliases  # noqa: E402
from dispatch_aten.derivatives import find_refused  # noqa: E402
from dispatch_aten.operators import ATEN  # noqa: E402
from dispatch_aten.variants import functional_of, is_inplace, is_out  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("sparing_backend", "frozen_backend"),
    pytest.mark.no_pipeline(reason="what a backend does is looked at"),
]
OPERATORS = {operator.name for operator in ATEN}


def _grid(*rest):
    return lambda r: (r.f(2, 3), *rest)


def _layer(r, gates):
    """Draw a recurrent layer's weights, and its options."""
    weights = [r.f(gates * 4, 3), r.f(gates * 4, 4), r.f(gates * 4), r.f(gates * 4)]
    return weights, True, 1, 0.0, False, False, False


#: Operators that torch is asked nothing about, or nothing that depends on a device: arguments, and keywords.
OTHERS = {
    "detach alias zero_ item is_nonzero _local_scalar_dense numpy_T": (lambda r: (r.f(1, 1),), {}),
    "empty_like rand_like randn_like random_ uniform_ normal_": (_grid(), {}),
    "bernoulli exponential_ bernoulli_.float where": (lambda r: (r.f(3, low=0, high=1),), {}),
    "new_empty broadcast_to": (_grid([2, 3]), {}),
    "resize_": (_grid([4]), {}),
    "new_empty_strided": (_grid([2, 3], [1, 2]), {}),
    "zeros ones empty.memory_format rand randn": (lambda r: ([2, 3],), {"device": True}),
    "full": (lambda r: ([2, 3], 1.5), {"device": True}),
    "eye arange randperm scalar_tensor": (lambda r: (3,), {"device": True}),
    "eye.m arange.start": (lambda r: (2, 5), {"device": True}),
    "arange.start_step linspace": (lambda r: (2, 9, 3), {"device": True}),
    "randint": (lambda r: (5, [3]), {"device": True}),
    "randint.low": (lambda r: (2, 5, [3]), {"device": True}),
    "rand.generator randn.generator": (lambda r: ([3],), {"device": True, "generator": None}),
    "randint.generator": (lambda r: (5, [3]), {"device": True, "generator": None}),
    "randint.low_generator": (lambda r: (2, 5, [3]), {"device": True, "generator": None}),
    "randperm.generator": (lambda r: (5,), {"device": True, "generator": None}),
    "rand_like.generator randn_like.generator": (_grid(), {"generator": None}),
    "randint_like random_.to": (_grid(5), {}),
    "randint_like.generator": (_grid(5), {"generator": None}),
    "randint_like.low_dtype random_.from": (_grid(2, 5), {}),
    "randint_like.low_generator_dtype": (_grid(2, 5), {"generator": None}),
    "bernoulli.p": (lambda r: (r.f(3, low=0, high=1), 0.5), {}),
    "bernoulli_.Tensor": (lambda r: (r.f(3), r.f(3, low=0, high=1)), {}),
    "native_dropout dropout dropout_": (_grid(0.5, True), {}),
    "norm.ScalarOpt_dtype": (_grid(2), {"dtype": torch.float64}),
    "norm.ScalarOpt_dim_dtype": (_grid(2, [1], False), {"dtype": torch.float64}),
    "__and__.Tensor __or__.Tensor __xor__.Tensor": (lambda r: (r.i(9, 4), r.i(9, 4)), {}),
    "__and__.Scalar __or__.Scalar __xor__.Scalar": (lambda r: (r.i(9, 4), 5), {}),
    "to.other view_as reshape_as expand_as allclose equal": (lambda r: (r.f(2, 3), r.f(2, 3)), {}),
    "to.dtype": (_grid(torch.float32), {}),
    "to.dtype_layout": (_grid(), {"dtype": torch.float32}),
    "argsort.stable": (_grid(), {"stable": True}),
    "nll_loss": (lambda r: (r.f(3, 4), r.i(4, 3)), {}),
    "var_mean.dim": (_grid([1]), {}),
    "narrow.Tensor": (lambda r: (r.f(4), 0, torch.tensor(1), 2), {}),
    "alpha_dropout alpha_dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_": (
        _grid(0.5, True),
        {},
    ),
    "poisson _standard_gamma _sample_dirichlet": (lambda r: (r.f(3, low=0.5, high=2),), {}),
    "bernoulli.Tensor": (lambda r: (r.f(3), r.f(3, low=0, high=1)), {}),
    "binomial": (lambda r: (r.i(9, 3).double(), r.f(3, low=0, high=1)), {}),
    "multinomial": (lambda r: (r.f(3, low=0, high=1), 2), {}),
    "normal.Tensor_Tensor": (lambda r: (r.f(3), r.f(3, low=0, high=1)), {}),
    "normal.Tensor_float": (_grid(2.0), {}),
    "normal.float_Tensor": (lambda r: (2.0, r.f(3, low=0, high=1)), {}),
    "normal.float_float": (lambda r: (2.0, 1.0, [3]), {"device": True}),
    "cauchy exponential log_normal normal_functional random uniform rrelu set_": (_grid(), {}),
    "geometric": (_grid(0.5), {}),
    "random.from": (_grid(2, 9), {}),
    "random.to": (_grid(9), {}),
    "rrelu_with_noise_functional": (lambda r: (r.f(3), r.f(3), 0.1, 0.3, True), {}),
    "fill_diagonal_": (_grid(1.5), {}),
    "swapaxes_ swapdims_": (_grid(0, 1), {}),
    "resize_as_ set_.source_Tensor": (lambda r: (r.f(2, 3), r.f(4)), {}),
    "set_.source_Tensor_storage_offset": (lambda r: (r.f(2, 3), r.f(9), 1, [2, 2], [1, 3]), {}),
    "lstm.input": (lambda r: (r.f(3, 2, 3), [r.f(1, 2, 4)] * 2, *_layer(r, 4)), {}),
    "gru.input": (lambda r: (r.f(3, 2, 3), r.f(1, 2, 4), *_layer(r, 3)), {}),
    "rnn_tanh.input rnn_relu.input": (lambda r: (r.f(3, 2, 3), r.f(1, 2, 4), *_layer(r, 1)), {}),
    "lstm.data": (lambda r: (r.f(5, 3), torch.tensor([2, 2, 1]), [r.f(1, 2, 4)] * 2, *_layer(r, 4)[:-1]), {}),
    "gru.data": (lambda r: (r.f(5, 3), torch.tensor([2, 2, 1]), r.f(1, 2, 4), *_layer(r, 3)[:-1]), {}),
    "rnn_tanh.data rnn_relu.data": (
        lambda r: (r.f(5, 3), torch.tensor([2, 2, 1]), r.f(1, 2, 4), *_layer(r, 1)[:-1]),
        {},
    ),
}
#: Composites without a case: to another device, a factory, and those that ``wide_cases`` leaves out.
LEFT_OUT = {"to.device", "empty_strided"} | wide_cases.COMPARED_ELSEWHERE


def _wide():
    """Yield the cases of less used operators; factories are told the device."""
    for name, make, kwargs in wide_cases.CASES:
        yield name, make, kwargs | ({"device": True} if name in wide_cases.FACTORIES else {})


WIDE = [cases.case(name, make, **kwargs) for name, make, kwargs in _wide()]
#: Names for other operators → these.
ALIASES = aliases.TARGETS


def _variants():
    """Yield each case, its in-place overload's, and that of each other name for the operator."""
    given = [each.values for each in cases.CASES if each.values[0] not in cases.NO_TENSORS]
    given += [(name, make, kwargs) for names, (make, kwargs) in OTHERS.items() for name in names.split()]
    given += [each.values for each in WIDE]
    inplace = {functional_of(name): name for name in OPERATORS if is_inplace(name)}
    given += [(inplace[name], make, kwargs) for name, make, kwargs in given if name in inplace]
    named = {}
    for alias, name in ALIASES.items():
        named.setdefault(name, []).append(alias)
    given += [(alias, make, kwargs) for name, make, kwargs in given for alias in named.get(name, ())]
    return [pytest.param(*each, id=each[0]) for each in given]


def place(value, device, *, requires_grad):
    """Move torch's values to a device; leaves require grad where they can."""
    if isinstance(value, (list, tuple)):
        return type(value)(place(each, device, requires_grad=requires_grad) for each in value)
    if not isinstance(value, torch.Tensor):
        return cases.ours(value)
    data = np.array(value.detach().numpy(), order="C")
    tensor = torchlike.tensor(data).to(device)
    if requires_grad and tensor.dtype.is_floating_point:
        tensor.requires_grad_()
    return tensor


def tensors(value):
    return [each for each in flatten(value) if isinstance(each, torchlike.Tensor)]


def observe(device, name, make, kwargs, *, mode):
    """Run a case; return all that a program sees of its tensors, or the class of the error."""
    given = place(list(make(cases.Draw(4))), device, requires_grad=mode != "plain")
    if is_inplace(name) and mode == "grad":
        # A leaf that requires grad refuses the write.
        given[0] = given[0].clone() if isinstance(given[0], torchlike.Tensor) else given[0]
    options = {key: place(value, device, requires_grad=False) for key, value in kwargs.items()}
    if "device" in kwargs:
        options["device"] = dc.Device(device)
    with warnings.catch_warnings(), torchlike.set_grad_enabled(mode != "no_grad"):
        warnings.simplefilter("ignore")
        try:
            found = cases.our_operator(name)(*given, **options)
        except Exception as error:
            if isinstance(error, (dc.NoKernelError, dc.KernelResultError)):
                raise
            return type(error)
        results, arguments = tensors(found), tensors(given)
        known = [*arguments, *results]
        storages = [each._state.shared_storage() for each in known]
        state = [
            (
                each.requires_grad,
                each.is_leaf,
                each.grad_fn is None,
                each._version,
                each._is_view(),
                [other is storage for other in storages],
                next(index for index, other in enumerate(known) if other is each),
            )
            for each, storage in zip(known, storages, strict=True)
        ]
        # A leaf that comes to require grad later takes no result with it that was cut off.
        for each in arguments:
            if mode == "plain" and each.dtype.is_floating_point and each.is_leaf:
                each.requires_grad_()
        return state, [each.requires_grad for each in results]


@pytest.mark.parametrize("device", ["sparing", "frozen"])
@pytest.mark.parametrize(("name", "make", "kwargs"), _variants())
def test_a_program_sees_of_a_composites_results_what_it_sees_of_a_kernels(name, make, kwargs, device):
    for mode in ("grad", "plain", "no_grad"):
        expected = observe("cpu", name, make, kwargs, mode=mode)
        assert observe(device, name, make, kwargs, mode=mode) == expected, mode


#: What torch has no derivative of either, or only one that refuses.
UNDERIVED = ("floor_divide", "histogram.", "_unique2", "unique_", "_ctc_loss_backward")
MAKERS = {*cases.NO_TENSORS, *wide_cases.FACTORIES}


def gradients(device, name, make, kwargs):
    """Return the gradients of a case's arguments, from the sum of its results."""
    operator, refused = cases.our_operator(name), find_refused(name)
    names = [argument.name for argument in operator.schema.arguments]
    drawn = zip(names, make(cases.Draw(4)), strict=False)
    given = [place(value, device, requires_grad=argument not in refused) for argument, value in drawn]
    options = {key: place(value, device, requires_grad=False) for key, value in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [each for each in tensors(operator(*given, **options)) if each.requires_grad]
        if found and not name.startswith(UNDERIVED):
            parts = [torchlike.view_as_real(each) if each.is_complex() else each for each in found]
            sum((each * each).sum() for each in parts).backward()
    return [None if each.grad is None else each.grad.cpu().numpy() for each in tensors(given)]


@pytest.mark.parametrize("device", ["sparing", "frozen"])
@pytest.mark.parametrize(
    ("name", "make", "kwargs"), [each for each in (*cases.CASES, *WIDE) if each.values[0] not in MAKERS]
)
def test_gradients_are_those_of_the_cpu(name, make, kwargs, device):
    for found, expected in zip(
        gradients(device, name, make, kwargs), gradients("cpu", name, make, kwargs), strict=True
    ):
        assert (found is None) == (expected is None)
        if found is not None:
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_every_composite_has_a_case():
    covered = {each.values[0] for each in _variants()}
    assert {name for name in (*EXPLICIT, *IMPLICIT) if not is_out(name)} - covered <= LEFT_OUT
