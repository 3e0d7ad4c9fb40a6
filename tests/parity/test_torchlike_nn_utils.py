"""Helpers for networks beside torch's: parametrizations, normalized weights, clipped gradients, fused layers."""

import copy as copies
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def copy(value):
    return torchlike.from_numpy(value.detach().numpy().copy())


def agree(wanted, found):
    np.testing.assert_allclose(wanted.detach().numpy(), found.detach().numpy(), rtol=1e-7, atol=1e-9)


def make(name="Linear", *args):
    args = args or (4, 3)
    module = getattr(torch.nn, name)(*args).double()
    mine = getattr(torchlike.nn, name)(*args).double()
    mine.load_state_dict({key: copy(value) for key, value in module.state_dict().items()})
    torch.manual_seed(0)
    torchlike.manual_seed(0)
    return module, mine


def utils(module):
    return torch.nn.utils if isinstance(module, torch.nn.Module) else torchlike.nn.utils


def agree_after(change, module, mine, x):
    """Apply a change to both modules, and compare names, results and gradients."""
    torch.manual_seed(0)
    torchlike.manual_seed(0)
    change(module)
    change(mine)
    assert list(module.state_dict()) == list(mine.state_dict())
    for _ in range(2):
        module.zero_grad()
        mine.zero_grad()
        wanted, found = module(x), mine(copy(x))
        agree(wanted, found)
        (wanted * wanted).sum().backward()
        (found * found).sum().backward()
    for one, other in zip(module.parameters(), mine.parameters(), strict=True):
        agree(one.grad, other.grad)


CHANGES = {
    "weight_norm": lambda m: utils(m).weight_norm(m),
    "weight_norm all": lambda m: utils(m).weight_norm(m, dim=None),
    "weight_norm 1": lambda m: utils(m).parametrizations.weight_norm(m, dim=1),
    "spectral_norm": lambda m: utils(m).spectral_norm(m),
    "spectral_norm new": lambda m: utils(m).parametrizations.spectral_norm(m),
    "removed": lambda m: utils(m).remove_weight_norm(utils(m).weight_norm(m)),
    "removed new": lambda m: utils(m).parametrize.remove_parametrizations(
        utils(m).parametrizations.weight_norm(m), "weight"
    ),
    "removed spectral": lambda m: utils(m).remove_spectral_norm(utils(m).spectral_norm(m)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("layer", ["Linear", "Conv1d"])
def test_normalized_weights_agree(layer, change):
    module, mine = make(layer, *((4, 3) if layer == "Linear" else (4, 3, 2)))
    agree_after(CHANGES[change], module, mine, torch.randn(2, 4, 4, dtype=torch.float64))


@pytest.mark.parametrize("map_name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 4), (4, 3)])
def test_orthogonal_weights_agree(map_name, sizes):
    for trivial in (True, False):
        module, mine = make("Linear", *sizes)
        utils(module).parametrizations.orthogonal(module, orthogonal_map=map_name, use_trivialization=trivial)
        utils(mine).parametrizations.orthogonal(mine, orthogonal_map=map_name, use_trivialization=trivial)
        agree(module.weight, mine.weight)


def test_parametrizations_chain_copy_and_take_values():
    def classes(t):
        class Triangle(t.nn.Module):
            def forward(self, x):
                return x.triu()

            def right_inverse(self, x):
                return x.triu()

        class Double(t.nn.Module):
            def forward(self, x):
                return 2 * x

            def right_inverse(self, x):
                return x / 2

        return Triangle, Double

    module, mine = make("Linear", 3, 3)
    value = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
    for layer, t in ((module, torch), (mine, torchlike)):
        for kind in classes(t):
            t.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
        layer.weight = t.tensor(value.tolist(), dtype=t.float64)
        with t.nn.utils.parametrize.cached():
            assert layer.weight is layer.weight
        assert t.nn.utils.parametrize.type_before_parametrizations(layer) is t.nn.Linear
    assert repr(module) == repr(mine)
    agree(module.weight, mine.weight)
    agree(module.weight, copies.deepcopy(mine).weight)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        mine.__getstate__()
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        torchlike.nn.utils.parametrize.register_parametrization(mine, "missing", torchlike.nn.Identity())


@pytest.mark.parametrize("norm", [1, 2.0, float("inf")])
def test_gradients_are_clipped_as_by_torch(norm):
    module, mine = make()
    for layer, t in ((module, torch), (mine, torchlike)):
        (layer(t.ones(2, 4, dtype=t.float64)) * 3).sum().backward()
    agree(
        torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5, norm),
        torchlike.nn.utils.clip_grad_norm_(mine.parameters(), 0.5, norm),
    )
    torch.nn.utils.clip_grad_value_(module.parameters(), 0.05)
    torchlike.nn.utils.clip_grad_value_(mine.parameters(), 0.05)
    for one, other in zip(module.parameters(), mine.parameters(), strict=True):
        agree(one.grad, other.grad)
    mine.weight.grad.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        torchlike.nn.utils.clip_grad_norm_(mine.parameters(), 1.0, norm, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="empty generator"):
        torchlike.nn.utils.clip_grad_norm_((each for each in ()), 1.0)


def test_fused_layers_agree():
    x = torch.randn(2, 3, 5, 5, dtype=torch.float64)
    conv, mine = make("Conv2d", 3, 4, 3)
    norm, my_norm = make("BatchNorm2d", 4)
    norm(conv(x)), my_norm(mine(copy(x)))
    for layer in (conv, mine, norm, my_norm):
        layer.eval()
    found = torchlike.nn.utils.fuse_conv_bn_eval(mine, my_norm)(copy(x))
    agree(torch.nn.utils.fuse_conv_bn_eval(conv, norm)(x), found)
    agree(norm(conv(x)), found)


def test_modules_are_called_with_other_parameters():
    module, mine = make()
    x = torch.ones(2, 4, dtype=torch.float64)
    given = {"weight": torch.full((3, 4), 2.0, dtype=torch.float64)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = torch.nn.utils.stateless.functional_call(module, given, x)
        found = torchlike.nn.utils.stateless.functional_call(mine, {"weight": copy(given["weight"])}, copy(x))
        with pytest.raises(RuntimeError, match="Unexpected key"):
            torchlike.nn.utils.stateless.functional_call(mine, {"other": copy(x)}, copy(x), strict=True)
    agree(wanted, found)
    agree(module.weight, mine.weight)


def test_pruned_weights_agree():
    import torch.nn.utils.prune

    module, mine = make("Linear", 4, 5)
    found = []
    for layer, t in ((module, torch), (mine, torchlike)):
        prune = t.nn.utils.prune
        prune.l1_unstructured(layer, "weight", 0.3)
        prune.ln_structured(layer, "weight", 1, 2, 0)
        prune.custom_from_mask(layer, "bias", t.tensor([1, 0, 1, 0, 1]))
        layer(t.ones(1, 4, dtype=t.float64)).sum().backward()
        found.append([layer.weight, layer.bias, layer.weight_orig.grad])
        prune.remove(layer, "weight")
        prune.global_unstructured([(layer, "weight")], prune.L1Unstructured, amount=12)
        found[-1] += [layer.weight, layer.weight_mask]
        assert prune.is_pruned(layer) and sorted(layer.state_dict()) == [
            "bias_mask",
            "bias_orig",
            "weight_mask",
            "weight_orig",
        ]
    for wanted, ours in zip(*found, strict=True):
        agree(wanted, ours)


def test_vectors_of_parameters_agree():
    module, mine = make()
    vector = torchlike.nn.utils.parameters_to_vector(mine.parameters())
    agree(torch.nn.utils.parameters_to_vector(module.parameters()), vector)
    torchlike.nn.utils.vector_to_parameters(vector.detach() * 2, mine.parameters())
    agree(module.weight * 2, mine.weight)
    with pytest.raises(TypeError, match=r"expected torchlike\.Tensor"):
        torchlike.nn.utils.vector_to_parameters([1.0], mine.parameters())
