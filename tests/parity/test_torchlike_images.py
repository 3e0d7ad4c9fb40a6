"""Layers of images against torch's: text, state, values and gradients; and what is refused, in torch's words."""

import itertools

import numpy as np
import pytest
from comparison import attempt

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import torch.nn.functional as theirs  # noqa: E402  # after the skip

import torchlike  # noqa: E402
import torchlike.nn.functional as ours  # noqa: E402

LAYERS = [
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1}, (2, 4, 9)),
    ("Conv2d", (4, 6, 3), {"groups": 2, "bias": False, "padding": "same"}, (2, 4, 7, 7)),
    ("Conv2d", (4, 6, (3, 2)), {"padding": (1, 2), "padding_mode": "reflect", "dilation": 2}, (2, 4, 9, 9)),
    ("Conv2d", (4, 6, 3), {"padding": "same", "padding_mode": "circular"}, (4, 9, 9)),
    ("Conv3d", (2, 3, 2), {}, (1, 2, 4, 4, 4)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, (2, 4, 9)),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "groups": 2, "dilation": 2}, (2, 4, 5, 5)),
    ("ConvTranspose3d", (2, 3, 2), {}, (1, 2, 4, 4, 4)),
    ("LazyConv2d", (6, 3, 2), {}, (2, 4, 9, 9)),
    ("LazyConvTranspose1d", (6, 3), {"stride": 2, "bias": False}, (2, 4, 9)),
    ("AdaptiveAvgPool2d", ((None, 3),), {}, (2, 4, 8, 8)),
    ("Fold", ((4, 5), (2, 2)), {}, (1, 12, 12)),
    ("Unfold", ((2, 3),), {"stride": 2}, (2, 4, 8, 8)),
    ("Upsample", (), {"scale_factor": (2, 1.5), "mode": "bilinear", "align_corners": True}, (1, 2, 4, 4)),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, (1, 2, 4, 4)),
    ("UpsamplingBilinear2d", (7,), {}, (1, 2, 4, 4)),
    ("PixelShuffle", (2,), {}, (1, 4, 3, 3)),
    ("PixelUnshuffle", (2,), {}, (1, 4, 4, 4)),
    ("ChannelShuffle", (2,), {}, (1, 4, 3, 3)),
    *(
        (f"{kind}{count}d", args, kwargs, (2, 4, *[8] * count))
        for count in (1, 2, 3)
        for kind, args, kwargs in (
            ("MaxPool", (3, 2, 1), {"ceil_mode": True}),
            ("AvgPool", (3, 2, 1), {"count_include_pad": False}),
            ("LPPool", (2, 3), {}),
            ("AdaptiveMaxPool", (3,), {}),
            ("AdaptiveAvgPool", (3,), {}),
            ("ZeroPad", (1,), {}),
            ("ConstantPad", (1, 2.5), {}),
            ("ReflectionPad", (1,), {}),
            ("ReplicationPad", (2,), {}),
            ("CircularPad", (2,), {}),
        )
    ),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS)
@pytest.mark.filterwarnings("ignore:Lazy modules:UserWarning")
def test_a_layer_is_torchs(name, args, kwargs, shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    seen = []
    for library in (torch, torchlike):
        library.manual_seed(5)
        layer = getattr(library.nn, name)(*args, **kwargs)
        first = repr(layer)
        given = library.tensor(values, requires_grad=True)
        made = layer(given)
        (made * made).sum().backward()
        states = {key: value.detach().numpy() for key, value in layer.state_dict().items()}
        grads = [each.grad.numpy() for each in (given, *layer.parameters())]
        seen.append((first, repr(layer), states, [made.detach().numpy(), *grads]))
    assert seen[0][:2] == seen[1][:2]
    assert list(seen[0][2]) == list(seen[1][2])
    for expected, found in zip(seen[0][2].values(), seen[1][2].values(), strict=True):
        np.testing.assert_array_equal(found, expected)
    for expected, found in zip(seen[0][3], seen[1][3], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def draw(library, *shape):
    return library.tensor(np.random.default_rng(1).standard_normal(shape))


REFUSED = [
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3)),
    lambda f, x: f.conv2d(x(2, 4), x(3, 2, 3, 3)),
    lambda f, x: f.conv2d(x(1, 4, 4, 4), x(3, 2, 3, 3)),
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3, 3), groups=2),
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3, 3), x(4)),
    lambda f, x: f.conv2d(x(1, 2, 2, 4), x(3, 2, 3, 3)),
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3, 3), stride=0),
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3, 3), padding=-1),
    lambda f, x: f.conv2d(x(1, 2, 4, 4), x(3, 2, 3, 3), padding="same", stride=2),
    lambda f, x: f.conv_transpose2d(x(1, 3, 2, 4), x(3, 2, 3, 3), output_padding=1),
    lambda f, x: f.conv_transpose2d(x(1, 3, 2, 4), x(3, 2, 3, 3), padding=5),
    lambda f, x: f.max_pool2d(x(2, 4), 2),
    lambda f, x: f.max_pool2d(x(1, 2, 4, 4), 2, 1, 2),
    lambda f, x: f.max_pool2d(x(1, 2, 4, 4), 5),
    lambda f, x: f.avg_pool2d(x(1, 2, 4, 4), 2, divisor_override=0),
    lambda f, x: f.adaptive_avg_pool2d(x(2, 0, 4), 2),
    lambda f, x: f.pad(x(2, 3), [3, 1], "reflect"),
    lambda f, x: f.pad(x(2, 3), [1, 1, 1, 1], "reflect"),
    lambda f, x: f.pad(x(2, 3), [4, 1], "circular"),
    lambda f, x: f.pad(x(2, 3), [1]),
    lambda f, x: f.interpolate(x(1, 2, 4, 4), 3, mode="linear"),
    lambda f, x: f.interpolate(x(1, 2, 4, 4), 3, 2.0),
    lambda f, x: f.interpolate(x(1, 2, 4, 4)),
    lambda f, x: f.interpolate(x(1, 2, 4, 4), (3, 3, 3)),
    lambda f, x: f.grid_sample(x(2, 3, 4, 4), x(1, 3, 3, 2), align_corners=False),
    lambda f, x: f.grid_sample(x(2, 3, 4, 4), x(2, 3, 3, 3), align_corners=False),
    lambda f, x: f.fold(x(1, 12, 11), (4, 5), 2),
    lambda f, x: f.unfold(x(1, 2, 2, 2), 3),
    lambda f, x: f.pixel_shuffle(x(3, 4, 4), 2),
    lambda f, x: f.channel_shuffle(x(1, 3, 4), 2),
]


@pytest.mark.parametrize("call", REFUSED)
def test_a_refusal_is_torchs(call):
    expected = attempt(call, theirs, lambda *shape: draw(torch, *shape))[1]
    found = attempt(call, ours, lambda *shape: draw(torchlike, *shape))[1]
    assert isinstance(found, type(expected))
    text = str(expected).splitlines()[0]
    assert str(found).startswith(text[:60]), (str(found), text)


@pytest.mark.parametrize(
    ("mode", "smooth"), [("bilinear", True), ("bicubic", True), ("bicubic", False), ("area", False)]
)
def test_interpolated_images_are_torchs(mode, smooth):
    for size, image in itertools.product(((3, 9), (7, 4)), ((1, 2, 6, 5), (2, 1, 4, 4))):
        expected = theirs.interpolate(draw(torch, *image), size, mode=mode, antialias=smooth)
        found = ours.interpolate(draw(torchlike, *image), size, mode=mode, antialias=smooth)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


def test_the_channels_stay_innermost():
    last = {library: library.channels_last for library in (torch, torchlike)}
    strides = []
    for library, f in ((torch, theirs), (torchlike, ours)):
        x = library.ones(2, 3, 6, 6).contiguous(memory_format=last[library])
        made = [f.conv2d(x, library.ones(4, 3, 3, 3)), f.max_pool2d(x, 2), f.avg_pool2d(x, 2), f.pad(x, [1, 1])]
        made += [f.interpolate(x, scale_factor=2), f.adaptive_avg_pool2d(x, 1), f.pixel_unshuffle(x, 2)]
        strides.append([each.stride() for each in made])
    assert strides[0] == strides[1]
