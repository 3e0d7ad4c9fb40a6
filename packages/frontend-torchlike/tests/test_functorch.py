"""The names of functorch, and tensors that change places."""

import copy

import pytest

import torchlike
from torchlike.surface import functorch
from torchlike.utils import set_module, swap_tensors

pytestmark = pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")


class Tied(torchlike.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torchlike.nn.Linear(3, 3)
        self.norm = torchlike.nn.BatchNorm1d(3)
        self.second = self.first

    def forward(self, x):
        return self.second(self.norm(self.first(x)))


def test_a_model_is_a_function_of_its_state():
    torchlike.manual_seed(0)
    model, x = Tied(), torchlike.randn(4, 3)
    expected = copy.deepcopy(model)(x)
    function, params, buffers = functorch.make_functional_with_buffers(model)
    assert [each.shape for each in params] == [(3, 3), (3,), (3,), (3,)] and function.param_names[0] == "first.weight"
    assert torchlike.equal(function(params, buffers, x), expected)
    assert not torchlike.equal(buffers[0], model.norm.running_mean)
    with pytest.raises(RuntimeError, match="has buffers"):
        functorch.make_functional(model)


def test_gradients_by_parameters():
    function, params = functorch.make_functional(torchlike.nn.Linear(3, 2))
    grads = functorch.grad(lambda params, x: function(params, x).sum())(params, torchlike.ones(3))
    assert [each.tolist() for each in grads] == [[[1.0] * 3] * 2, [1.0, 1.0]]
    _, params = functorch.make_functional(torchlike.nn.Linear(3, 2), disable_autograd_tracking=True)
    assert not any(each.requires_grad for each in params)


def test_models_are_an_ensemble():
    models = [torchlike.nn.Linear(3, 2) for _ in range(4)]
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    found = functorch.vmap(function, (0, 0, None))(params, buffers, torchlike.ones(3))
    expected = torchlike.stack([model(torchlike.ones(3)) for model in models])
    assert torchlike.allclose(found, expected) and params[0].shape == (4, 2, 3)
    for wrong, text in (
        ([], "at least one model"),
        ([models[0], models[1].eval()], "same training/eval mode"),
        ([models[0], torchlike.nn.Identity()], "of the same class"),
    ):
        with pytest.raises(RuntimeError, match=text):
            functorch.combine_state_for_ensemble(wrong)


@pytest.mark.filterwarnings("default")
def test_names_warn_of_those_that_torch_has_today():
    with pytest.warns(FutureWarning, match=r"use `torch\.func\.jacrev` instead"):
        assert functorch.jacrev(torchlike.sin)(torchlike.zeros(())) == 1


def test_tensors_change_places():
    net = torchlike.nn.Linear(2, 1, bias=False)
    optimizer = torchlike.optim.SGD(net.parameters(), lr=0.5)
    weight, new = net.weight, torchlike.nn.Parameter(torchlike.full((1, 3), 2.0))
    new.tag = "new"
    swap_tensors(net.weight, new)
    assert net.weight is weight and weight.shape == (1, 3) and weight.tag == "new" and new.shape == (1, 2)
    net(torchlike.ones(3)).sum().backward()
    assert weight.grad.tolist() == [[1.0] * 3] and new.grad is None
    optimizer.step()
    assert weight.tolist() == [[1.5] * 3]


def test_histories_and_classes_change_places():
    source = torchlike.ones(2, requires_grad=True)
    double, plain, parameter = source * 2, torchlike.zeros(3), torchlike.nn.Parameter(torchlike.ones(1))
    swap_tensors(double, plain)
    assert double.grad_fn is None and double.tolist() == [0.0] * 3
    plain.sum().backward()
    assert source.grad.tolist() == [2.0, 2.0]
    swap_tensors(double, parameter)
    assert type(double) is torchlike.nn.Parameter and type(parameter) is torchlike.Tensor and double.requires_grad
    swap_tensors(double, double)
    with pytest.raises(TypeError, match="takes two tensors, not int"):
        swap_tensors(double, 3)


def test_objects_say_another_module():
    def function():
        """Do nothing."""

    set_module(function, "torch.somewhere")
    assert function.__module__ == "torch.somewhere"
    with pytest.raises(TypeError, match="should be a string"):
        set_module(function, 3)
