"""The functions of attention as the simulator has them: layouts, sparse modes, shifts, and what they refuse by 161002."""

import numpy as np
import pytest

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import contiguous
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.aclnn.launch import launch
from dispatch_backend_npu.arrays import allocate_array, from_numpy, to_numpy

pytestmark = [
    pytest.mark.usefixtures("npu"),
    pytest.mark.no_pipeline(reason="calls no operator"),
]
BATCH, HEADS, SHARED, ROWS, COLUMNS, WIDTH = 2, 4, 2, 5, 7, 8
ALL = 2**31 - 1
TRIANGLE = np.triu(np.ones((2048, 2048), bool), 1)
LEAST = np.finfo(np.float32).min


def split(x, layout):
    """Return an array of batch, heads, rows, width in a layout."""
    if layout == "BNSD":
        return np.ascontiguousarray(x)
    turned = x.transpose((2, 0, 1, 3) if layout == "SBH" else (0, 2, 1, 3))
    return np.ascontiguousarray(turned if layout == "BSND" else turned.reshape(*turned.shape[:2], -1))


def draw(heads, rows, seed, width=WIDTH):
    return np.random.default_rng(seed).standard_normal((BATCH, heads, rows, width)).astype(np.float32)


QUERY, KEY, VALUE = draw(HEADS, ROWS, 0), draw(SHARED, COLUMNS, 1), draw(SHARED, COLUMNS, 2)


def run(q=QUERY, k=KEY, v=VALUE, layout="BNSD", changed_layout="", **changed):
    """Run both functions; return attention, the statistics, and the gradients of the sum of attention."""
    options = {
        "pse": None,
        "bits": None,
        "padding": None,
        "mask": None,
        "scale": 0.5,
        "keep": 1.0,
        "before": ALL,
        "after": ALL,
        "heads": HEADS,
        "layout": changed_layout or layout,
        "precise": 0,
        "mode": 0,
    } | changed
    given = [from_numpy(split(each, layout)) for each in (q, k, v)]
    for name in ("pse", "bits", "padding", "mask"):
        if options[name] is not None:
            options[name] = from_numpy(options[name])
    tensors = [options[name] for name in ("pse", "bits", "padding", "mask")]
    numbers = [options[name] for name in ("scale", "keep", "before", "after", "heads", "layout", "precise", "mode")]
    rows = contiguous((*q.shape[:3], 8), ScalarType.Float)
    largest, sums = allocate_array(rows), allocate_array(rows)
    out = allocate_array(contiguous(split(np.zeros((*q.shape[:3], v.shape[3]), q.dtype), layout).shape, given[0].dtype))
    launch("aclnnFlashAttentionScore", *given, *tensors, None, *numbers, largest, sums, None, out)
    ones = from_numpy(np.ones(out.spec.shape, q.dtype))
    grads = [allocate_array(contiguous(each.spec.shape, each.dtype)) for each in given]
    between = largest, sums, None, out
    launch("aclnnFlashAttentionScoreGrad", *given, ones, *tensors, *between, None, *numbers, *grads, None)
    return [to_numpy(each) for each in (out, largest, sums, *grads)]


def compute(hidden=None, pse=0.0, kept=1.0, scale=0.5, precise=False):
    """Return the same by NumPy, in double."""
    q = QUERY.astype(float)
    k, v = (np.repeat(each.astype(float), HEADS // SHARED, 1) for each in (KEY, VALUE))
    scores = scale * (q @ k.transpose(0, 1, 3, 2) + pse)
    if hidden is not None:
        scores = np.where(hidden, float(LEAST), scores)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    sums = weights.sum(-1, keepdims=True)
    if precise:
        sums = np.where(largest == LEAST, -float(LEAST), sums)
    weights = weights / sums
    used = weights * kept
    out = used @ v
    ones = np.ones_like(out)
    slope = ones @ v.transpose(0, 1, 3, 2) * kept
    by_scores = scale * weights * (slope - (ones * out).sum(-1, keepdims=True))

    def gather(x):
        return x.reshape(BATCH, SHARED, -1, *x.shape[2:]).sum(2)

    grads = by_scores @ k, gather(by_scores.transpose(0, 1, 3, 2) @ q), gather(used.transpose(0, 1, 3, 2) @ ones)
    return [out, *(np.broadcast_to(each, (*each.shape[:3], 8)) for each in (largest, sums)), *grads]


def check(found, wanted, layout="BNSD"):
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        shown = other if number in (1, 2) else split(other, layout)
        np.testing.assert_allclose(one, shown, rtol=2e-5, atol=2e-6)


FROM, TO = np.arange(ROWS)[:, None], np.arange(COLUMNS)
SHIFT = COLUMNS - ROWS
MODES = {
    "two dimensions": ({"mask": (FROM + TO) % 3 == 0}, (FROM + TO) % 3 == 0),
    "uint8": ({"mask": ((FROM + TO) % 3 == 0).astype(np.uint8), "mode": 1}, (FROM + TO) % 3 == 0),
    "causal": ({"mask": TO > FROM, "after": 0}, TO > FROM),
    "left": ({"mask": TRIANGLE, "mode": 2}, TO > FROM),
    "right": ({"mask": TRIANGLE, "mode": 3}, TO > FROM + SHIFT),
    "band": ({"mask": TRIANGLE, "mode": 4, "before": 2, "after": 1}, (TO > FROM + SHIFT + 1) | (TO < FROM + SHIFT - 2)),
}


@pytest.mark.of_functions
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("mode", MODES)
def test_layouts_and_modes(mode, layout):
    options, hidden = MODES[mode]
    check(run(layout=layout, **options), compute(hidden), layout)


@pytest.mark.of_functions
@pytest.mark.parametrize("shape", [(BATCH, HEADS), (BATCH, 1), (1, 1)])
def test_masks_of_four_dimensions(shape):
    mask = np.random.default_rng(5).random((*shape, ROWS, COLUMNS)) < 0.4
    check(run(mask=mask), compute(mask))


@pytest.mark.of_functions
@pytest.mark.parametrize("precise", [0, 2])
def test_a_row_without_scores_is_zeros_where_it_is_asked_for(precise):
    mask = np.zeros((ROWS, COLUMNS), bool)
    mask[1] = True
    found = run(mask=mask, precise=precise)
    check(found, compute(mask, precise=precise == 2))
    assert bool(np.any(found[0][:, :, 1])) is (precise == 0)


@pytest.mark.of_functions
@pytest.mark.parametrize("shape", [(BATCH, HEADS, ROWS), (BATCH, HEADS, 1), (1, HEADS, ROWS)])
def test_shifts_are_scaled_with_the_scores(shape):
    pse = np.random.default_rng(6).standard_normal((*shape, COLUMNS)).astype(np.float32)
    check(run(pse=pse), compute(pse=pse.astype(float)))


@pytest.mark.of_functions
def test_dropout_takes_bits():
    count = BATCH * HEADS * ROWS * COLUMNS
    drawn = np.random.default_rng(7).random(-(-count // 128) * 128) < 0.75
    bits = np.packbits(drawn, bitorder="little")
    kept = drawn[:count].reshape(BATCH, HEADS, ROWS, COLUMNS) / 0.75
    check(run(bits=bits, keep=0.75), compute(kept=kept))


WIDE = [draw(each, rows, 0, 769) for each, rows in ((HEADS, 1), (HEADS, 1), (HEADS, 1))]
REFUSED = {
    "a head of more than 768": lambda: run(*WIDE),
    "more than 256 heads": lambda: run(*[np.zeros((1, 257, 1, 1), np.float32)] * 3, heads=257),
    "another number of heads": lambda: run(heads=2),
    "heads that do not divide": lambda: run(k=draw(3, COLUMNS, 1), v=draw(3, COLUMNS, 2)),
    "different widths": lambda: run(k=draw(SHARED, COLUMNS, 1, 4)),
    "wider values": lambda: run(v=draw(SHARED, COLUMNS, 2, 9)),
    "different lengths": lambda: run(v=draw(SHARED, 6, 2)),
    "dimensions of another layout": lambda: run(changed_layout="BSH"),
    "another layout": lambda: run(changed_layout="NBSD"),
    "different dtypes": lambda: run(k=KEY.astype(np.float16)),
    "a mask of another shape": lambda: run(mask=np.zeros((ROWS, COLUMNS + 1), bool)),
    "a mask of three dimensions": lambda: run(mask=np.zeros((BATCH, ROWS, COLUMNS), bool)),
    "a mask of heads alone": lambda: run(mask=np.zeros((1, HEADS, ROWS, COLUMNS), bool)),
    "a compressed mask of another size": lambda: run(mask=TRIANGLE[:ROWS, :COLUMNS].copy(), mode=2),
    "shifts of another shape": lambda: run(pse=np.zeros((1, 1, ROWS, COLUMNS), np.float32)),
    "shifts of another dtype": lambda: run(pse=np.zeros((1, HEADS, ROWS, COLUMNS), np.float16)),
    "no bits": lambda: run(keep=0.5),
    "too few bits": lambda: run(keep=0.5, bits=np.zeros(16, np.uint8)),
    "nothing kept": lambda: run(keep=0.0, bits=np.zeros(48, np.uint8)),
    "a mask of padding": lambda: run(padding=np.zeros((ROWS, COLUMNS), np.float32)),
}


@pytest.mark.of_functions
@pytest.mark.parametrize("case", REFUSED)
def test_what_the_function_does_not_take_is_refused(case):
    with pytest.raises(AclError) as raised:
        REFUSED[case]()
    assert raised.value.code == 161002


@pytest.mark.of_functions
def test_values_may_be_narrower_than_keys():
    narrow = VALUE[..., :3].copy()
    out, _, _, _, _, by_value = run(v=narrow)
    wanted = compute()
    np.testing.assert_allclose(out, wanted[0][..., :3], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(by_value, wanted[5][..., :3], rtol=2e-5, atol=2e-6)


@pytest.mark.of_functions
def test_results_without_elements_take_no_work():
    found = run(*[each[:0] for each in (QUERY, KEY, VALUE)])
    assert [each.size for each in found] == [0] * 6
