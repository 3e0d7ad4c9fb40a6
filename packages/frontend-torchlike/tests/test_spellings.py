"""Spellings of calls that programs use: any iterable, arguments by name, subclasses of views, sparse outputs."""

import pickle

import numpy as np
import pytest

import dispatch_core as dc
import torchlike


class Named(torchlike.Tensor):
    """A subclass that adds nothing."""


ORIGINS = {
    "fresh": lambda: torchlike.ones(3, 4),
    "leaf": lambda: torchlike.ones(3, 4, requires_grad=True),
    "result": lambda: torchlike.ones(3, 4, requires_grad=True) * 2,
    "view": lambda: torchlike.ones(4, 3).t(),
    "view of a result": lambda: torchlike.mul(torchlike.ones(4, 3, requires_grad=True), 2).t(),
    "view of lent memory": lambda: torchlike.from_numpy(np.ones((4, 3), "float32")).permute(1, 0),
    "parameter": lambda: torchlike.nn.Parameter(torchlike.ones(3, 4)),
}
USES = {
    "row": lambda x: x[0],
    "slice": lambda x: x[..., 0:2],
    "mask": lambda x: x[x > 0],
    "view": lambda x: x.t().reshape(-1),
    "text": repr,
    "sum": lambda x: x.sum(),
    "clone": lambda x: x.clone(),
    "numpy": lambda x: x.detach().numpy(),
    "split": lambda x: x.split(2),
    "pickle": lambda x: pickle.loads(pickle.dumps(x.detach())),
    "write": lambda x: x.detach().add_(1),
    "state": lambda x: (x._version, x.is_leaf, x.requires_grad, x.grad_fn),
}


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("make", ORIGINS.values(), ids=ORIGINS)
def test_a_subclass_of_any_tensor_can_be_used(make, use, is_recorded):
    def run():
        x = make().as_subclass(Named)
        assert type(x) is Named
        use(x)
        back = x.as_subclass(torchlike.Tensor)
        assert type(back) is torchlike.Tensor
        use(back)

    if is_recorded:
        with dc.pipeline():
            run()
    else:
        run()


def test_gradients_pass_a_subclass():
    x = torchlike.ones(3, requires_grad=True)
    (x * 2).as_subclass(Named)[1:].sum().backward()
    assert x.grad.tolist() == [0, 2, 2]


def test_gradients_of_a_dictionary_have_its_keys():
    x = torchlike.ones(2, requires_grad=True)
    assert torchlike.autograd.grad((x * 3).sum(), {"x": x})["x"].tolist() == [3, 3]
    layer = torchlike.nn.Linear(2, 1)
    assert len(torchlike.autograd.grad(layer(torchlike.ones(1, 2)).sum(), layer.parameters())) == 2


def test_arguments_are_taken_by_name():
    assert torchlike.randint(2, 10, size=(1,)).shape == (1,)
    assert torchlike.randint(low=2, high=10, size=(1,)).shape == (1,)
    x = torchlike.arange(4)
    for given in ({"indices": (1,)}, {"sections": 2}, {"tensor_indices_or_sections": torchlike.tensor(2)}):
        assert len(torchlike.tensor_split(x, **given)) == 2
        assert len(torchlike.tensor_split(input=x, **given)) == 2
        assert len(x.tensor_split(**given)) == 2
    assert len(torchlike.hsplit(x, sections=2)) == len(torchlike.chunk(input=x, chunks=2)) == 2


def test_invariants_are_checked_in_a_decorated_function():
    switch = torchlike.sparse.check_sparse_tensor_invariants

    @switch(enable=True)
    def read():
        return switch.is_enabled()

    assert read()
    assert not switch.is_enabled()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("abs", "float32"), ("sin", "float64"), ("neg", "float64"), ("square", "float64"), ("signbit", "bool"),
     ("trunc", "float32"), ("absolute", "float32"), ("negative", "float64")],
)  # fmt: skip
def test_sparse_outputs_are_written(name, dtype):
    x = torchlike.sparse_coo_tensor([[0, 1], [1, 0]], [0.25, -4.0], (2, 2))
    dtype = getattr(torchlike, dtype)
    out = torchlike.zeros(2, 2, dtype=dtype).to_sparse()
    function = getattr(torchlike, name)
    assert function(x, out=out) is out
    assert out.dtype == dtype
    assert out.to_dense().tolist() == function(x).to_dense().to(dtype).tolist()
    with pytest.raises(RuntimeError, match="must both be sparse"):
        function(x, out=torchlike.zeros(2, 2))


def test_sparse_outputs_that_do_not_fit_are_refused_and_stay():
    x = torchlike.sparse_coo_tensor([[0, 1], [1, 0]], [0.25, 4.0], (2, 2))
    larger = torchlike.ones(3, 2).to_sparse()
    with pytest.raises(RuntimeError, match="shrinking the size"):
        torchlike.sin(x, out=larger)
    assert larger.to_dense().tolist() == torchlike.ones(3, 2).tolist()
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        torchlike.trunc(x, out=torchlike.zeros(2, 2, dtype=torchlike.float64).to_sparse())
    bytes_ = torchlike.sparse_coo_tensor([[0]], torchlike.tensor([1], dtype=torchlike.uint8), (2,))
    out = torchlike.zeros(2, dtype=torchlike.int64).to_sparse()
    assert torchlike.neg(bytes_, out=out).to_dense().tolist() == [-1, 0]  # computed in the output's dtype


def test_arguments_are_spelled_as_torch_spells_them():
    x = torchlike.tensor([[3.0, 1.0], [2.0, 4.0]])
    assert torchlike.randint(2, 9, (3,), dtype=None).dtype == torchlike.int64
    assert torchlike.clamp(x, x, x, out=torchlike.empty(0)).tolist() == x.tolist()
    assert torchlike.pow(self=2, exponent=x).tolist() == [[8, 2], [4, 16]]
    assert torchlike.subtract(x, 1, 2).tolist() == [[1, -1], [0, 2]]
    assert x.hsplit(1, 1)[0].tolist() == [[3], [2]]
    assert x.to(None, torchlike.float64).dtype == torchlike.float64
    assert torchlike.result_type(scalar=2.5, tensor=torchlike.tensor([1])) == torchlike.float32
    assert x.clone().copy_(other=torchlike.ones(2)).tolist() == [[1, 1], [1, 1]]
    for call in (
        torchlike.arange,
        lambda: torchlike.zeros([2], size=[2]),
        lambda: x.to(torchlike.int32, dtype=torchlike.int32),
        lambda: x.to(unknown=3),
        lambda: torchlike.result_type(tensor1=x, tensor2=x),
        lambda: torchlike.pow(x),
        lambda: torchlike.pow(x, 2, unknown=1),
    ):
        with pytest.raises(TypeError):
            call()
