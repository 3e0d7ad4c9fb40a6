"""Networks quantized in eager mode beside torch's: after training, in training, dynamically; integers and states."""

import numpy as np
import pytest
from quantized_models import (
    FUSED,
    both,
    draw,
    equal,
    equal_states,
    fill,
    integers_of,
    load_from_torch,
    make_digits,
    quantize_digits,
    text_of,
)

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's, that all of this has moved


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("backend", ["fbgemm", "qnnpack"])
def test_training_with_simulated_quantization_has_torchs_losses(backend, version):
    def program(t):
        q = t.ao.quantization
        model = fill(t, make_digits(t)).train()
        model = q.fuse_modules_qat(model, FUSED)
        model.qconfig = q.get_default_qat_qconfig(backend, version)
        q.prepare_qat(model, inplace=True)
        text = text_of(model)
        optimizer, losses = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), []
        for step in range(5):
            if step == 3:
                model.apply(q.disable_observer).apply(t.ao.nn.intrinsic.qat.freeze_bn_stats)
            x, target = draw(t, 12, 1, 8, 8, seed=step), t.arange(12) % 10
            loss = t.nn.functional.cross_entropy(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return model, losses, text

    (ours, our_losses, our_text), (theirs, their_losses, their_text) = both(program)
    # torch's square root is the nearest number but for a unit, which moves a few weights to another integer.
    np.testing.assert_allclose(our_losses, their_losses, rtol=5e-3)
    assert our_text == their_text
    assert [*ours.state_dict()] == [*theirs.state_dict()]


def test_networks_that_are_observed_have_torchs_ranges():
    def program(t):
        q = t.ao.quantization
        model = q.fuse_modules(fill(t, make_digits(t)).eval(), FUSED)
        model.qconfig = q.get_default_qconfig("fbgemm")
        q.prepare(model, inplace=True)
        for step in range(3):
            model(draw(t, 8, 1, 8, 8, seed=step))
        return model

    equal_states(*both(program))


def test_layers_trained_with_simulated_quantization_go_back_to_float():
    def program(t):
        q, nni, found = t.ao.quantization, t.ao.nn.intrinsic, []
        config = q.get_default_qat_qconfig("fbgemm")
        nn = t.nn
        for make in (
            lambda: nni.ConvBnReLU2d(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
            lambda: nni.ConvBn1d(nn.Conv1d(3, 4, 3, bias=False), nn.BatchNorm1d(4)),
            lambda: nni.LinearBn1d(nn.Linear(3, 4), nn.BatchNorm1d(4)),
            lambda: nni.ConvReLU2d(nn.Conv2d(3, 4, 3), nn.ReLU()),
            lambda: nni.LinearReLU(nn.Linear(3, 4), nn.ReLU()),
            lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1),
            lambda: nn.Linear(3, 4, bias=False),
        ):
            layer = fill(t, make()).train()
            shape = (5, 3) if "Linear" in str(layer) else (2, 3, 9) if "Conv1d" in str(layer) else (2, 3, 9, 9)
            for module in layer.modules():
                module.qconfig = config
            trained = q.get_default_qat_module_mappings()[type(layer)].from_float(layer)
            out = trained(draw(t, *shape))
            (out * draw(t, *out.shape, seed=5)).sum().backward()
            back = trained.to_float().eval()
            gradients = [value.grad for _, value in sorted(trained.named_parameters()) if value.grad is not None]
            found += [out, *gradients, *back.state_dict().values(), back(draw(t, *shape))]
        return found

    equal(*both(program))


def test_embeddings_are_trained_with_simulated_quantization():
    def program(t):
        q = t.ao.quantization
        model = fill(t, t.nn.Sequential(t.nn.Embedding(10, 12))).train()
        model.qconfig = q.default_embedding_qat_qconfig
        q.prepare_qat(model, mapping=q.get_embedding_qat_module_mappings(), inplace=True)
        out = model(t.tensor([[0, 3], [9, 9]]))
        out.sum().backward()
        return [out, model[0].weight.grad]

    equal(*both(program))


def test_fusion_refuses_what_torch_refuses():
    for make in (
        lambda t: t.ao.quantization.fuse_modules(t.nn.Sequential(t.nn.ReLU(), t.nn.ReLU()), ["0", "1"]),
        lambda t: t.ao.quantization.fuse_modules(
            t.nn.Sequential(t.nn.Conv2d(1, 2, 1), t.nn.BatchNorm2d(2)), ["0", "1"]
        ),
        lambda t: t.ao.quantization.fuse_modules_qat(
            t.nn.Sequential(t.nn.Conv2d(1, 2, 1), t.nn.BatchNorm2d(3)), ["0", "1"]
        ),
        lambda t: t.ao.quantization.prepare_qat(t.nn.Linear(2, 2).eval()),
        lambda t: t.ao.nn.intrinsic.LinearReLU(t.nn.ReLU(), t.nn.ReLU()),
        lambda t: t.ao.nn.qat.Linear(2, 2),
        lambda t: t.ao.quantization.quantize_dynamic(t.nn.Linear(2, 2), dtype=t.int8),
    ):
        errors = []
        for t in torchlike, torch:
            with pytest.raises(Exception) as caught:  # torch's class counts
                make(t)
            errors.append(caught.type)
        assert errors[0] is errors[1]


def test_a_network_quantized_after_training_is_torchs():
    ours, theirs = both(quantize_digits)
    assert text_of(ours) == text_of(theirs)
    equal_states(ours, theirs)


def test_torchs_quantized_network_is_loaded_and_computes_the_same_integers():
    ours, theirs = both(quantize_digits)
    load_from_torch(ours, theirs)
    (mine, our_integers), (yours, their_integers) = both(
        lambda t: integers_of(ours if t is torchlike else theirs, draw(t, 20, 1, 8, 8, seed=9))
    )
    assert our_integers.keys() == their_integers.keys() and len(their_integers) >= 6
    for name, integers in their_integers.items():
        np.testing.assert_array_equal(our_integers[name], integers, err_msg=name)
    np.testing.assert_array_equal(mine, yours)


def test_a_network_quantized_in_training_computes_torchs_integers():
    def program(t):
        q = t.ao.quantization
        model = q.fuse_modules_qat(fill(t, make_digits(t)).train(), FUSED)
        model.qconfig = q.get_default_qat_qconfig("fbgemm")
        q.prepare_qat(model, inplace=True)
        for step in range(2):
            model(draw(t, 8, 1, 8, 8, seed=step))
        return q.convert(model.eval())

    ours, theirs = both(program)
    assert text_of(ours) == text_of(theirs)
    load_from_torch(ours, theirs)
    (mine, our_integers), (yours, their_integers) = both(
        lambda t: integers_of(ours if t is torchlike else theirs, draw(t, 20, 1, 8, 8, seed=9))
    )
    for name, integers in their_integers.items():
        np.testing.assert_array_equal(our_integers[name], integers, err_msg=name)
    np.testing.assert_array_equal(mine, yours)


#: Name → a layer that is quantized after it was observed, and the shape of its input.
LAYERS = {
    "Linear": (lambda nn: nn.Linear(6, 4), (3, 6)),
    "Linear without bias": (lambda nn: nn.Linear(6, 4, bias=False), (2, 3, 6)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, padding=1, stride=2), (2, 4, 9)),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, 3, padding=1, groups=2, dilation=2), (2, 4, 9, 9)),
    "Conv2d, reflect": (lambda nn: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (2, 4, 9, 9)),
    "Conv3d": (lambda nn: nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)),
    "ReLU": (lambda nn: nn.ReLU(), (3, 6)),
    "ReLU6": (lambda nn: nn.ReLU6(), (3, 6)),
    "Hardswish": (lambda nn: nn.Hardswish(), (3, 6)),
    "ELU": (lambda nn: nn.ELU(0.7), (3, 6)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), (3, 6)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), (3, 6)),
    "Tanh": (lambda nn: nn.Tanh(), (3, 6)),
    "Dropout": (lambda nn: nn.Dropout(0.5), (3, 6)),
    "LayerNorm": (lambda nn: nn.LayerNorm(6), (3, 6)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 5)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(4, affine=True), (3, 4, 5, 5)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), (3, 4, 5, 5)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(2), (3, 2, 3, 3, 3)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), (3, 2, 6, 6)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d(1), (3, 2, 6, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_quantized_layers_compute_torchs_integers(name):
    make, shape = LAYERS[name]

    def program(t):
        q = t.ao.quantization
        layer = fill(t, t.nn.Sequential(make(t.nn)), seed=3)
        model = q.QuantWrapper(layer).eval()
        model.qconfig = q.get_default_qconfig("fbgemm")
        q.prepare(model, inplace=True)
        model(draw(t, *shape, low=-3.0, high=3.0))
        return q.convert(model)

    ours, theirs = both(program)
    assert text_of(ours) == text_of(theirs)
    equal_states(ours, theirs)
    load_from_torch(ours, theirs)
    (_, our_integers), (_, their_integers) = both(
        lambda t: integers_of(ours if t is torchlike else theirs, draw(t, *shape, seed=9, low=-3.0, high=3.0))
    )
    assert their_integers
    for key, integers in their_integers.items():
        np.testing.assert_array_equal(our_integers[key], integers, err_msg=key)


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
def test_linear_layers_quantized_dynamically_are_torchs(dtype):
    def program(t):
        nn = t.nn
        model = fill(t, nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4, bias=False))))
        made = t.ao.quantization.quantize_dynamic(model, dtype=getattr(t, dtype))
        return made, made(draw(t, 5, 20))

    (ours, our_result), (theirs, their_result) = both(program)
    assert text_of(ours) == text_of(theirs)
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    np.testing.assert_allclose(our_result.detach().numpy(), their_result.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}])
def test_recurrent_layers_quantized_dynamically_are_torchs(kind, options, dtype):
    def program(t):
        model = fill(t, t.nn.ModuleDict({"layer": getattr(t.nn, kind)(6, 8, **options)}))
        made = t.ao.quantization.quantize_dynamic(model, dtype=getattr(t, dtype))
        layer, x = made["layer"], draw(t, 5, 3, 6)
        out, state = layer(x)
        again, _ = layer(x, state) if not options.get("batch_first") else layer(x)
        lengths = t.tensor([2, 4, 1])
        data = draw(t, 4, 3, 6, seed=7)
        packed = t.nn.utils.rnn.pack_padded_sequence(data, lengths, enforce_sorted=False)
        of_packed, last = layer(packed)
        padded, _ = t.nn.utils.rnn.pad_packed_sequence(of_packed)
        flat = [*(state if kind == "LSTM" else [state]), *(last if kind == "LSTM" else [last])]
        return made, [out, again, padded, *flat]

    (ours, our_results), (theirs, their_results) = both(program)
    assert text_of(ours) == text_of(theirs)
    equal_states(ours, theirs)
    for mine, yours in zip(our_results, their_results, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), yours.detach().numpy(), rtol=2e-3, atol=2e-3)
    equal(list(ours["layer"].get_weight().values()), list(theirs["layer"].get_weight().values()))


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_recurrent_steps_quantized_dynamically_are_torchs(kind):
    def program(t):
        made = t.ao.quantization.quantize_dynamic(fill(t, t.nn.Sequential(getattr(t.nn, kind)(6, 8))))
        state = made[0](draw(t, 3, 6))
        state = made[0](draw(t, 3, 6, seed=4), state)
        return made, list(state) if kind == "LSTMCell" else [state]

    (ours, our_results), (theirs, their_results) = both(program)
    assert text_of(ours) == text_of(theirs)
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    for mine, yours in zip(our_results, their_results, strict=True):
        np.testing.assert_allclose(mine.numpy(), yours.numpy(), rtol=1e-4, atol=1e-4)


def test_embeddings_quantized_are_torchs():
    def program(t):
        model = t.nn.ModuleDict({"rows": t.nn.Embedding(10, 12), "bags": t.nn.EmbeddingBag(10, 12, mode="sum")})
        made = t.ao.quantization.quantize_dynamic(fill(t, model), dtype=t.quint8)
        indices, offsets = t.tensor([1, 2, 4, 5, 4, 3]), t.tensor([0, 2])
        return made, [made["rows"](indices), made["bags"](indices, offsets)]

    (ours, our_results), (theirs, their_results) = both(program)
    assert text_of(ours) == text_of(theirs)
    equal_states(ours, theirs)
    equal(our_results, their_results)


def make_block(t):
    """Return a transformer block whose products are quantized: attention of two heads by functional modules."""

    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            nn, functional = t.nn, t.ao.nn.quantized.FloatFunctional
            self.quant, self.dequant = t.ao.quantization.QuantStub(), t.ao.quantization.DeQuantStub()
            self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
            self.up, self.relu, self.down = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)
            self.scores, self.mixed, self.add1, self.add2 = (functional() for _ in range(4))
            self.probabilities = t.ao.quantization.QuantStub()

        def heads(self, x):
            return x.reshape(x.shape[0], x.shape[1], 2, 8).permute(0, 2, 1, 3)

        def forward(self, x):
            x = self.quant(x)
            y = self.norm1(x)
            query, key, value = (self.heads(each(y)) for each in (self.query, self.key, self.value))
            scores = self.scores.matmul(query, key.transpose(-2, -1))
            weights = self.probabilities(t.softmax(self.dequant(scores) / 8**0.5, -1))
            mixed = self.mixed.matmul(weights, value).permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[1], 16)
            x = self.add1.add(x, self.out(mixed))
            return self.dequant(self.add2.add(x, self.down(self.relu(self.up(self.norm2(x))))))

    return Block()


def test_a_quantized_transformer_block_computes_torchs_integers():
    def program(t):
        q = t.ao.quantization
        model = q.fuse_modules(fill(t, make_block(t)).eval(), [["up", "relu"]])
        model.qconfig = q.get_default_qconfig("fbgemm")
        q.prepare(model, inplace=True)
        for step in range(3):
            model(draw(t, 4, 5, 16, seed=step))
        return q.convert(model)

    ours, theirs = both(program)
    assert text_of(ours) == text_of(theirs)
    load_from_torch(ours, theirs)
    (mine, our_integers), (yours, their_integers) = both(
        lambda t: integers_of(ours if t is torchlike else theirs, draw(t, 4, 5, 16, seed=9))
    )
    for name, integers in their_integers.items():
        np.testing.assert_array_equal(our_integers[name], integers, err_msg=name)
    np.testing.assert_allclose(mine, yours, rtol=1e-6)


def test_the_linear_layers_of_an_encoder_are_quantized_dynamically():
    def program(t):
        layer = t.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        made = t.ao.quantization.quantize_dynamic(fill(t, layer).eval(), {t.nn.Linear})
        # In evaluation torch asks the weights, which are methods now, for their device.
        return made, made.train()(draw(t, 3, 5, 16))

    (ours, our_result), (theirs, their_result) = both(program)
    assert text_of(ours) == text_of(theirs)
    np.testing.assert_allclose(our_result.detach().numpy(), their_result.detach().numpy(), rtol=1e-3, atol=1e-3)


def test_a_file_of_torchs_quantized_network_is_loaded(tmp_path):
    ours, theirs = both(quantize_digits)
    torch.save(theirs.state_dict(), tmp_path / "digits.pt")
    found = ours.load_state_dict(torchlike.load(tmp_path / "digits.pt"))
    assert not found.missing_keys and not found.unexpected_keys
    equal_states(ours, theirs)
    torchlike.save(ours.state_dict(), tmp_path / "ours.pt")
    theirs.load_state_dict(torch.load(tmp_path / "ours.pt", weights_only=False))
    (mine, _), (yours, _) = both(
        lambda t: integers_of(ours if t is torchlike else theirs, draw(t, 20, 1, 8, 8, seed=9))
    )
    np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"])
def test_convolutions_quantized_dynamically_are_torchs(kind):
    def program(t):
        dims, dynamic = int(kind[-2]), t.ao.nn.quantized.dynamic
        layer = fill(t, getattr(t.nn, kind)(3, 4, 3, padding=1))
        layer.qconfig = t.ao.quantization.default_dynamic_qconfig
        made = getattr(dynamic, kind).from_float(layer)
        return made, made(draw(t, 2, 3, *[6] * dims))

    (ours, our_result), (theirs, their_result) = both(program)
    equal_states(ours, theirs)
    np.testing.assert_allclose(our_result.detach().numpy(), their_result.detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name", ["upsample", "avg_pool2d", "max_pool2d", "hardtanh", "clamp", "linear", "conv2d", "leaky_relu"]
)
def test_functions_of_integers_are_torchs(name):
    arguments = {
        "upsample": {"scale_factor": 2},
        "avg_pool2d": {"kernel_size": 2},
        "max_pool2d": {"kernel_size": 2},
        "hardtanh": {"min_val": -0.5, "max_val": 0.5},
        "clamp": {"min_": -0.5, "max_": 0.5},
        "leaky_relu": {"negative_slope": 0.1, "scale": 0.0213, "zero_point": 30},
    }

    def program(t):
        functional = t.ao.nn.quantized.functional
        x = t.quantize_per_tensor(draw(t, 2, 3, 4, 4), 0.02, 60, t.quint8)
        if name in ("linear", "conv2d"):
            shape = (5, 4) if name == "linear" else (5, 3, 2, 2)
            weight = t.quantize_per_tensor(draw(t, *shape, seed=2), 0.01, 0, t.qint8)
            return getattr(functional, name)(x, weight, draw(t, 5, seed=3), scale=0.05, zero_point=20)
        return getattr(functional, name)(x, **arguments[name])

    equal(*both(program))


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "config", ["default_dynamic_qconfig", "per_channel_dynamic_qconfig", "float16_dynamic_qconfig"]
)
@pytest.mark.parametrize(
    "special", [[INF], [-INF], [NAN], [INF, -INF], [INF, NAN], [-INF, NAN], [3e38, -3e38], [1e-40]]
)
def test_infinities_and_nan_in_the_input_of_dynamic_layers_are_torchs(special, config):
    def program(t, at):
        model = fill(t, t.nn.Sequential(t.nn.Linear(6, 5)), seed=2)
        made = t.ao.quantization.quantize_dynamic(model, {t.nn.Linear: getattr(t.ao.quantization, config)})
        x = draw(t, 2, 3, 6, low=-0.9)
        x.view(-1)[at : at + len(special)] = t.tensor(special)
        try:
            return made(x)
        except RuntimeError:
            return RuntimeError

    for at in (0, 1, 7):
        ours, theirs = both(lambda t, at=at: program(t, at))
        if theirs is RuntimeError:
            assert ours is theirs
        else:
            equal(ours, theirs)


def test_dynamic_layers_refuse_other_numbers():
    for dtype in "qint8", "float16":
        for wrong in "float64", "int64", "float16":
            for t in torchlike, torch:
                made = t.ao.quantization.quantize_dynamic(t.nn.Sequential(t.nn.Linear(3, 2)), dtype=getattr(t, dtype))
                with pytest.raises(RuntimeError, match="expected scalar type Float but found"):
                    made(t.ones(2, 3, dtype=getattr(t, wrong)))
