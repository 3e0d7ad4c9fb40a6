"""The tensors that hooks on saved tensors get, beside torch's: which, in which order, and with which history."""

import pytest
from aten_cases import our_operator, torch_operator
from comparison import ignore_warnings
from test_derivative_survey import find_places, to_values

import torchlike
from dispatch_aten.derivatives import DERIVATIVES
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_aten.testing.drawing import Draw
from dispatch_aten.testing.samples import _bind, rows_of, schema_of

torch = pytest.importorskip("torch", reason="parity needs torch")

#: Where torch saves other tensors, and why.
DIFFERENT = {
    "normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor binomial": "the gradient's shape is that of the tensor",
    "remainder.Scalar_Tensor silu_backward hardsigmoid_backward _linalg_eigvals native_group_norm_backward "
    "reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
    "replication_pad2d_backward replication_pad3d_backward avg_pool2d_backward avg_pool3d_backward "
    "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward": "torch's has no node or one of parts, called by itself",
    "max_pool2d_with_indices_backward max_pool3d_with_indices_backward adaptive_max_pool2d_backward "
    "adaptive_max_pool3d_backward fractional_max_pool2d_backward fractional_max_pool3d_backward": "the shape is read of it",
    "native_dropout_backward masked_select gather take index_add index_copy put complex _fft_r2c cholesky_solve "
    "prod prod.dim_int special_log_ndtr": "torch saves a tensor for its shape or dtype, or a result that we compute",
    "_fused_rms_norm": "torch composes it on the cpu, and saves the tensors of its parts",
    "copysign.Tensor": "the gradient by other has its shape",
    "hardtanh_": "torch saves a copy of the argument; the result tells as much",
    "rrelu_with_noise_functional": "noise is a result",
    "erfinv": "the result tells as much as the argument",
    "_linalg_solve_ex _linalg_det _linalg_slogdet linalg_eigvalsh linalg_eigvals linalg_svdvals": "torch saves factors",
}
_KNOWN = {name for names in DIFFERENT for name in names.split()}
_NAMES = [name for name in DERIVATIVES if name in ATEN_BY_NAME and name not in _KNOWN and rows_of(name)]


def list_saved(library, name, arguments):
    """Return what the pack hook gets in a call whose floats require grad, as leaves and as results by turns."""
    operator = torch_operator(name) if library is torch else our_operator(name)
    values = {key: to_values(library, value) for key, value in arguments.items()}
    inputs = {}
    for number, (key, place) in enumerate(find_places(arguments)):
        holder, at = (values, key) if place is None else (values[key], place)
        tensor = holder[at].requires_grad_()
        holder[at] = inputs[key, place] = tensor if number % 2 and key != "self" else tensor.clone()
    seen = []

    def pack(tensor):
        which = next((key for key, each in inputs.items() if each is tensor), None)
        made = tensor.grad_fn is not None
        seen.append((tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2], which, tensor.requires_grad, made))
        kept.append(tensor)
        return tensor

    kept = []
    with library.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        results = operator(**values)
    results = results if isinstance(results, (list, tuple)) else [results]
    return [
        (*each, [number for number, result in enumerate(results) if result is tensor])
        for each, tensor in zip(seen, kept, strict=True)
    ]


def compare(name):
    """Yield the calls of an operator in which other tensors are saved."""
    own = {each.name for each in schema_of(name).arguments}
    for source, row in rows_of(name)[:2]:
        made = _bind(schema_of(source), row.make(Draw(4)), row.options)
        arguments = {key: value for key, value in made.items() if key in own}
        with ignore_warnings():
            try:
                wanted = list_saved(torch, name, arguments)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
            found = list_saved(torchlike, name, arguments)
        if found != wanted:
            yield f"{name}:\n  {wanted}\n  {found}"


@pytest.mark.parametrize("kind", sorted({KIND_OF[name] for name in _NAMES}))
def test_hooks_get_the_tensors_that_torchs_get_in_torchs_order(kind):
    different = [text for name in _NAMES if KIND_OF[name] == kind for text in compare(name)]
    assert not different, "\n".join(different)
