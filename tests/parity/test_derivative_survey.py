"""Derivatives forward, and forward over backward, of every differentiable operator that has a sample call, beside torch's.

Where torch has nan, ours may have a number; where torch refuses a call, nothing is compared.
"""

import math
import warnings

import numpy as np
import pytest
from aten_cases import our_operator, torch_operator

import torchlike
from dispatch_aten.derivatives import NOT_DIFFERENTIABLE
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_aten.testing.changes import map_arrays
from dispatch_aten.testing.drawing import Draw
from dispatch_aten.testing.samples import _bind, rows_of, schema_of
from dispatch_aten.variants import is_inplace

torch = pytest.importorskip("torch", reason="parity needs torch")

#: Changes of the numbers: as they are drawn, and rounded, so that some are equal and some are zero.
CHANGES = {"drawn": lambda array: array, "rounded": np.round}
#: What differs, and why; the numbers behind it were compared with differences.
DIFFERENT = {
    "rrelu_with_noise_functional": "it draws",
    "polar": "torch's gradient has the wrong sign where abs is negative",
    "triangular_solve": "torch's forward derivative reads both triangles",
    "cholesky_inverse": "torch's forward derivative reads both triangles",
    "_linalg_svd linalg_svd _linalg_eigh linalg_eigh linalg_eig": "vectors are determined but for their signs",
    "nll_loss_backward": "total_weight is a constant here",
    "fmax fmin clamp.Tensor clip.Tensor": "torch's forward and backward derivatives differ where arguments are equal",
    "topk sort linalg_lu linalg_lu_factor linalg_lu_factor_ex _lu_with_info": "which of equal elements is taken is open",
    "as_strided_scatter": "torch's gradient is that of other elements",
    "_fused_rms_norm _fused_rms_norm_backward": "torch composes the one on the cpu, which has not the other",
    "native_layer_norm_backward native_batch_norm_backward": "mean and deviation are functions of the input here",
    "div.Tensor divide.Tensor true_divide.Tensor": "nan where a zero is divided by a zero, for torch's infinity",
}
_KNOWN = {name for names in DIFFERENT for name in names.split()}
_NAMES = [
    name
    for name in ATEN_BY_NAME
    if not is_inplace(name)
    and not name.startswith("__")
    and "out" not in name.partition(".")[2]
    and KIND_OF[name] not in ("random", "prims")
    and name not in NOT_DIFFERENTIABLE
    and name not in _KNOWN
    and rows_of(name)
]


def to_values(library, value):
    match value:
        case np.ndarray():
            return library.tensor(np.ascontiguousarray(value))
        case list() | tuple():
            return [to_values(library, each) for each in value]
        case torchlike.dtype() if library is torch:
            return getattr(torch, str(value).removeprefix("torchlike."))
        case _:
            return value


def find_places(arguments):
    """Return where the arrays of floats are: an argument's name, and the number in a list or None."""
    for name, value in arguments.items():
        for number, each in [(None, value)] if isinstance(value, np.ndarray) else enumerate_list(value):
            if isinstance(each, np.ndarray) and each.dtype.kind in "fc":
                yield name, number


def enumerate_list(value):
    return enumerate(value) if isinstance(value, (list, tuple)) else ()


def direction_of(array):
    """Return a direction of an array's shape, symmetric for matrices: some operators read one triangle of these."""
    way = np.cos(np.arange(array.size)).reshape(array.shape).astype(array.dtype)
    return (way + way.swapaxes(-1, -2)) / 2 if way.ndim > 1 and way.shape[-1] == way.shape[-2] else way


def derive(library, name, arguments, places):
    """Return the derivative along a direction, and that of the gradient of a nonlinear sum."""
    operator = torch_operator(name) if library is torch else our_operator(name)
    values, func = {key: to_values(library, value) for key, value in arguments.items()}, library.func

    def call(*given):
        filled = {key: list(value) if isinstance(value, list) else value for key, value in values.items()}
        for (key, number), each in zip(places, given, strict=True):
            if number is None:
                filled[key] = each
            else:
                filled[key][number] = each
        found = operator(**filled)
        found = found if isinstance(found, (list, tuple)) else [found]
        found = [each for each in found if isinstance(each, library.Tensor)]
        return [each for each in found if each.dtype.is_floating_point or each.dtype.is_complex]

    def bend(*given):
        found = [library.view_as_real(each) if each.dtype.is_complex else each for each in call(*given)]
        return sum((each.sin() + 2 * each).sum() for each in found)

    arrays = [arguments[key] if number is None else arguments[key][number] for key, number in places]
    points = tuple(library.tensor(np.ascontiguousarray(each)) for each in arrays)
    ways = tuple(library.tensor(direction_of(each)) for each in arrays)
    everything = tuple(range(len(places)))
    return [
        lambda: func.jvp(lambda *given: tuple(call(*given)), points, ways)[1],
        lambda: func.jvp(func.grad(bend, everything), points, ways)[1],
    ]


def compare(name, arguments):
    """Yield what differs of a call's derivatives."""
    places = [*find_places(arguments)]
    pairs = zip(derive(torch, name, arguments, places), derive(torchlike, name, arguments, places), strict=True)
    for number, (theirs, ours) in enumerate(pairs if places else ()):
        try:
            wanted = theirs()
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        try:
            found = ours()
        except RuntimeError as error:
            if "not differentiable with respect to argument" not in str(error):
                yield f"{name}, {('first', 'second')[number]}: {error}"
            continue
        for expected, actual in zip(wanted, found, strict=True):
            expected, actual = expected.numpy(force=True), actual.numpy()  # noqa: PLW2901  # the same as arrays
            known = ~np.isnan(expected)
            scale = max(1.0, np.abs(expected[known]).max(initial=0.0))
            if actual.shape != expected.shape or not (
                math.isinf(scale) or np.allclose(actual[known], expected[known], 1e-5, 1e-7 * scale)
            ):
                yield f"{name}, {('first', 'second')[number]}:\n{expected}\n{actual}"


@pytest.mark.parametrize("kind", sorted({KIND_OF[name] for name in _NAMES}))
def test_derivatives_along_directions_are_torchs(kind):
    different = []
    for name in (each for each in _NAMES if KIND_OF[each] == kind):
        own = {each.name for each in schema_of(name).arguments}
        for number, (source, row) in enumerate(rows_of(name)):
            made = _bind(schema_of(source), row.make(Draw(4)), row.options)
            for change in CHANGES.values() if not number else [CHANGES["drawn"]]:
                arguments = map_arrays(
                    {key: value for key, value in made.items() if key in own},
                    lambda array, change=change: change(array) if array.dtype.kind in "fc" else array,
                )
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")  # torch's own, of values that are no numbers
                    different += compare(name, arguments)
    assert not different, "\n".join(different)
