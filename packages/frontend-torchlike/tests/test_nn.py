"""Modules: parameters by name, state dicts with torch's errors, layers and losses."""

import copy
import math
import pickle

import pytest

import torchlike
from torchlike import nn, tensor
from torchlike.nn import functional as F


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


def test_parameters_and_modules_are_found_by_name(net):
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [name for name, _ in net.named_modules()] == ["", "0", "1", "2"]
    assert len(list(net.parameters())) == 4


def test_shared_parameters_are_listed_once():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = self.a

    assert [name for name, _ in Shared().named_parameters()] == ["a.weight", "a.bias"]
    assert len(Shared().state_dict()) == 4


def test_assigning_before_init_is_an_error():
    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early()


def test_only_parameters_take_a_parameters_place():
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"cannot assign .* as parameter 'weight'"):
        layer.weight = torchlike.ones(2, 2)
    layer.bias = None
    assert layer.bias is None
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'missing'"):
        layer.missing  # noqa: B018  # reading is the test


def test_state_dict_round_trips(net):
    state = {name: value.clone() for name, value in net.state_dict().items()}
    other = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    x = torchlike.ones(2, 4)
    assert torchlike.equal(net(x), other(x))


def test_load_state_dict_names_every_fault_and_changes_nothing(net):
    state = dict(net.state_dict())
    before = net[0].weight.clone()
    state["0.weight"] = torchlike.zeros(3, 4)
    state["extra"] = torchlike.zeros(1)
    del state["2.bias"]
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "2.bias". \n\tUnexpected key(s) in state_dict: "extra". '
    )
    assert torchlike.equal(net[0].weight, before)
    found = net.load_state_dict(state, strict=False)
    assert found.missing_keys == ["2.bias"] and found.unexpected_keys == ["extra"]
    with pytest.raises(RuntimeError, match=r"size mismatch for 0\.bias"):
        net.load_state_dict({"0.bias": torchlike.zeros(7)}, strict=False)


def test_buffers_are_state_but_not_parameters():
    module = nn.Module()
    module.register_buffer("mean", torchlike.zeros(2))
    module.register_buffer("scratch", torchlike.zeros(2), persistent=False)
    assert list(module.state_dict()) == ["mean"]
    assert list(module.parameters()) == []
    assert [name for name, _ in module.named_buffers()] == ["mean", "scratch"]


def test_what_is_assigned_again_keeps_its_place(net):
    net[0] = nn.Linear(4, 3)
    assert list(net._modules) == ["0", "1", "2"]
    layer = net[0]
    layer.weight = nn.Parameter(torchlike.zeros(3, 4))
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_a_buffer_registered_again_is_as_persistent_as_it_was_said_last():
    module = nn.Module()
    for persistent in (False, True, False):
        module.register_buffer("mean", torchlike.zeros(1), persistent=persistent)
        assert ("mean" in module.state_dict()) is persistent
    module.mean = torchlike.ones(1)
    assert "mean" not in module.state_dict()
    del module.mean
    module.register_buffer("mean", torchlike.zeros(1))
    assert "mean" in module.state_dict()


def test_names_that_a_part_cannot_have_are_refused():
    module = nn.Module()
    module.plain = 3
    for register, part in (
        (module.register_parameter, nn.Parameter(torchlike.ones(1))),
        (module.register_buffer, torchlike.ones(1)),
        (module.add_module, nn.ReLU()),
    ):
        for name, text in (
            ("plain", "attribute 'plain' already exists"),
            ("a.b", "contain"),
            ("", "empty string"),
        ):
            with pytest.raises(KeyError, match=text):
                register(name, part)
        with pytest.raises(TypeError, match=r"name should be a string\. Got int"):
            register(1, part)
    assert module.state_dict() == {} and module.plain == 3


class Counter(nn.Module):
    """A module whose state is more than tensors, and is saved under another name."""

    _version = 3

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torchlike.ones(2))
        self.steps, self.found = 0, None

    def get_extra_state(self):
        return {"steps": self.steps}

    def set_extra_state(self, state):
        self.steps = state["steps"]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "w"] = destination.pop(prefix + "weight")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        self.found = local_metadata.get("version")
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_modules_save_and_load_in_a_way_of_their_own():
    first, second = nn.Sequential(Counter()), nn.Sequential(Counter())
    first[0].steps = 5
    with torchlike.no_grad():
        first[0].weight.fill_(2.0)
    state = first.state_dict()
    assert list(state) == ["0._extra_state", "0.w"]
    second.load_state_dict(state)
    assert (second[0].steps, second[0].found, second[0].weight.tolist()) == (5, 3, [2.0, 2.0])
    assert list(state) == ["0._extra_state", "0.w"]


def test_hooks_run_around_saving_and_loading(net):
    calls = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append(("before", prefix)))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(more=tensor(1.0)))
    net[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: calls.append((type(module), prefix)))
    net.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
    state = net.state_dict()
    assert "more" in state
    net.load_state_dict(state)
    assert calls == [("before", ""), (nn.Linear, "0.")]


def test_loading_with_assign_takes_the_tensors_themselves(net):
    state = {name: value * 2 for name, value in net.state_dict().items()}
    weight = net[0].weight
    net.load_state_dict(state, assign=True)
    assert net[0].weight is not weight and net[0].weight.requires_grad
    assert net[0].weight.data_ptr() == state["0.weight"].data_ptr()
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_tied_parameters_are_listed_as_often_as_asked(net):
    net[2].weight = net[0].weight
    names = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert names == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.bias"]


def test_train_and_eval_reach_all_submodules(net):
    assert all(not module.training for module in net.eval().modules())
    assert all(module.training for module in net.train().modules())


def test_linear_is_filled_within_torchs_bounds():
    torchlike.manual_seed(0)
    layer = nn.Linear(100, 50)
    bound = 1 / math.sqrt(100)
    for parameter in layer.parameters():
        assert parameter.abs().max().item() <= bound
        assert parameter.requires_grad and parameter.is_leaf
    assert abs(layer.weight.std().item() - bound / math.sqrt(3)) < 0.003


def test_linear_computes_and_trains():
    layer = nn.Linear(2, 1)
    with torchlike.no_grad():
        layer.weight.copy_(tensor([[2.0, 3.0]]))
        layer.bias.fill_(1.0)
    out = layer(tensor([[1.0, 10.0]]))
    assert out.tolist() == [[33.0]]
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 10.0]] and layer.bias.grad.tolist() == [1.0]


def test_to_moves_parameters_and_keeps_their_identity(net):
    weight = net[0].weight
    net.double()
    assert net[0].weight is weight and weight.dtype == torchlike.float64 and weight.requires_grad
    net.to("meta")
    assert weight.device.type == "meta"


def test_hooks_run_around_forward(net):
    seen = []
    with net.register_forward_hook(lambda module, args, out: seen.append(tuple(out.shape))):
        net(torchlike.ones(5, 4))
    net(torchlike.ones(5, 4))
    assert seen == [(5, 2)]
    net.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    assert torchlike.equal(net(torchlike.ones(1, 4)), net(torchlike.zeros(1, 4)))


def test_modules_print_as_in_torch(net):
    assert repr(net) == (
        "Sequential(\n  (0): Linear(in_features=4, out_features=3, bias=True)\n  (1): ReLU()\n"
        "  (2): Linear(in_features=3, out_features=2, bias=True)\n)"
    )


def test_modules_copy_and_pickle(net):
    x = torchlike.ones(1, 4)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torchlike.equal(other(x), net(x))
        assert other[0].weight is not net[0].weight and isinstance(other[0].weight, nn.Parameter)


def test_containers():
    items = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    items.append(nn.ReLU())
    assert len(items) == 3 and isinstance(items[-1], nn.ReLU) and len(items[:2]) == 2
    named = nn.ModuleDict({"a": nn.Linear(1, 1)})
    assert "a" in named and list(named) == ["a"]
    with pytest.raises(IndexError, match="index 3 is out of range"):
        items[3]


def test_containers_are_changed_as_lists_are(net):
    net.insert(1, nn.Tanh())
    assert [type(each).__name__ for each in net] == ["Linear", "Tanh", "ReLU", "Linear"]
    del net[1]
    assert isinstance(net.pop(1), nn.ReLU) and list(net._modules) == ["0", "1"]
    assert [len(each) for each in (net + net, net * 3, net[:1])] == [4, 6, 1]
    items = nn.ModuleList([nn.ReLU(), nn.ReLU()])
    items.insert(0, nn.Tanh())
    items += [nn.ReLU()]
    assert repr(items) == "ModuleList(\n  (0): Tanh()\n  (1-3): 3 x ReLU()\n)"
    named = nn.ModuleDict([("a", nn.Tanh()), ("b", nn.ReLU())])
    named["a"] = nn.Sigmoid()
    assert next(iter(named.items()))[0] == "a" and isinstance(named.pop("b"), nn.ReLU) and list(named.keys()) == ["a"]


def test_what_is_no_module_and_a_hook_that_returns_something_are_refused_with_documented_errors(net):
    with pytest.raises(TypeError, match="module should be of type"):
        net.insert(0, None)
    net.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(RuntimeError, match="not expected to return new values"):
        net.load_state_dict(net.state_dict())


def test_a_refused_insertion_changes_nothing(net):
    before = dict(net._modules)
    for index in (7, -9):
        with pytest.raises(IndexError, match=f"Index out of range: {index}"):
            net.insert(index, nn.ReLU())
    items = nn.ModuleList([nn.ReLU()])
    with pytest.raises(KeyError, match="-1"):
        items.insert(-1, nn.ReLU())
    assert net._modules == before and len(items) == 1


def test_layers_write_in_place_where_asked():
    for layer in (nn.ReLU(inplace=True), nn.LeakyReLU(0.5, inplace=True), nn.SiLU(inplace=True)):
        x = tensor([-1.0, 2.0])
        assert layer(x) is x and x[0].item() > -1.0
        assert repr(layer).endswith("inplace=True)")


def test_dropout_acts_while_training_only():
    torchlike.manual_seed(0)
    layer = nn.Dropout(0.5)
    x = torchlike.ones(1000)
    dropped = layer(x)
    assert set(dropped.tolist()) == {0.0, 2.0}
    assert 400 < (dropped == 0).sum().item() < 600
    assert torchlike.equal(layer.eval()(x), x)
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        nn.Dropout(2)


def test_cross_entropy_is_the_log_of_softmax():
    scores = tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], requires_grad=True)
    loss = nn.CrossEntropyLoss()(scores, tensor([2, 0]))
    expected = (-math.log(math.exp(3) / sum(math.exp(v) for v in (1, 2, 3))) + math.log(3)) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    loss.backward()
    assert scores.grad.sum(1).abs().max().item() < 1e-6


def test_losses_reduce_as_asked():
    a, b = tensor([1.0, 2.0]), tensor([0.0, 0.0])
    assert F.mse_loss(a, b).item() == 2.5
    assert F.mse_loss(a, b, reduction="sum").item() == 5.0
    assert F.mse_loss(a, b, reduction="none").tolist() == [1.0, 4.0]
    assert F.l1_loss(a, b).item() == 1.5
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        F.mse_loss(a, b, reduction="x")


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_functions_that_call_a_method_say_what_they_take(name):
    function = getattr(torchlike.nn.functional, name)
    assert function(torchlike.zeros(2)).tolist() == getattr(torchlike.zeros(2), name)().tolist()
    with pytest.raises(TypeError, match=rf"aten::{name}\(\): argument 'self' \(position 1\) must be Tensor, not list"):
        function([1.0])
