"""Decompositions and derivative formulas against torch, operator by operator, on generated inputs.

Decompositions are called directly, with NumPy arrays, so that they are tested although the cpu backend has a kernel of its
own; formulas are evaluated as an engine would.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import aten_cases  # noqa: E402  # after the skip
import wide_cases  # noqa: E402
from aten_cases import TOLERANCE, Draw, our_operator, ours, torch_operator  # noqa: E402
from comparison import assert_same, flatten, ignore_warnings  # noqa: E402
from composites import bind, call_composite, find_composite  # noqa: E402

import dispatch_core as dc  # noqa: E402
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT  # noqa: E402
from dispatch_aten.decompositions.aliases import TARGETS as ALIASES  # noqa: E402
from dispatch_aten.derivatives import DERIVATIVES, METADATA_SUFFIXES, NOT_DIFFERENTIABLE, names_used  # noqa: E402
from dispatch_aten.gradients import FUNCTIONS  # noqa: E402
from dispatch_aten.operators import ATEN  # noqa: E402
from dispatch_aten.variants import is_inplace, is_out  # noqa: E402

CASES = [*aten_cases.CASES, *(aten_cases.case(name, make, **kwargs) for name, make, kwargs in wide_cases.CASES)]


def is_computed_here(name):
    """Return whether an operator has a decomposition for arrays with strides, and not one that leaves it to the host."""
    composite = find_composite(name)
    return bool(composite) and "on_host" not in composite.__qualname__ and name != "as_strided"


@pytest.mark.parametrize(("name", "make", "kwargs"), [each for each in CASES if is_computed_here(each.values[0])])
def test_a_decomposition_computes_what_torch_computes(name, make, kwargs):
    args = make(Draw(1))
    with ignore_warnings():
        expected = torch_operator(name)(*args, **kwargs)
        with np.errstate(all="ignore"):
            got = call_composite(name, *ours(args), **{key: ours(value) for key, value in kwargs.items()})
    assert_same(got, expected, strides=False, tolerance=TOLERANCE)


#: Operators that have a derivative here and none in torch. torch's of as_strided_scatter flows to the elements of self that
#: are gone.
BEYOND_TORCH = {
    "copy",
    "remainder.Scalar_Tensor",
    "hardsigmoid_backward",
    "silu_backward",
    "native_group_norm_backward",
    "as_strided_scatter",
}


def gradient_environment(name, bound, results, grads, used):
    environment = {key: value for key, value in bound.items() if key in used}
    environment |= {f"result{place}": result for place, result in enumerate(results)}
    environment |= {"result": results[0], "grads": tuple(grads)}
    environment["grad"] = next(each for each in grads if each is not None)
    for key, value in bound.items():
        if isinstance(value, np.ndarray):
            environment |= {
                f"{key}_sizes": dc.shape(value),
                f"{key}_strides": dc.strides(value),
                f"{key}_storage_offset": dc.storage_offset(value),
                f"{key}_dim": value.ndim,
                f"{key}_numel": value.size,
                f"{key}_dtype": dc.dtype(value),
                f"{key}_device": dc.device(value),
                f"{key}_is_turned": dc.strides(value) == (1, *dc.shape(value)[:1]),
            }
        elif isinstance(value, list) and value and all(isinstance(each, np.ndarray) for each in value):
            environment[f"{key}_sizes"] = [dc.shape(each) for each in value]
    for function in used - environment.keys() - {"grad_input_mask"}:
        environment[function] = FUNCTIONS.get(function) or getattr(dc.ops.aten, function)
    return environment


def summed_to(grad, like):
    """Sum a gradient to the argument's shape, as an engine does."""
    return grad if dc.shape(grad) == dc.shape(like) else dc.ops.aten.sum_to_size(grad, dc.shape(like))


@pytest.mark.parametrize(
    ("name", "make", "kwargs"), [each for each in CASES if each.values[0] in DERIVATIVES.keys() - BEYOND_TORCH]
)
def test_a_formula_gives_torchs_gradients(name, make, kwargs):
    formula = DERIVATIVES[name]
    schema = our_operator(name).schema
    args = make(Draw(2))
    names = [a.name for a in schema.arguments]
    wanted = [key for key in formula.gradients if isinstance(argument(names, args, key), (torch.Tensor, list))]
    wanted = [key for key in wanted if all(each.is_floating_point() for each in flatten(argument(names, args, key)))]
    if not wanted:
        return
    leaves = [leaf for key in wanted for leaf in flatten(argument(names, args, key))]
    args = [
        [each.requires_grad_() for each in value] if names[place] in wanted and isinstance(value, list)
        else value.requires_grad_() if names[place] in wanted
        else value
        for place, value in enumerate(args)
    ]  # fmt: skip
    results = flatten(torch_operator(name)(*args, **kwargs))
    outputs = [result for result in results if result.requires_grad]
    if any(each.is_complex() for each in outputs):
        return  # The engine conjugates around formulas: test_torchlike_complex_gradients compares both.
    draw = Draw(3)
    arrived = [draw.f(*output.shape).to(output.dtype) for output in outputs]
    expected = torch.autograd.grad(outputs, leaves, arrived, allow_unused=True)
    left = iter(arrived)
    grads = [next(left) if result.requires_grad else None for result in results]

    bound = bind(schema, ours(args), {key: ours(value) for key, value in kwargs.items()})
    with np.errstate(all="ignore"):
        got = []
        for key in wanted:
            used = names_used(formula.gradients[key])
            environment = gradient_environment(name, bound, ours(results), ours(grads), used)
            environment["grad_input_mask"] = [each == key for each in formula.gradients]
            grad = eval(formula.gradients[key], {"__builtins__": {}}, environment)
            likes = flatten(bound[key])
            got += [
                summed_to(each, like)
                for each, like in zip(flatten(list(grad) if isinstance(bound[key], list) else grad), likes, strict=True)
            ]
    for have, want, leaf in zip(got, expected, leaves, strict=True):
        right = torch.zeros_like(leaf) if want is None else want
        np.testing.assert_allclose(np.asarray(have), right.numpy(), rtol=1e-6, atol=1e-9, err_msg=name)


def argument(names, args, key):
    place = names.index(key)
    return args[place] if place < len(args) else None


def test_every_case_of_an_operator_that_has_one_is_here():
    """List the operators with a formula or a decomposition but no case, so that none is forgotten silently."""
    covered = {each.values[0] for each in CASES}
    random = {operator.name for operator in ATEN if "nondeterministic_seeded" in operator.tags}
    missing = {
        name
        for name in [*DERIVATIVES, *EXPLICIT, *IMPLICIT]
        if name not in covered | random and not is_inplace(name) and not is_out(name)
    }
    elsewhere = wide_cases.COMPARED_ELSEWHERE | set(UNTESTED.split()) | ALIASES.keys()
    assert missing <= elsewhere, sorted(missing - elsewhere)


#: Operators whose results are no arrays to compare, aliases of tested ones, and those that make arrays without values.
UNTESTED = """
allclose equal item is_nonzero _local_scalar_dense detach empty_like new_empty new_empty_strided zero_ where narrow.Tensor
to.device to.other to.dtype_layout nll_loss view_as reshape_as expand_as broadcast_to numpy_T split.sizes moveaxis.int
moveaxis.intlist swapaxes swapdims argsort.stable norm.ScalarOpt_dtype norm.ScalarOpt_dim_dtype concat clip clip.Tensor
var_mean.dim native_dropout dropout empty.memory_format arange.start_step
empty_strided
__and__.Tensor __and__.Scalar __or__.Tensor __or__.Scalar __xor__.Tensor __xor__.Scalar
subtract.Scalar multiply.Scalar divide.Scalar divide.Tensor_mode divide.Scalar_mode true_divide.Tensor true_divide.Scalar
greater.Tensor greater.Scalar greater_equal.Tensor greater_equal.Scalar less.Tensor less.Scalar less_equal.Tensor
less_equal.Scalar not_equal.Tensor not_equal.Scalar
"""


def test_every_float_operator_has_a_derivative_or_none_on_purpose():
    for operator in ATEN:
        name = operator.name
        if is_inplace(name) or is_out(name) or name in IMPLICIT or "Tensor" not in operator.schema.partition(" -> ")[0]:
            continue
        assert name in DERIVATIVES or name in NOT_DIFFERENTIABLE or name in UNDERIVED, name


#: Operators that torch derives nothing of: their results require grad and refuse a backward, or are cut off.
UNDERIVED = set(
    """
floor_divide floor_divide.Scalar linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor
logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor histogram.bin_ct histogram.bins_tensor
_unique2 unique_dim unique_consecutive repeat_interleave.Tensor is_set_to _ctc_loss_backward mkldnn_rnn_layer_backward
_fake_quantize_learnable_per_tensor_affine_backward _fake_quantize_learnable_per_channel_affine_backward
""".split()
)


def test_formulas_name_arguments_and_known_functions_only():
    for name, formula in DERIVATIVES.items():
        known = {a.name for a in our_operator(name).schema.arguments}
        assert formula.gradients.keys() <= known, name
        for expression in formula.gradients.values():
            for used in names_used(expression):
                base = used
                for suffix in METADATA_SUFFIXES:
                    if used.endswith(suffix) and used.removesuffix(suffix) in known:
                        base = used.removesuffix(suffix)
                assert (
                    base in known
                    or used in ("grad", "grads", "grad_input_mask", "result")
                    or used in [f"result{number}" for number in range(len(our_operator(name).schema.returns))]
                    or used in FUNCTIONS
                    or hasattr(dc.ops.aten, used)
                ), f"{name}: {used}"
