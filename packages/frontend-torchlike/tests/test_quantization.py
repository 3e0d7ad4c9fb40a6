"""Networks in `torchlike.ao`: quantized after training, in training and dynamically; saved, copied, mapped, recorded."""

import copy
import io
import pickle
from importlib import import_module

import pytest

import torchlike as t
from torchlike import nn
from torchlike.ao import quantization as q
from torchlike.ao.nn import intrinsic, quantizable, quantized
from torchlike.names.torch_modules import MODULES


def make_network():
    t.manual_seed(3)
    layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    return q.QuantWrapper(layers)


def quantize_network(inputs):
    model = q.fuse_modules(make_network().eval(), ["module.0", "module.1", "module.2"])
    model.qconfig = q.get_default_qconfig("fbgemm")
    q.prepare(model, inplace=True)
    for each in inputs:
        model(each)
    return q.convert(model)


def test_a_quantized_network_computes_what_it_did_but_for_rounding():
    inputs = t.randn(3, 16, 1, 8, 8)
    model = quantize_network(inputs)
    before = make_network().eval()(inputs[0])
    assert isinstance(model.module[0], intrinsic.quantized.ConvReLU2d) and isinstance(model.module[4], quantized.Linear)
    assert not any(isinstance(each, q.ObserverBase) for each in model.modules())
    assert (model(inputs[0]) - before).abs().max() < 0.1 * before.abs().max()


def test_a_quantized_network_is_saved_copied_and_pickled():
    inputs = t.randn(2, 4, 1, 8, 8)
    model = quantize_network(inputs)
    wanted = model(inputs[0])
    other, file = quantize_network(inputs * 2), io.BytesIO()
    assert not other(inputs[0]).equal(wanted)
    t.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(t.load(file))
    for each in other, copy.deepcopy(model), pickle.loads(pickle.dumps(model)):
        assert each(inputs[0]).equal(wanted)


def test_a_network_trains_with_simulated_quantization_and_is_converted():
    model = q.fuse_modules_qat(make_network().train(), ["module.0", "module.1", "module.2"])
    model.qconfig = q.get_default_qat_qconfig("fbgemm")
    q.prepare_qat(model, inplace=True)
    optimizer, losses = t.optim.Adam(model.parameters(), lr=0.01), []
    x, target = t.randn(20, 1, 8, 8), t.arange(20) % 5
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    model.eval()
    rounded, made = model(x), q.convert(model)(x)
    assert (rounded.argmax(1) == made.argmax(1)).sum() >= 18


@pytest.mark.parametrize("dtype", [t.qint8, t.float16])
def test_recurrent_and_linear_layers_are_quantized_dynamically(dtype):
    model = nn.ModuleDict({"lstm": nn.LSTM(6, 8, 2, bidirectional=True), "linear": nn.Linear(16, 3)})
    made = q.quantize_dynamic(model, dtype=dtype)
    assert type(made["lstm"]) is quantized.dynamic.LSTM and type(model["lstm"]) is nn.LSTM
    x = t.randn(5, 2, 6)
    wanted, found = (each["linear"](each["lstm"](x)[0]) for each in (model, made))
    assert (wanted - found).abs().max() < 0.05
    again = copy.deepcopy(made)
    again.load_state_dict(made.state_dict())
    assert again["lstm"](x)[0].equal(made["lstm"](x)[0])


def test_quantize_takes_names_and_classes():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2)))
    made = q.quantize_dynamic(model, {"1.0"})
    assert type(made[0]) is nn.Linear and type(made[1][0]) is quantized.dynamic.Linear
    wrapped = q.QuantWrapper(nn.ReLU())
    wrapped.qconfig = q.default_qconfig
    done = q.quantize(wrapped, lambda model, x: model(x), (t.tensor([-1.0, 1.0]),))
    assert type(done.quant) is quantized.Quantize and done(t.tensor([-1.0, 1.0])).tolist() == [
        0.0,
        pytest.approx(1, abs=0.01),
    ]
    with pytest.warns(UserWarning, match="None of the submodule got qconfig"):
        q.prepare(nn.Linear(2, 2))


def test_simulated_quantization_is_mapped_differentiated_and_recorded():
    x = t.randn(3, 4)
    scale, zero_point = t.tensor([0.1, 0.2, 0.3, 0.4]), t.tensor([0, 1, 2, 3], dtype=t.int32)

    def by_channel(row):
        return t.fake_quantize_per_channel_affine(row, scale, zero_point, 0, 0, 15)

    def whole(row):
        return t.fake_quantize_per_tensor_affine(row, 0.1, 7, 0, 15)

    for function in by_channel, whole:
        wanted = t.stack([function(row) for row in x])
        assert t.func.vmap(function)(x).equal(wanted)
        with t.pipeline():
            recorded = t.stack([function(row) for row in x])
        assert recorded.equal(wanted)
        gradients = t.func.vmap(t.func.grad(lambda row, function=function: function(row).sum()))(x)
        assert set(gradients.flatten().tolist()) <= {0.0, 1.0}
    assert t.func.jvp(whole, (x,), (t.ones(3, 4),))[1].equal(t.func.vmap(t.func.grad(lambda row: whole(row).sum()))(x))
    assert whole(x.to("meta")).shape == (3, 4)
    assert t.capture(whole)(x).equal(whole(x))


def test_switches_turn_observers_and_rounding_off():
    fake = q.default_fake_quant()
    fake(t.tensor([-1.0, 3.0]))
    scale = fake.scale.clone()
    fake.apply(q.disable_observer)
    fake(t.tensor([-100.0, 100.0]))
    assert fake.scale.equal(scale)
    fake.apply(q.disable_fake_quant)
    assert fake(t.tensor([0.1234])).item() == pytest.approx(0.1234)
    fake.apply(q.enable_fake_quant).apply(q.enable_observer)
    assert fake.fake_quant_enabled.item() == fake.observer_enabled.item() == 1


@pytest.mark.parametrize("path", [name for name, ours in MODULES.items() if ours.startswith("torchlike.ao.")])
def test_torchs_paths_of_quantization_are_one_module(path):
    found = import_module(path.replace("torch", "torchlike", 1))
    assert found is import_module(MODULES[path]) and found.__spec__.name == MODULES[path]


def test_older_names_of_quantization_are_attributes():
    assert t.quantization is q and t.nn.quantized is quantized and t.nn.intrinsic is intrinsic
    assert t.nn.quantized.dynamic.LSTM is quantized.dynamic.LSTM
    module = import_module("torchlike.quantization.fuse_modules")
    assert q.fuse_modules is module.fuse_modules is t.quantization.fuse_modules  # the function, as in torch
    with pytest.raises(AttributeError, match="has no attribute 'quantised'"):
        _ = t.nn.quantised


class Sequences(nn.Module):
    """Read a sequence by an LSTM, then by attention."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
        self.lstm = nn.LSTM(6, 4, 2, bidirectional=True)
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        x, _ = self.lstm(self.quant(x))
        return self.dequant(self.attention(x, x, x)[0])


@pytest.mark.filterwarnings("ignore:must run observer")  # products with a number are not observed, as in torch
def test_recurrent_layers_and_attention_are_observed_by_parts_and_quantized():
    t.manual_seed(5)
    model, inputs = Sequences().eval(), t.randn(4, 5, 3, 6)
    model.qconfig = q.get_default_qconfig("fbgemm")
    observed = q.prepare(model)
    assert type(observed.lstm) is quantizable.LSTM and type(observed.attention) is quantizable.MultiheadAttention
    wanted = [observed(each) for each in inputs]
    assert all(found.allclose(model(each), atol=1e-5) for found, each in zip(wanted, inputs, strict=True))
    made = q.convert(observed)
    assert type(made.lstm) is quantized.LSTM and type(made.attention) is quantized.MultiheadAttention
    assert (made(inputs[0]) - wanted[0]).abs().max() < 0.1 * wanted[0].abs().max()
    again, file = q.convert(q.prepare(model)), io.BytesIO()
    t.save(made.state_dict(), file)
    file.seek(0)
    again.load_state_dict(t.load(file))
    for each in again, copy.deepcopy(made), pickle.loads(pickle.dumps(made)):
        assert each(inputs[0]).equal(made(inputs[0]))


@pytest.mark.filterwarnings("ignore:must run observer")  # products with a number are not observed, as in torch
@pytest.mark.parametrize("options", [{}, {"kdim": 8, "vdim": 6}, {"bias": False}, {"add_bias_kv": True}])
def test_quantized_attention_goes_back_to_numbers(options):
    layer = nn.MultiheadAttention(8, 2, **options).eval()
    if layer.bias_k is not None:  # both are quantized by the range of the first, as in torch
        layer.bias_v = nn.Parameter(layer.bias_k.detach().flip(-1))
    layer.qconfig = q.get_default_qconfig("fbgemm")
    given = [t.randn(5, 3, size) for size in (8, options.get("kdim", 8), options.get("vdim", 8))]
    observed = quantizable.MultiheadAttention.from_float(layer)
    observed(*given)
    back = quantized.MultiheadAttention.from_observed(observed).dequantize()
    assert type(back) is nn.MultiheadAttention
    assert back(*given)[0].allclose(layer(*given)[0], atol=0.05)


def test_packed_parameters_are_read_by_the_name_of_their_class():
    weight = t.quantize_per_tensor(t.randn(3, 4), 0.1, 0, t.qint8)
    packed = t.ops.quantized.linear_prepack(weight, t.ones(3))
    assert packed._type() == "__torch__.torch.classes.quantized.LinearPackedParamsBase"
    for each in copy.copy(packed), copy.deepcopy(packed), pickle.loads(pickle.dumps(packed)):
        assert type(each) is t.quantized.LinearPackedParamsBase and isinstance(each, t.ScriptObject)
        assert each.weight().int_repr().equal(weight.int_repr()) and each.bias().equal(packed.bias())
    with pytest.raises(
        RuntimeError, match="no class of torch's is known by the name 'Other'\nHint: known are __torch__"
    ):
        t.ScriptObject().__setstate__(((), "Other"))
    for wrong in (), (weight,), 3, ("2", [], []):
        with pytest.raises(RuntimeError, match="is no known one"):
            t.ScriptObject().__setstate__((wrong, packed._type().replace("Linear", "Conv2d")))


def test_a_quantized_convolution_is_copied_and_pickled():
    layer = quantized.Conv2d(2, 4, 3, padding=1)
    layer.set_weight_bias(t.quantize_per_tensor(t.randn(4, 2, 3, 3), 0.1, 0, t.qint8), t.randn(4))
    layer.scale, layer.zero_point = 0.5, 3
    x = t.quantize_per_tensor(t.randn(1, 2, 5, 5), 0.1, 100, t.quint8)
    for each in copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)):
        assert repr(each) == repr(layer) and each(x).int_repr().equal(layer(x).int_repr())


def test_a_quantized_network_is_captured_and_follows_its_parameters():
    inputs = t.randn(3, 4, 1, 8, 8)
    model = quantize_network(inputs)
    captured = t.capture(model)
    wanted = captured(inputs[0])
    assert wanted.equal(model(inputs[0])) and captured(inputs[1]).equal(model(inputs[1]))
    last = model.module[4]
    for change in (
        lambda: model.quant.scale.mul_(2),
        lambda: model.load_state_dict(quantize_network(inputs * 3).state_dict()),
        lambda: setattr(last, "scale", last.scale * 2),
        lambda: last.set_weight_bias(last.weight(), last.bias() + 1),
    ):
        change()
        found = captured(inputs[0])
        assert found.equal(model(inputs[0])) and not found.equal(wanted)
        wanted = found


@pytest.mark.filterwarnings("ignore:must run observer")  # products with a number are not observed, as in torch
def test_quantized_layers_of_sequences_are_captured():
    model, inputs = Sequences().eval(), t.randn(2, 5, 3, 6)
    model.qconfig = q.get_default_qconfig("fbgemm")
    observed = q.prepare(model)
    observed(inputs[0])
    made = q.convert(observed)
    captured = t.capture(made)
    for each in inputs:
        assert captured(each).equal(made(each))
