"""Operators and programs under `vmap` beside torch's: values, dtypes and shapes, and no row by itself."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import numpy as np
import torch
from aten_cases import torch_operator
from batched_programs import ARRAYS, NETWORKS
from comparison import attempt, dtype_name, elements, flatten, ignore_warnings
from cpu_cases import to_torch

import torchlike
from dispatch_aten.operators import ATEN, KIND_OF
from dispatch_aten.testing.changes import arrays_in, map_arrays
from dispatch_aten.testing.samples import has_samples, op_samples
from dispatch_aten.variants import is_inplace, is_out
from dispatch_core import registry
from torchlike.levels.loop import LOOPS

#: Operators whose results are not defined, of any sign, or of sizes that torch's level does not hear of.
UNDEFINED = frozenset(
    "empty_like new_empty new_empty_strided resize_ resize_as_ set_ set_.source_Tensor set_.source_Tensor_storage_offset"
    " as_strided_ _linalg_svd".split()
)
#: Operators whose values or dtypes differ from torch's, with the reason.
OTHERWISE = {
    "all.dims": "torch batches no dimensions as all of them",
    "conv3d": "torch adds the bias of images without a batch to their last dimension",
    "embedding_bag": "what torch keeps for backward is another kernel's",
    "_dirichlet_grad": "torch takes the elements of a row together",
    "_standard_gamma_grad": "torch's series has other terms",
    **{
        f"{name}.{which}": "torch returns the tensors' dtype for rows, the default one without vmap"
        for name in ("linspace", "logspace")
        for which in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
    },
}
#: Kinds of operators whose tensors broadcast or promote, or may be without dimensions.
ELEMENTWISE = ("pointwise", "comparison", "activation", "special", "reduction")
#: Operators that torch runs row by row where the shapes of the rows, which depend on values, happen to be equal.
SHAPES_BY_VALUES = frozenset(
    "argwhere bincount nonzero_static one_hot repeat_interleave.Tensor repeat_interleave.self_Tensor".split()
)


def is_compared(operator):
    name = operator.name
    is_written = is_out(name) or "out" in operator.tags
    return has_samples(name) and not (
        is_written or "nondeterministic_seeded" in operator.tags or name in UNDEFINED | SHAPES_BY_VALUES
    )


def stack_rows(name, array):
    """Return two rows of other values; those of matrices and of sequences keep what makes them right calls."""
    if KIND_OF[name] == "linalg":
        return np.stack([array * (1 if array.dtype.kind in "bi" else 1 + row) for row in range(2)])
    is_sorted = "search" in name or "bucketize" in name
    return np.stack([array + row if is_sorted else np.roll(array, row) for row in range(2)])


def map_sample(library, op, sample, batched):
    """Map an operator over the rows of the arrays at some places of a sample."""
    arrays = list(arrays_in(sample.arguments))
    tensors = [
        library.tensor(stack_rows(sample.name, each) if place in batched else each) for place, each in enumerate(arrays)
    ]

    def run(*rows):
        here = list(tensors)
        for place, row in zip(batched, rows, strict=True):
            here[place] = row.clone() if is_inplace(sample.name) and place == 0 else row
        values = iter(here)
        arguments = map_arrays(sample.arguments, lambda _: next(values))
        if library is torch:
            arguments = {key: to_torch(value) for key, value in arguments.items()}
        args = []
        for each in sample.schema.arguments:
            if each.kwarg_only or each.name not in arguments:
                break
            args.append(arguments.pop(each.name))
        return tuple(flatten(op(*args, **arguments)))

    return library.func.vmap(run)(*(tensors[place] for place in batched))


@pytest.mark.parametrize("kind", dict.fromkeys(KIND_OF.values()))
def test_operators_are_batched_as_torch_does(kind):
    count = 0
    for name in (each.name for each in ATEN if KIND_OF[each.name] == kind and is_compared(each)):
        theirs = torch_operator(name)
        for sample in op_samples(name):
            if sample.layout or sample.change not in (("", "0-d", "int and float") if kind in ELEMENTWISE else ("",)):
                continue
            places = range(sum(1 for _ in arrays_in(sample.arguments)))
            for batched in {(0,), tuple(places)}:
                with ignore_warnings():
                    expected, error = attempt(map_sample, torch, theirs, sample, batched)
                    if error is not None or name in OTHERWISE:
                        continue
                    found = map_sample(torchlike, registry.get(f"aten::{name}").op, sample, batched)
                for ours, torchs in zip(found, expected, strict=True):
                    text = f"{sample}, batched {batched}"
                    assert (dtype_name(ours), tuple(ours.shape)) == (dtype_name(torchs), tuple(torchs.shape)), text
                    np.testing.assert_allclose(elements(ours), elements(torchs), 1e-5, 1e-7, err_msg=text)
                count += 1
    assert count or kind == "random"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.parametrize("name", [*NETWORKS, *ARRAYS])
def test_programs_are_batched_as_torch_does_and_without_a_loop(name):
    program, arrays = {**NETWORKS, **ARRAYS}[name]
    with ignore_warnings():
        expected = flatten(program(torch, *map(torch.tensor, arrays)))
    before = dict(LOOPS)
    found = flatten(program(torchlike, *map(torchlike.tensor, arrays)))
    assert [(dtype_name(each), tuple(each.shape)) for each in found] == [
        (dtype_name(each), tuple(each.shape)) for each in expected
    ]
    for ours, torchs in zip(found, expected, strict=True):
        np.testing.assert_allclose(elements(ours), elements(torchs), 1e-3, 1e-4)
    assert dict(LOOPS) == before, "some operator ran row by row"
