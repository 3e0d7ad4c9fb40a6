"""``torchlike.onnx.export``: files that ONNX Runtime runs, beside the values of eager calls."""

import numpy as np
import pytest

import torchlike
from torchlike import nn
from torchlike.nn import functional as F

pytest.importorskip("onnx", reason="the extra onnx is not installed")
pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

import onnx

from torchlike.onnx import OnnxExporterError, UnsupportedOperatorError, export, inputs, program

VECTORS, IMAGES, WORDS = (2, 5, 16), (2, 3, 8, 8), None
_ACTIVATIONS = """
ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh Sigmoid Tanh Softplus Softsign Tanhshrink
Softshrink Hardshrink LogSigmoid GLU PReLU
"""
MODULES = {
    **{name: (getattr(nn, name), VECTORS) for name in _ACTIVATIONS.split()},
    "tanh gelu": (lambda: nn.GELU("tanh"), VECTORS),
    "threshold": (lambda: nn.Threshold(0.1, 2.0), VECTORS),
    "softmax": (lambda: nn.Softmax(-1), VECTORS),
    "log softmax": (lambda: nn.LogSoftmax(1), VECTORS),
    "conv": (lambda: nn.Conv2d(3, 6, 3, stride=2, padding=1, groups=3), IMAGES),
    "transposed conv": (lambda: nn.ConvTranspose2d(3, 6, 3, stride=2, padding=1, output_padding=1), IMAGES),
    "same conv": (lambda: nn.Conv2d(3, 4, 3, padding="same", dilation=2), IMAGES),
    "circular conv": (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), IMAGES),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(5, 8, 3), nn.MaxPool1d(2), nn.AvgPool1d(2)), VECTORS),
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1), IMAGES),
    "average pool": (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), IMAGES),
    "global pool": (lambda: nn.AdaptiveAvgPool2d(1), IMAGES),
    "adaptive pool": (lambda: nn.AdaptiveAvgPool2d((2, 4)), IMAGES),
    "adaptive max pool": (lambda: nn.AdaptiveMaxPool2d(2), IMAGES),
    "batch norm": (lambda: nn.BatchNorm2d(3), IMAGES),
    "plain batch norm": (lambda: nn.BatchNorm2d(3, affine=False), IMAGES),
    "batch norm without state": (lambda: nn.BatchNorm2d(3, track_running_stats=False), IMAGES),
    "instance norm": (lambda: nn.InstanceNorm2d(3, affine=True), IMAGES),
    "group norm": (lambda: nn.GroupNorm(3, 3), IMAGES),
    "layer norm": (lambda: nn.LayerNorm(16), VECTORS),
    "plain layer norm": (lambda: nn.LayerNorm((5, 16), elementwise_affine=False), VECTORS),
    "rms norm": (lambda: nn.RMSNorm(16), VECTORS),
    "local norm": (lambda: nn.LocalResponseNorm(2), IMAGES),
    "nearest": (lambda: nn.Upsample(scale_factor=2), IMAGES),
    "bilinear": (lambda: nn.Upsample(size=(5, 5), mode="bilinear"), IMAGES),
    "aligned": (lambda: nn.Upsample(size=(5, 13), mode="bilinear", align_corners=True), IMAGES),
    "bicubic": (lambda: nn.Upsample(scale_factor=2, mode="bicubic"), IMAGES),
    "shuffle": (lambda: nn.Sequential(nn.Conv2d(3, 8, 1), nn.PixelShuffle(2)), IMAGES),
    "zero pad": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), IMAGES),
    "reflection": (lambda: nn.ReflectionPad2d(1), IMAGES),
    "replication": (lambda: nn.ReplicationPad2d((2, 1, 1, 0)), IMAGES),
    "dropout": (lambda: nn.Dropout(0.5), VECTORS),
    "flatten": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(80, 3), nn.Unflatten(1, (3, 1))), VECTORS),
    "linear": (lambda: nn.Linear(16, 4, bias=False), VECTORS),
    "embedding": (lambda: nn.Embedding(10, 4), WORDS),
    "lstm": (lambda: nn.LSTM(16, 8, 2, batch_first=True, bidirectional=True), VECTORS),
    "lstm without bias": (lambda: nn.LSTM(16, 8, bias=False), VECTORS),
    "gru": (lambda: nn.GRU(16, 8), VECTORS),
    "rnn": (lambda: nn.RNN(16, 8), VECTORS),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2), VECTORS),
    "pre-norm encoder": (lambda: nn.TransformerEncoderLayer(16, 2, 32, norm_first=True, activation="gelu"), VECTORS),
    "convolutional": (
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 5)),
        ),
        IMAGES,
    ),
    "perceptron": (lambda: nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)), VECTORS),
}


def _write(a):
    b = a.clone()
    b[:, 0] = 0.5
    b[b > 0.5] = -1.0
    b[:, 1:3, ::4] += 2
    b[[0, 1], [2, 3]] = 7.0
    return b


def _divide(n):
    return (
        n // 3,
        n % 3,
        n // -4,
        n % -4,
        torchlike.div(n, 3),
        torchlike.div(n, 3, rounding_mode="trunc"),
        n & 6,
        ~n,
        n + True,
    )


def _scatter(a):
    index = torchlike.tensor([[[0, 1, 2]], [[2, 2, 4]]])
    return a.scatter(1, index, 1.0), a.scatter_add(1, index, a), a.scatter(1, index, a * 2)


MASK = torchlike.ones(5, 5).tril().bool()
FUNCTIONS = {
    "cat": lambda a: torchlike.cat([a, a.long()], 1),
    "stack": lambda a: torchlike.stack([a, a], -1),
    "split": lambda a: torchlike.split(a, 2, 1),
    "chunk": lambda a: a.chunk(3, -1),
    "mean": lambda a: (a.mean(), a.mean((1, 2)), a.mean(-1, keepdim=True), (a * 9).long().sum(), a.prod(-1)),
    "var": lambda a: (a.var(-1), a.std((1, 2), correction=0), a.std()),
    "max": lambda a: (a.max(-1), a.min(1), a.amax(1), a.argmax(-1), a.argmin(), a.max()),
    "topk": lambda a: (a.topk(2), a.sort(descending=True), a.argsort()),
    "cumsum": lambda a: (a.cumsum(1), (a > 0.5).cumsum(0)),
    "norm": lambda a: (a.norm(), F.normalize(a), a.norm(1, -1), a.norm(3, 1), a.norm(float("inf"), 1)),
    "where": lambda a: (torchlike.where(a > 0.5, a, 0.0), a.masked_fill(a > 0.5, -1e9)),
    "clamp": lambda a: (a.clamp(0.2, 0.7), a.clamp_min(0.2), a.clamp(max=0.3), torchlike.maximum(a, a * 0.5)),
    "gather": lambda a: (
        a.gather(1, torchlike.tensor([[[0, 1]], [[2, 3]]])),
        a.index_select(1, torchlike.tensor([2, 0])),
    ),
    "index": lambda a: (a[:, [0, 2]], a[:, 1:3, ::2], a[[0, 1], [2, 3]], a[..., -1], a[:, None], a[1]),
    "mask": lambda a: a[a > 0.5],
    "fill": lambda a: a.clone().index_fill_(1, torchlike.tensor([0, 3]), 2.0),
    "write": _write,
    "einsum": lambda a: (torchlike.einsum("bij,bkj->bik", a, a), a @ a.transpose(1, 2), a[0] @ a[1].T, a[0] @ a[0, 0]),
    "products": lambda a: (
        torchlike.outer(a[0, 0], a[0, 1]),
        torchlike.baddbmm(a[:, :, :5], a, a.mT, beta=0.5, alpha=2),
    ),
    "triangles": lambda a: (a.tril(), a.triu(1), torchlike.diagonal(a[0]), torchlike.diagonal(a, 1, 1, 2)),
    "made": lambda a: (
        a[0, 0] + torchlike.arange(16) + torchlike.full((16,), 2.0) + torchlike.eye(16)[3] + torchlike.ones(1)
    ),
    "repeat": lambda a: (a.repeat(1, 2, 1), a.repeat(2, 1, 1, 1), a[:, :1].expand(2, 3, 16), a.repeat_interleave(2, 1)),
    "order": lambda a: (
        a.flip(1),
        a.flip(0, 2),
        a.roll(1, 1),
        a.roll(3),
        a.movedim(0, 1),
        a.permute(2, 0, 1).reshape(16, -1),
    ),
    "pad": lambda a: F.pad(a, (1, 2, 0, 1), value=3.0),
    "powers": lambda a: a**2 + a**0.5 + 2**a + a.rsqrt() + a.log1p() + a.expm1() + a.exp() - a.sqrt().reciprocal(),
    "trigonometry": lambda a: (
        a.sin() + a.cos() * a.tan() - a.asin() / a.atan() + a.sinh() + a.erf() + a.log() + a.log2()
    ),
    "whole numbers": lambda a: _divide((a * 20).long() - 10),
    "remainders": lambda a: (
        torchlike.fmod(a - 0.5, 0.3),
        (a - 0.5) % 0.3,
        torchlike.div(a - 0.5, 0.1, rounding_mode="trunc"),
    ),
    "logic": lambda a: ((a > 0.5) & (a < 0.7)) | (~(a > 0.2) ^ (a >= 0.1)) | (a == 0.5) | (a != a),
    "any": lambda a: ((a > 0.9).any(-1), (a > 0.1).all(), (a > 0.1).all(1, keepdim=True), a.logsumexp(-1)),
    "softmax": lambda a: (a.softmax(-1), a.log_softmax(0), F.softmin(a, 1)),
    "casts": lambda a: (a.double() * 2, a.long() + 0.5, a.bool(), (a * 3).to(torchlike.int32), a.half().float()),
    "scatter": _scatter,
    "attention": lambda a: F.scaled_dot_product_attention(a[:, None], a[:, None], a[:, None]),
    "causal": lambda a: F.scaled_dot_product_attention(a[:, None], a[:, None], a[:, None], is_causal=True),
    "masked attention": lambda a: F.scaled_dot_product_attention(a[:, None], a[:, None], a[:, None], attn_mask=MASK),
    "sums": lambda a: (
        torchlike.addcmul(a, a, a, value=0.5) + torchlike.lerp(a, a * 2, 0.3) + torchlike.addcdiv(a, a, a + 1)
    ),
    "interpolate": lambda a: F.interpolate(a[None], scale_factor=2.0, mode="nearest"),
    "nonzero": lambda a: (a > 0.5).nonzero(),
    "unfold": lambda a: a.unfold(1, 3, 2),
    "nan": lambda a: torchlike.nan_to_num(torchlike.log(a - 0.5), nan=0.5, neginf=-3.0),
    "scalars": lambda a: 1 - a / 3 + 2 * a - torchlike.sub(a, a, alpha=3) + a.unsqueeze(0).squeeze(),
}


def compare(model, arguments, made, *others):
    """Compare the eager results with those of a file, for the arguments and others."""
    for each in (arguments, *others):
        wanted = model(*each)
        found = made(*each)
        flat = [tensor for _, tensor in inputs.flatten({"output": wanted}) if isinstance(tensor, torchlike.Tensor)]
        assert len(found) == len(flat)
        for one, other in zip(found, flat, strict=True):
            array = other.detach().numpy()
            assert one.dtype == array.dtype and one.shape == array.shape
            np.testing.assert_allclose(one, array, rtol=1e-4, atol=1e-5, equal_nan=True)


def draw(shape, batch=None):
    if shape is WORDS:
        return torchlike.randint(0, 10, (batch or 2, 5))
    return torchlike.rand(batch or shape[0], *shape[1:])


@pytest.mark.parametrize("name", MODULES)
def test_a_layer_gives_the_same_values(name):
    torchlike.manual_seed(0)
    make, shape = MODULES[name]
    model = make().eval()
    for each in model.buffers():
        each.data = torchlike.rand_like(each) + 0.5 if each.is_floating_point() else each
    x = draw(shape)
    compare(model, (x,), export(model, (x,)))


#: Without a batch, or with one time step after another.
NO_BATCH = {"lstm without bias", "gru", "rnn", "batch norm without state", "pre-norm encoder"}


@pytest.mark.parametrize("name", sorted(MODULES.keys() - NO_BATCH))
def test_a_layer_takes_other_batches(name):
    torchlike.manual_seed(0)
    make, shape = MODULES[name]
    model = make().eval()
    x = draw(shape)
    made = export(model, x, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    assert made.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    compare(model, (x,), made, (draw(shape, 1),), (draw(shape, 7),))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_same_values(name):
    torchlike.manual_seed(1)
    a = draw(VECTORS)
    compare(FUNCTIONS[name], (a,), export(FUNCTIONS[name], (a,)))


def test_two_dimensions_depend_on_the_input():
    torchlike.manual_seed(0)

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(10, 16), nn.Embedding(50, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
            self.head = nn.Linear(16, 3)

        def forward(self, words, mask=None):
            count = words.shape[1]
            x = self.words(words) + self.places(torchlike.arange(count))
            causal = torchlike.ones(count, count).tril()
            x = self.layer(x, src_key_padding_mask=mask) * causal.sum(-1)[None, :, None] / count
            return {"tags": self.head(x), "pooled": x.mean(1), "pairs": x @ x.mT, "flat": x.reshape(-1, 16)}

    model = Tagger().eval()
    dims = {"words": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    words, mask = draw(WORDS), torchlike.rand(2, 5) > 0.9
    for options in ({"dynamic_axes": dims}, {"dynamic_shapes": (dims["words"], dims["mask"])}):
        made = export(model, (words, mask), **options)
        others = [(torchlike.randint(0, 10, (b, n)), torchlike.rand(b, n) > 0.9) for b, n in ((1, 7), (3, 2), (4, 11))]
        compare(model, (words, mask), made, *others)
    assert [each.name for each in made.model_proto.graph.output] == [
        f"output_{x}" for x in ("tags", "pooled", "pairs", "flat")
    ]


def test_parameters_keep_their_names_and_shared_ones_are_there_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
            self.head.weight = self.embedding.weight
            self.register_buffer("scale", torchlike.tensor([2.0]))

        def forward(self, x):
            return self.head(self.embedding(x)) * self.scale

    model = Tied()
    made = export(model, (draw(WORDS),))
    names = [each.name for each in made.model_proto.graph.initializer if "." in each.name or each.name == "scale"]
    assert names == ["embedding.weight", "scale"]
    assert model.training
    compare(model, (draw(WORDS),), made)


def test_operators_without_a_node_are_named_all_at_once():
    def model(x):
        return torchlike.special.bessel_j0(x) + torchlike.linalg.det(x) + torchlike.polygamma(1, x)

    with pytest.raises(UnsupportedOperatorError, match=r"special_bessel_j0.*linalg_det.*polygamma"):
        export(model, (torchlike.rand(3, 3),))


def test_what_is_the_same_for_all_inputs_is_computed_at_the_export():
    def model(x):
        table = torchlike.special.bessel_j0(torchlike.arange(4).float().detach().view(2, 2)[1])
        return x * table[0] + torchlike.tensor([float("nan"), 1.0]).nan_to_num() * len(x)

    x = torchlike.rand(3, 2)
    made = export(model, (x,), dynamic_axes={"x": {0: "n"}})
    compare(model, (x,), made, (torchlike.rand(7, 2),))
    assert {node.op_type for node in made.model_proto.graph.node}.isdisjoint({"Range", "IsNaN"})


class Grown(nn.Module):
    def forward(self, x):
        for _ in range(x.shape[0]):
            x = x + 1
        return x


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torchlike.zeros(1))

    def forward(self, x):
        self.count += 1
        return x * self.count


@pytest.mark.parametrize(
    ("model", "options", "text"),
    [
        (Grown(), {"dynamic_axes": {"x": {0: "n"}}}, "graph depends on a dynamic dimension: it has"),
        (
            lambda x: x.relu() if len(x) < 3 else x.exp(),
            {"dynamic_axes": {"x": [0]}},
            "there is aten::relu, then aten::exp",
        ),
        (lambda x: x * len(x) ** 2, {"dynamic_axes": {"x": [0]}}, r"the number 4, 9, 25 follows no dynamic dimension"),
        (
            lambda x: x + torchlike.special.bessel_j0(torchlike.arange(len(x)).float()),
            {"dynamic_axes": {"x": [0]}},
            "no node in ONNX here: aten::special_bessel_j0",
        ),
        (
            lambda x: x * torchlike.special.bessel_j0(torchlike.full((1,), len(x), dtype=torchlike.float32)),
            {"dynamic_axes": {"x": [0]}},
            "no node in ONNX here: aten::special_bessel_j0",
        ),
        (lambda x: x + torchlike.tensor(len(x)), {"dynamic_axes": {"x": [0]}}, "made of Python.s or NumPy.s numbers"),
        (
            lambda x: x + torchlike.tensor(list(range(len(x)))),
            {"dynamic_axes": {"x": [0]}},
            "made of Python.s or NumPy.s numbers",
        ),
        (lambda x: x + torchlike.as_tensor(np.arange(len(x))), {"dynamic_axes": {"x": [0]}}, "use arange or full"),
        (Counted(), {}, "the model writes to a tensor that was there before, by aten::copy_"),
        (lambda x: x + torchlike.rand(2), {}, "draws random numbers, by aten::rand"),
        (lambda x: 3, {}, "returns no tensor, but int"),
        (lambda x: x + 1, {"dynamic_axes": {"y": [0]}}, None),
        (lambda x: x + 1, {"opset_version": 11}, "operators of version 18"),
        (lambda x: x + 1, {"input_names": ["a", "b"]}, "2 input_names for 1 tensors: x"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_no_graph_is_refused_by_name(model, options, text):
    x = torchlike.ones(2)
    if text is None:
        export(model, (x,), **options)  # an output may be meant
        return
    with pytest.raises(OnnxExporterError, match=text):
        export(model, (x,), **options)


def test_files_are_written_and_large_ones_in_two(tmp_path, monkeypatch):
    model = nn.Linear(30, 40)
    x = torchlike.rand(2, 30)
    export(model, (x,), tmp_path / "small.onnx", input_names=["x"], output_names=["y"])
    read = onnx.load(tmp_path / "small.onnx")
    assert (read.graph.input[0].name, read.graph.output[0].name) == ("x", "y") and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(program, "MOST_BYTES", 1000)
    export(model, (x,), tmp_path / "large.onnx")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["large.onnx", "large.onnx.data", "small.onnx"]
    compare(model, (x,), program.ONNXProgram(onnx.load(tmp_path / "large.onnx")))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(read.graph.initializer[0]), model.weight.detach().numpy())


def test_arguments_may_be_nested_and_named():
    def model(pair, *, scale, many=None):
        return pair[0] @ pair[1]["right"] * scale + many[0]

    a, b, c = torchlike.rand(2, 3), torchlike.rand(3, 4), torchlike.rand(1)
    made = export(model, ((a, {"right": b}),), kwargs={"scale": 2.0, "many": [c]})
    assert [each.name for each in made.model_proto.graph.input] == ["pair_0", "pair_1_right", "many_0"]
    np.testing.assert_allclose(made(a, b, c)[0], model((a, {"right": b}), scale=2.0, many=[c]).numpy(), rtol=1e-5)
