"""Kernels are named by the functions that compute, not by the factories that make them."""

from collections import Counter

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED
from dispatch_backend_cpu.ops.pointwise.table import BINARY, GENERAL, UNARY, WITH_NUMBER
from dispatch_core.operators.kernel_names import kernel_name

UFUNCS = {
    name: ufunc
    for table in (UNARY, BINARY, WITH_NUMBER)
    for name, (ufunc, _) in table.items()
    if isinstance(ufunc, np.ufunc) and name not in GENERAL
}


@pytest.mark.parametrize("name", UFUNCS)
def test_a_kernel_of_one_ufunc_has_its_name(name):
    assert kernel_name(KERNELS[name]) == f"numpy.{UFUNCS[name].__name__}"


def test_sums_without_a_factor_are_numpys_own():
    assert {kernel_name(SPECIALIZED[name]) for name in ("add.Tensor", "add.Scalar")} == {"numpy.add"}
    assert kernel_name(KERNELS["add.Tensor"]) == "dispatch_backend_cpu.ops.pointwise.numpy_formulas.add"


@pytest.mark.parametrize("table", [KERNELS, SPECIALIZED])
def test_no_kernel_is_named_by_a_factory_of_kernels_of_any_kind(table):
    names = {name: kernel_name(kernel) for name, kernel in table.items()}
    factories = (
        "rule_kernels",
        "fast_paths",
        "inplace._by_copy",
        "<locals>.kernel of",
        "random._factory",
        "random._inplace",
    )
    named = {name for name, shown in names.items() if any(f".{factory}" in shown for factory in factories)}
    # A shape rule is all that there is of these, or ways of their own into an array.
    assert named == set()
    # A name says something: no more operators share one than there are overloads and in-place forms of an operator.
    families = Counter(
        shown for shown, _ in {(shown, name.partition(".")[0].rstrip("_")) for name, shown in names.items()}
    )
    assert max(families.values()) <= 13, families.most_common(5)


def test_a_function_made_in_another_is_named_with_numpys_function_that_it_holds():
    assert kernel_name(KERNELS["sum"]).endswith(".<locals>.compute of numpy.add.reduce")
    assert kernel_name(KERNELS["floor"]).endswith(".<locals>.round_floats of numpy.floor")
    assert kernel_name(KERNELS["digamma"]) == "scipy.special.psi"


@pytest.mark.no_pipeline(reason="a call's kernel there is the one that records")
def test_explain_and_traces_show_the_names():
    explanation = dc.explain("aten::mul.Tensor", np.ones(2), np.ones(2))
    assert explanation.winner.kernel == "numpy.multiply"
