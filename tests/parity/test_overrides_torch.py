"""Overrides against torch's: the functions that classes and modes are handed, types, arguments, and classes of results."""

import pytest
import torch
import torch.overrides

import torchlike
import torchlike.overrides


def make_tools(library):
    """Return a class of tensors and one of other objects that note their calls, and the notes."""
    calls = []

    def note(func, types, args, kwargs):
        name = library.overrides.resolve_name(func)
        kinds = [type(each).__name__ for each in args]
        calls.append((name, [each.__name__ for each in types], kinds, sorted(kwargs or {})))

    class Seen(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(func, types, args, kwargs)
            return "other"

    return Seen, Other, calls


#: Programs of a tensor ``x`` of a class of its own, a plain one ``p`` and an object ``d``, and the library as ``torch``.
PROGRAMS = """
x + 1; 1 + x; x + p; p + x; 1 - x; x * 2; 2 * x; x / 2; 2 / x; x // 2; 2 // x; x % 2; 2 % x; 2 ** x; x @ p; p @ x
x < 1; x >= 1; x != p; -x; abs(x); +x; x[0]; x[0, 1]; p[x.bool()]; x.T; x.mT; x.H; x.shape; x.dtype; x.device; x.grad
x.data; x.requires_grad; x.is_leaf; x.ndim; x.layout; x.real; x.is_cuda; x.itemsize; x.nbytes; x.size(); x.dim(); len(x)
bool(x[0, 0]); float(x[0, 0]); int(x[0, 0]); x[0, 0].item(); x.tolist(); x.sum(); x.sum(0); x.max(0); torch.sum(x)
torch.add(x, 1); torch.add(p, x); torch.add(p, x, alpha=2); torch.cat([x, p]); torch.cat([p, d]); torch.add(d, p)
torch.add(p, d); torch.add(d, x); torch.matmul(d, p); torch.linalg.cholesky(d); torch.fft.fft(d); torch.special.erf(d)
torch.nn.functional.relu(x); torch.nn.functional.linear(p, x); torch.nn.functional.gumbel_softmax(x)
torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])); torch.nn.functional.mse_loss(x, p); torch.einsum('ij->j', x)
torch.nn.functional.pad(x, (1, 1)); torch.nn.functional.layer_norm(x, (2,)); torch.nn.functional.softmax(x, -1)
torch.nn.functional.dropout(d); torch.nn.functional.interpolate(d, scale_factor=2); torch.nn.functional.max_pool2d(d, 2)
torch.where(p > 0, x, p); x.clone(); x.detach(); x.to(torch.float64); x.double(); x.cpu(); x.view(4); x.view(2, 2)
x.reshape(4); x.add_(1); x.__setitem__(0, 1); x.requires_grad_(); torch.zeros_like(x); torch.full_like(x, 1)
torch.allclose(x, p); torch.equal(x, p); torch.ops.aten.add.Tensor(x, p); torch.max(x); torch.max(x, 0); x.chunk(2)
x.split(1); torch.split(x, 1); x.norm(); torch.norm(x); torch.atleast_1d(x); torch.broadcast_tensors(x, p); x.unbind()
x.element_size(); x.is_contiguous(); x.stride(); x.storage_offset(); x.numel(); x.is_floating_point(); torch.numel(x)
reversed(x); 1 in x; x.grad_fn; x._version; x.is_sparse; p.copy_(x); p.add_(x); p.to(x); p.type_as(x); x.fill_(1)
x.unique(); torch.topk(x, 1); torch.sort(x); torch.tensordot(x, p); torch.cdist(x, p); x.as_subclass(torch.Tensor)
torch.Tensor.add(x, 1); torch.Tensor.shape.__get__(x); torch.Tensor.size(x); torch.stack([p, x]); x.new_zeros(2)
setattr(x, 'requires_grad', False); setattr(x, 'data', p); x.is_inference(); torch.rand_like(x); x.zero_(); ~x.bool()
x.bool() & x.bool(); torch.nn.functional.batch_norm(x, p[0], p[0]); torch.svd_lowrank(x); torch.is_tensor(x)
torch.tensor(x); torch.tensor(x, dtype=torch.float64); torch.as_tensor(x); torch.as_tensor(x, dtype=torch.float64)
torch.unique(x); torch.unique(x, return_counts=True); torch.unique_consecutive(x); x.unique_consecutive()
torch.stft(x.view(4).repeat(3), 4, window=torch.ones(4), return_complex=True); torch.meshgrid(x[0], x[1], indexing="ij")
torch.istft(torch.ones(3, 5, dtype=torch.complex64).as_subclass(type(x)), 4, window=torch.ones(4))
""".replace("\n", "; ").split("; ")


def run(program, library):
    """Return the calls that a program hands to classes, and the class of its result, or of its error."""
    kind, other, calls = make_tools(library)
    library.manual_seed(0)
    names = {
        "x": library.ones(2, 2).as_subclass(kind),
        "p": library.ones(2, 2),
        "d": other(),
        "torch": library,
    }
    try:
        result = type(eval(program, names)).__name__  # the programs above
    except Exception as error:  # noqa: BLE001  # compared
        result = type(error).__name__
    return calls, result


#: Names of our classes → torch's.
SAME = {"torchlike.dtype": "dtype", "Device": "device", "torchlike.layout": "layout", "Layout": "layout"}


def to_public(calls):
    """Return calls by torch's first path to a function, and with torch's names of classes."""
    return [
        (str(name).replace("torch.functional.", "torch."), types, [SAME.get(each, each) for each in kinds], kwargs)
        for name, types, kinds, kwargs in calls
    ]


@pytest.mark.parametrize("repeat", [1, 12])
@pytest.mark.parametrize("program", [each for each in PROGRAMS if each])
def test_a_program_hands_on_torchs_calls(program, repeat):
    expected = run(program, torch)
    for _ in range(repeat):
        found, result = run(program, torchlike)
        assert to_public(found) == to_public(expected[0])
        assert SAME.get(result, result) == SAME.get(expected[1], expected[1])


def test_the_same_functions_may_be_overridden():
    names = []
    for library in (torch, torchlike):
        listed = library.overrides.get_overridable_functions()
        names.append(
            {library.overrides.resolve_name(each) for functions in listed.values() for each in functions} - {None}
        )
    # A function of two names, `torch.celu` and `torch.nn.functional.celu`, has the one or the other.
    assert len(names[1] - names[0]) < 60
    assert len(names[0] & names[1]) > 1150
