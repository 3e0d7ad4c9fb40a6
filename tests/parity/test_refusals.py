"""Each operator refuses and takes the same arguments as torch, on right calls made wrong one argument at a time."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import operator_calls as calls  # noqa: E402  # after the skip
from comparison import attempt  # noqa: E402  # after the skip

import dispatch_core as dc  # noqa: E402  # after the skip

pytestmark = pytest.mark.no_pipeline(
    reason="a pipeline raises what depends on values later; the calls are compared at once"
)

#: Why a difference stays, the operators, the change, and the error of the one that refuses.
DEVIATIONS = [
    ("torch computes a mean in its output's dtype", "mean.*", "dtype .*", "Expected out"),
    ("torch draws nothing for no elements, whatever the probabilities", "bernoulli_.Tensor", "self no .*", ""),
    ("torch refuses it in dropout alone", "native_dropout", "input torch.complex.*", ""),
    ("torch looks at these where a reduction needs them", "nll_loss_backward.*", "total_weight .*", ""),
    (
        "torch writes to memory that elements share, and leaves to chance what stays",
        ".*",
        ".* expanded",
        "single memory",
    ),
    ("torch's kernels read a meta tensor's missing data, its meta kernels a cpu tensor's", ".*", ".* on meta", ""),
    ("torch resizes an output that is an input before it has read it", ".*", ".* is (self|tensor|other|target)", ""),
    ("torch copies these results into their outputs", "(diagonal|select|slice)_scatter.out", "out (is src|src .*)", ""),
    (
        "torch checks the overlap of its parts",
        ".*(out|values.*)",
        ".* (beside|self) .*",
        "single memory",
    ),
    ("torch copies a bias into the output first", "linear.*|addmm.*|baddbmm.*", "(out|bias) .*", ""),
    ("an internal assertion of torch fails", "index.*", r"indices\[0\] (no dimensions|dim 0 gone)", "INTERNAL ASSERT"),
    ("torch has no derivative by a weight", "cross_ent.*|.*nll_loss.*|binary.*", ".*weight that requires grad", ""),
    ("torch lets these write to a leaf, and forgets it", "logical_.*_", "self that requires grad", "leaf Variable"),
    (
        "torch records what it writes by parts",
        "(log_)?softmax.int_out|floor_divide.out|(diagonal|select|slice)_scatter.out|var_mean.correction_out|special_ndtr.out",
        ".* that requires grad",
        "out=",
    ),
    ("torch draws into an output of any dtype", "bernoulli.out", "out .*", ""),
    ("torch sees that a probability is none only where it smooths", "cross_entropy_loss", "label_smoothing .*", ""),
    ("torch asks for a weight for each class of probabilities", "cross_entropy_loss", "weight tensor.*", ""),
    ("torch makes a complex result real", "abs.*|mean.*|(special_)?logsumexp.out", "self torch.complex.*", "type"),
    ("torch knows the largest element of none", "(max|min).unary_out", "self no .*", ""),
    ("torch adds nothing to no rows, wherever", "index_add.*", "self no rows", ""),
    (
        "torch has no derivative of these, yet records them",
        "nextafter.out|special_modified_bessel_.*",
        ".* that requires grad",
        "out=",
    ),
    ("torch transposes what has no dimensions", "mT", "self no dimensions", ""),
    ("torch resizes no output that it is told the format of", "empty.out", "memory_format 0", ""),
    ("whether it may is a question of the tensor, not of the operator", "resize_", "self that requires grad", ""),
    ("backward's own operators convert their results", ".*backward.*", "(input_dtype|self) torch.*", ""),
    ("torch's total weight need not be kept", "nll_loss_forward.output", "total_weight that requires grad", ""),
]


def deviates(name, what, error):
    said = str(error).splitlines()[0]
    return any(
        re.fullmatch(names, name) and re.fullmatch(changes, what) and re.search(text, said)
        for _, names, changes, text in DEVIATIONS
    )


def differences(name):
    """Return the calls that torch refuses and we take, and the other way round."""
    found = []
    for make, kwargs in calls.CALLS[name][:2]:
        args = calls.bind(name, make, kwargs)
        for what, given in (*calls.mutate(name, args), *calls.overlapping(name, args)):
            # Backward's own operators read beyond their arguments where shapes do not fit: torch checks them no more.
            if "backward" in name and "torch." not in what:
                continue
            mirror = calls.Mirror()
            ours = {key: mirror(value) for key, value in given.items()}
            _, refused = calls.call_torch(name, given)
            _, error = calls.call_ours(name, ours)
            if (refused is None) != (error is None) and not deviates(name, what, refused or error):
                found.append(f"{what}: torch {refused!r}, ours {error!r}"[:300])
    return found


@pytest.mark.parametrize("name", calls.MUTATED)
def test_what_torch_refuses_is_refused_and_nothing_else(name):
    found = differences(name)
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:20])


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("transposed", "gap"), [(False, 1), (False, 2), (True, 1), (True, 2)])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_convolutions_of_integers_are_refused_where_torch_has_no_kernel(dims, transposed, gap, dtype):
    image, weight = np.ones((2, 4, *[6] * dims), dtype), np.ones((4, 4, *[2] * dims), dtype)
    for part in (image, image[:0]):
        numbers = [None, [1] * dims, [0] * dims, [gap] * dims, transposed, [0] * dims, 1]
        theirs, raised = attempt(torch.ops.aten.convolution, torch.tensor(part), torch.tensor(weight), *numbers)
        ours, error = attempt(dc.ops.aten.convolution, part, weight, *numbers)
        assert (raised is None) == (error is None), (raised, error)
        if raised is None:
            np.testing.assert_array_equal(ours, theirs.numpy())
        else:
            assert str(raised) in str(error)
