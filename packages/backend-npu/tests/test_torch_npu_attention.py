"""``npu_fusion_attention`` against the formula in NumPy: layouts, masks, groups of heads, gradients, refusals."""

import itertools

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_torch_npu import NotServedError, npu_fusion_attention

pytestmark = pytest.mark.usefixtures("npu")
TRIANGLE = np.triu(np.ones((2048, 2048), bool), 1)
#: Layout → what turns batch, heads, positions, features into it.
LAYOUTS = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(0, 2, 1, 3),
    "BSH": lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    "SBH": lambda x: x.transpose(2, 0, 1, 3).reshape(x.shape[2], x.shape[0], -1),
}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def attend(q, k, v, scale, hidden=None):
    """Return attention, the largest score of each row, and the sum of the exponentials, in double."""
    k, v = (np.repeat(each, q.shape[1] // each.shape[1], 1).astype(float) for each in (k, v))
    scores = q.astype(float) @ k.transpose(0, 1, 3, 2) * scale
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    return weights / total @ v, largest, total


def to_npu(*arrays):
    return [torchlike.from_numpy(np.ascontiguousarray(each)).to("npu") for each in arrays]


def check(found, wanted):
    np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("layout", "heads"), [*itertools.product(LAYOUTS, (4, 2, 1))])
def test_layouts_and_groups_of_heads(layout, heads):
    q, k, v = draw(2, 4, 5, 8), draw(2, heads, 7, 8, seed=1), draw(2, heads, 7, 8, seed=2)
    wanted, largest, total = attend(q, k, v, 0.3)
    arguments = to_npu(*map(LAYOUTS[layout], (q, k, v)))
    found = npu_fusion_attention(*arguments, 4, layout, scale=0.3)
    check(found[0], LAYOUTS[layout](wanted))
    assert found[0].is_npu and found[0].is_contiguous()
    check(found[1], np.broadcast_to(largest, (2, 4, 5, 8)))
    check(found[2], np.broadcast_to(total, (2, 4, 5, 8)))
    assert found[1].dtype is found[2].dtype is torchlike.float32
    assert found[3].numel() == 0 and found[4:] == (0, 0, 2 * 4 * 5 * 7)


ROWS, COLUMNS = np.arange(5)[:, None], np.arange(7)
MODES = {
    (0, 100, 100): None,
    (1, 0, 0): None,
    (2, 100, 100): COLUMNS > ROWS,
    (3, 100, 100): COLUMNS > ROWS + 2,
    (4, 2, 1): (COLUMNS > ROWS + 2 + 1) | (COLUMNS < ROWS + 2 - 2),
    (4, 1, 0): (COLUMNS > ROWS + 2) | (COLUMNS < ROWS + 2 - 1),
}


@pytest.mark.parametrize("case", MODES, ids=str)
def test_masks_of_the_modes(case):
    mode, before, after = case
    q, k, v = draw(2, 4, 5, 8), draw(2, 4, 7, 8, seed=1), draw(2, 4, 7, 8, seed=2)
    mask = draw(2, 1, 5, 7, seed=3) > 0.8 if mode < 2 else TRIANGLE
    wanted, largest, total = attend(q, k, v, 0.5, mask if mode < 2 else MODES[case])
    for dtype in (bool, np.uint8):
        found = npu_fusion_attention(
            *to_npu(q, k, v),
            4,
            "BNSD",
            atten_mask=to_npu(mask.astype(dtype))[0],
            scale=0.5,
            sparse_mode=mode,
            pre_tockens=before,
            next_tockens=after,
        )
        check(found[0], wanted)
        check(found[1][..., :1], largest)
        check(found[2][..., :1], total)


def test_without_a_mask_the_mode_has_no_effect():
    q = draw(1, 2, 3, 4)
    found = npu_fusion_attention(*to_npu(q, q, q), 2, "BNSD", sparse_mode=4, pre_tockens=0, next_tockens=0)
    check(found[0], attend(q, q, q, 1.0)[0])


def test_gradients_are_those_of_differences():
    arrays = [draw(1, 2, 3, 4), draw(1, 1, 3, 4, seed=1), draw(1, 1, 3, 4, seed=2)]
    tensors = [each.requires_grad_() for each in to_npu(*arrays)]
    mask = to_npu(TRIANGLE)[0]
    npu_fusion_attention(*tensors, 2, "BNSD", atten_mask=mask, scale=0.5, sparse_mode=2)[0].square().sum().backward()

    def total(*values):
        return (attend(*values, 0.5, ROWS[:3] < COLUMNS[:3])[0] ** 2).sum()

    for number, tensor in enumerate(tensors):
        for place in [(0, 0, 0, 1), (0, 0, 2, 3)]:
            step = np.zeros(arrays[number].shape)
            step[place] = 1e-4
            higher, lower = (
                [each + (number == at) * sign * step for at, each in enumerate(arrays)] for sign in (1, -1)
            )
            wanted = (total(*higher) - total(*lower)) / 2e-4
            np.testing.assert_allclose(tensor.grad.cpu().numpy()[place], wanted, rtol=1e-4, atol=1e-5)


def test_dropout_keeps_a_share_of_the_weights():
    torchlike.manual_seed(0)
    ones = torchlike.ones(1, 4, 32, 32, device="npu")
    eye = torchlike.eye(32, device="npu").expand(1, 4, 32, 32)
    found = npu_fusion_attention(ones, ones, eye, 4, "BNSD", keep_prob=0.75)
    kept = found[0] != 0
    assert 0.7 < kept.float().mean().item() < 0.8
    check(found[0][kept], np.full(int(kept.sum()), 1 / 32 / 0.75))
    assert found[6] == 4 * 32 * 32


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline draws later")
def test_seed_and_offset_are_those_of_the_draw():
    x = torchlike.ones(1, 2, 8, 16, device="npu")
    torchlike.npu.manual_seed(7)
    torchlike.rand(10, device="npu")
    found = npu_fusion_attention(x, x, x, 2, "BNSD", keep_prob=0.5)
    assert found[4:] == (7, 12, 2 * 8 * 8)
    assert npu_fusion_attention(x, x, x, 2, "BNSD", keep_prob=0.5)[5] == 12 + 2 * 8 * 8


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", [0, 2, 3])
def test_the_device_has_a_function_for_it_and_its_gradient(layout, mode, simulator):
    arrays = [LAYOUTS[layout](draw(2, 4, 5, 8, seed=number)) for number in range(3)]
    tensors = [each.requires_grad_() for each in to_npu(*arrays)]
    mask = to_npu(TRIANGLE)[0] if mode else None

    def run():
        return npu_fusion_attention(*tensors, 4, layout, atten_mask=mask, scale=0.5, sparse_mode=mode)

    ones = torchlike.ones_like(run()[0])
    torchlike.npu.synchronize()
    simulator.reset()
    torchlike.autograd.grad(run()[0], tensors, ones)
    calls = [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]
    assert calls == [
        "aclnnFlashAttentionScore",
        "aclnnFlashAttentionScoreGrad",
    ]


def test_statistics_are_right_in_pipelines_and_transforms():
    x = draw(2, 2, 5, 8)
    _, largest, total = attend(x, x, x, 0.5)
    (tensor,) = to_npu(x)
    with dc.pipeline():
        found = npu_fusion_attention(tensor, tensor, tensor, 2, "BNSD", scale=0.5)
        check(found[1][..., :1], largest)
        check(found[2][..., :1], total)
    rows = torchlike.vmap(lambda q: npu_fusion_attention(q, q, q, 2, "BNSD", scale=0.5)[:3])(tensor.unsqueeze(1))
    check(rows[1][:, 0, ..., :1], largest)
    captured = torchlike.capture(lambda: npu_fusion_attention(tensor, tensor, tensor, 2, "BNSD", scale=0.5)[:3])
    for _ in range(3):
        check(captured()[2][..., :1], total)


def test_autocast_calls_it_in_16_bits():
    (q,) = to_npu(draw(1, 2, 3, 4))
    with torchlike.autocast("npu", torchlike.float16):
        found = npu_fusion_attention(q, q.half(), q, 2, "BNSD")
    assert found[0].dtype is torchlike.float16
    np.testing.assert_allclose(found[0].float().cpu().numpy(), attend(*[q.cpu().numpy()] * 3, 1.0)[0], atol=0.02)


def test_half_precision_keeps_its_dtype():
    q = to_npu(draw(1, 2, 3, 4).astype(np.float16))[0]
    found = npu_fusion_attention(q, q, q, 2, "BNSD")
    assert found[0].dtype is torchlike.float16 and found[1].dtype is torchlike.float32


@pytest.mark.parametrize(
    "argument",
    [
        {"pse": 0},
        {"padding_mask": 0},
        {"prefix": [1]},
        {"actual_seq_qlen": [1]},
        {"actual_seq_kvlen": [1]},
        {"softmax_layout": "TND"},
        {"sink": 0},
        {"dropout_mask": 0},
        {"seed": 1},
        {"offset": 1},
        {"sparse_mode": 5},
        {"sparse_mode": 8},
    ],
    ids=str,
)
def test_what_is_not_computed_is_refused_by_name(argument):
    q = torchlike.ones(1, 2, 3, 4)
    name = "seed" if "offset" in argument else next(iter(argument))
    with pytest.raises(NotServedError, match=rf"npu_fusion_attention\({name}=.*\) is not served: .*\nHint: "):
        npu_fusion_attention(q, q, q, 2, "BNSD", **argument)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda q: npu_fusion_attention(q, q, q, 2, "NBSD"), "input_layout is 'NBSD'; it is one of 'BNSD'"),
        (lambda q: npu_fusion_attention(q, q, q, 2, "BSH"), "query has 4 dimensions; in the layout BSH it has 3"),
        (lambda q: npu_fusion_attention(q, q, q, 4, "BNSD"), "query has 2 heads in the layout BNSD, and head_num is 4"),
        (lambda q: npu_fusion_attention(q[0], q[0], q[0], 3, "BSH"), "4, is not divisible by its 3 heads"),
        (lambda q: npu_fusion_attention(q, q[:, [0, 0, 0]], q, 2, "BNSD"), "not a multiple of the 3 heads of key"),
        (lambda q: npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0), "keep_prob is 0; it is above 0"),
        (
            lambda q: npu_fusion_attention(q, q, q, 2, "BNSD", atten_mask=torchlike.ones(3, 3), sparse_mode=2),
            "in sparse_mode 2 it is the compressed one, 2048 x 2048\nHint: ",
        ),
        (
            lambda q: npu_fusion_attention(q, q, q, 2, "BNSD", atten_mask=torchlike.ones(2048, 2048)),
            r"in sparse_mode 0 its last dimensions are those of the scores, \(3, 3\)\nHint: ",
        ),
    ],
)
def test_shapes_that_cannot_be(call, text):
    with pytest.raises(ValueError, match=text):
        call(torchlike.ones(1, 2, 3, 4))


def test_the_layout_of_packed_sequences_is_refused():
    with pytest.raises(NotServedError, match=r"input_layout='TND'\) is not served"):
        npu_fusion_attention(*[torchlike.ones(3, 2, 4)] * 3, 2, "TND")
