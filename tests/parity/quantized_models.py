"""Networks that are quantized with torchlike and with torch, and how their states and integers are compared."""

import re

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


def fill(t, model, seed=0):
    """Give a model parameters that depend on their names and a seed alone."""
    with t.no_grad():
        for name, value in sorted([*model.named_parameters(), *model.named_buffers()]):
            if value.dtype != t.float32:
                continue
            rng = np.random.default_rng([seed, *name.encode()])
            array = rng.normal(size=tuple(value.shape)) / max(1, np.sqrt(value.numel() / max(1, len(value))))
            if "running_var" in name or ("bn" in name.split(".")[-2:][0] and name.endswith("weight")):
                array = np.abs(array) + 0.5
            value.copy_(t.tensor(array.astype("float32")))
    return model


def draw(t, *shape, seed=1, low=-1.0, high=1.0):
    return t.tensor(np.random.default_rng(seed).uniform(low, high, shape).astype("float32"))


def make_digits(t):
    """Return the network of the tutorials: convolutions, normalizations, a sum, a joint, and linear layers."""

    class Digits(t.nn.Module):
        def __init__(self):
            super().__init__()
            nn = t.nn
            self.quant, self.dequant = t.ao.quantization.QuantStub(), t.ao.quantization.DeQuantStub()
            self.conv1, self.bn1, self.relu1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
            self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False), nn.BatchNorm2d(8)
            self.pool, self.sum = nn.MaxPool2d(2), t.ao.nn.quantized.FloatFunctional()
            self.join = t.ao.nn.quantized.FloatFunctional()
            self.fc1, self.relu2, self.drop = nn.Linear(256, 16), nn.ReLU(), nn.Dropout(0.0)
            self.fc2 = nn.Linear(16, 10)

        def forward(self, x):
            x = self.relu1(self.bn1(self.conv1(self.quant(x))))
            x = self.sum.add_relu(x, self.bn2(self.conv2(x)))
            x = self.pool(x)
            x = self.join.cat([x, x], 1)
            x = t.flatten(x, 1)
            x = self.relu2(self.fc1(x))
            return self.dequant(self.fc2(self.drop(x)))

    return Digits()


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "bn2"], ["fc1", "relu2"]]


def equal(ours, theirs, name=""):
    """Compare two values of a state: tensors, quantized ones by their integers, tuples, dtypes."""
    if isinstance(theirs, (tuple, list)):
        for mine, yours in zip(ours, theirs, strict=True):
            equal(mine, yours, name)
    elif not isinstance(theirs, torch.Tensor):
        assert str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2], name
    elif theirs.is_quantized:
        assert ours.qscheme().__repr__().rpartition(".")[2] == str(theirs.qscheme()).rpartition(".")[2], name
        np.testing.assert_array_equal(ours.int_repr().numpy(), theirs.int_repr().numpy(), err_msg=name)
        per_channel = theirs.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
        parts = ("q_per_channel_scales", "q_per_channel_zero_points") if per_channel else ("q_scale", "q_zero_point")
        for part in parts:
            one, other = getattr(ours, part)(), getattr(theirs, part)()
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6, err_msg=name)
    elif name.endswith("histogram"):  # a number that differs by a unit may lie in the next bin
        assert np.abs(ours.numpy() - theirs.numpy()).sum() < 0.01 * theirs.numpy().sum(), name
    else:
        assert ours.shape == theirs.shape, name
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-5, atol=2e-5, equal_nan=True, err_msg=name
        )


def equal_states(ours, theirs):
    mine, yours = ours.state_dict(), theirs.state_dict()
    assert [*mine] == [*yours]
    for name in yours:
        if not str(type(yours[name]).__name__).endswith("ScriptObject"):
            equal(mine[name], yours[name], name)
    assert mine._metadata.keys() == yours._metadata.keys()


def both(program):
    """Return the results of a program with torchlike and with torch."""
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        return program(torchlike), program(torch)
    finally:
        torch.backends.quantized.engine = engine


def text_of(model):
    text = str(model).replace("torchlike.", "torch.").replace("torch.", "")
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.3f}", text)


def quantize_digits(t, backend="fbgemm"):
    q = t.ao.quantization
    model = q.fuse_modules(fill(t, make_digits(t)).eval(), FUSED)
    model.qconfig = q.get_default_qconfig(backend)
    q.prepare(model, inplace=True)
    for step in range(3):
        model(draw(t, 8, 1, 8, 8, seed=step))
    return q.convert(model)


def integers_of(model, x):
    """Return the integers that each layer of a quantized network gives."""
    found = {}

    def keep(module, given, result, name):
        if getattr(result, "is_quantized", False):
            found[name] = result.int_repr().numpy()

    for name, module in model.named_modules():
        if name:
            module.register_forward_hook(lambda *args, name=name: keep(*args, name))
    return model(x).numpy(), found


def translate(value):
    """Return torchlike's value for one of torch's state."""
    t = torchlike
    if isinstance(value, (tuple, list)):
        return type(value)(map(translate, value))
    if isinstance(value, torch.dtype):
        return getattr(t, str(value).rpartition(".")[2])
    if not isinstance(value, torch.Tensor):
        return value
    if not value.is_quantized:
        return t.from_numpy(value.detach().numpy().copy())
    integers = translate(value.int_repr())
    if value.qscheme() == torch.per_tensor_affine:
        return t._make_per_tensor_quantized_tensor(integers, value.q_scale(), value.q_zero_point())
    parts = translate([value.q_per_channel_scales(), value.q_per_channel_zero_points()])
    return t._make_per_channel_quantized_tensor(integers, *parts, value.q_per_channel_axis())


def load_from_torch(ours, theirs):
    """Give a quantized network the state of torch's."""
    state = theirs.state_dict()
    made = type(state)((name, translate(value)) for name, value in state.items())
    made._metadata = state._metadata
    found = ours.load_state_dict(made)
    assert not found.missing_keys and not found.unexpected_keys
