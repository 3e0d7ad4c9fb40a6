"""torch's functions with an underscore, of symbols and of sparse products, beside ours."""

import operator

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

BOTH = torchlike, torch


def outcome(function):
    """Return a call's result in plain values, or the class and text of its error."""
    try:
        found = function()
    except Exception as error:  # noqa: BLE001  # the class is compared
        return type(error).__name__, str(error).partition(". For")[0].partition("\n")[0]
    if hasattr(found, "tolist"):
        return str(found.dtype).rpartition(".")[2], found.tolist()
    return type(found).__name__, found


PAIRS = [(1, 2.0), (3, 2.0), (1, 2), (True, 2), (1.5, 2)]
CALLS = {
    **{f"sym_max{pair}": lambda library, pair=pair: library.sym_max(*pair) for pair in PAIRS},
    **{f"sym_min{pair}": lambda library, pair=pair: library.sym_min(*pair) for pair in PAIRS},
    **{f"sym_int({each!r})": lambda library, each=each: library.sym_int(each) for each in (2.7, -2.7, 3, True, "a")},
    **{f"sym_float({each!r})": lambda library, each=each: library.sym_float(each) for each in (2, True, "a")},
    "sym_not": lambda library: library.sym_not(2),
    "sym_ite": lambda library: library.sym_ite(True, 1, 2),
    "sym_ite of an int": lambda library: library.sym_ite(1, 1, 2),
    "sym_ite of types": lambda library: library.sym_ite(True, 1, 2.0),
    "sym_sum": lambda library: library.sym_sum([1, 2.5]),
    "sym_sqrt": lambda library: library.sym_sqrt(2.0),
    "_assert_async": lambda library: library._assert_async(library.tensor(1)),
    "_assert_async of zero": lambda library: library._assert_async(library.tensor(0)),
    "_assert_async with a text": lambda library: library._assert_async(library.tensor(False), "text"),
    "_assert_async of two": lambda library: library._assert_async(library.tensor([1, 1])),
    "_check_with": lambda library: library._check_with(KeyError, True, lambda: "m"),
    "_check_with that fails": lambda library: library._check_with(OSError, False, lambda: "m"),
    "_check_with a text": lambda library: library._check_with(OSError, False, "m"),
    "_check_tensor_all_with": lambda library: library._check_tensor_all_with(
        OSError, library.tensor([True, False]), lambda: "m"
    ),
    "_check_tensor_all_with a number": lambda library: library._check_tensor_all_with(OSError, 3),
    "_check of a tensor": lambda library: library._check(library.tensor(True)),
    "_check_tensor_all": lambda library: library._check_tensor_all(library.tensor([True, False]), lambda: "m"),
    "_check_tensor_all of a list": lambda library: library._check_tensor_all([True]),
    **{
        f"{kind.__name__}({number})": lambda library, kind=kind, number=number: kind(library.tensor(number))
        for kind in (int, float, complex, bool)
        for number in (1 + 0j, 1 + 2j, float("inf"), 2)
    },
    "storages": lambda library: library.ones(2).untyped_storage() == library.ones(2).untyped_storage(),
    "storages of one": lambda library: len({each.untyped_storage() for each in library.ones(2, 3).unbind()}),
    "_shape_as_tensor": lambda library: library._shape_as_tensor(library.ones(2, 0, 3)),
    "_convert_indices_from_coo_to_csr": lambda library: library._convert_indices_from_coo_to_csr(
        library.tensor([0, 0, 2, 5]), 7
    ),
    "_convert_indices_from_coo_to_csr, of none": lambda library: library._convert_indices_from_coo_to_csr(
        library.zeros(0).long(), 2, out_int32=True
    ),
    "_convert_indices_from_csr_to_coo": lambda library: library._convert_indices_from_csr_to_coo(
        library.tensor([0, 2, 2, 3, 4]), library.tensor([1, 2, 0, 3])
    ),
    "_convert_indices_from_csr_to_coo, turned": lambda library: library._convert_indices_from_csr_to_coo(
        library.tensor([0, 2, 2, 3, 4]), library.tensor([1, 2, 0, 3]), out_int32=True, transpose=True
    ),
    "_softmax_backward_data": lambda library: library._softmax_backward_data(
        library.ones(2, 2), library.tensor([[0.25, 0.75], [0.5, 0.5]]), 1, library.float32
    ),
    "complex32": lambda library: (
        library.complex32.itemsize,
        library.complex32.is_complex,
        library.chalf is library.complex32,
    ),
    "legacy_contiguous_format": lambda library: library.legacy_contiguous_format is library.contiguous_format,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_and_errors_are_torchs(call):
    ours, theirs = (outcome(lambda library=library: call(library)) for library in BOTH)
    if "NoneType" not in ours and isinstance(ours[1], str):
        assert ours[0] == theirs[0] and ours[1].partition(" but got")[0] == theirs[1].partition(" but got")[0]
    else:
        assert ours == theirs


SIZES = {
    (2, 3): [(0, 1), (1, 1), (1, 2)],
    (3, 2): [(1, 1)],
    (0, 3): [(3, 1)],
    (2, 3, 4): [(0, 0, 0), (1, 0, 2), (3, 3, 3)],
    (1, 3, 2): [(5, 2, 1)],
    (2, 3, 1): [(1, 2, 0)],
    (2, 1, 3): [(3, 1, 1)],
    (2, 3, 4, 5): [(1, 0, 10, 0), (60, 1, 15, 3)],
}


@pytest.mark.parametrize(
    "check", [False, True, ["contiguous_format"], ["contiguous_format", "channels_last"], "all", [1]]
)
def test_orders_of_dimensions_are_torchs(check):
    for size, of_size in SIZES.items():
        for strides in of_size:
            found = []
            for library in BOTH:
                made = library.empty_strided(size, strides)
                formats = [getattr(library, str(each), each) for each in check] if isinstance(check, list) else check
                found.append(outcome(lambda made=made, formats=formats: made.dim_order(ambiguity_check=formats)))
            assert found[0] == found[1], (size, strides)


@pytest.mark.parametrize("name", ["spmm", "dsmm"])
def test_sparse_products_and_their_gradients(name):
    left, right = np.random.RandomState(0).rand(3, 4) > 0.5, np.random.RandomState(1).rand(4, 2)
    found = []
    for library in BOTH:
        dense = library.tensor(right, requires_grad=True)
        result = getattr(library, name)(library.tensor(left).double().to_sparse(), dense)
        (result * result).sum().backward()
        found.append((result.tolist(), dense.grad.tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])


def test_draws_are_torchs():
    for name in ("_standard_gamma", "_sample_dirichlet"):
        found = []
        for library in BOTH:
            library.manual_seed(3)
            found.append(getattr(library, name)(library.tensor([[0.5, 2.0, 7.0]])).tolist())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_tensors_of_inference_mode_are_ordinary():
    with torchlike.inference_mode():
        x = torchlike.ones(2)
    assert not x.is_inference() and not torchlike.is_inference(x)
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and not torch.ones(2).is_inference()
    for library in BOTH:
        with pytest.raises(TypeError):
            operator.attrgetter("is_inference")(library)(3)


def test_a_complex_dtype_without_arrays_is_refused_by_name():
    with pytest.raises((TypeError, RuntimeError, NotImplementedError), match=r"[Cc]omplex(32|Half)"):
        torchlike.ones(2, dtype=torchlike.complex32)


def test_the_processors_instructions_are_told_in_torchs_words():
    assert torchlike.backends.cpu.get_cpu_capability() == torch.backends.cpu.get_cpu_capability()
