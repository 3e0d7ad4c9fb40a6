"""Attention, transformers and embeddings beside torch's: values, gradients, names, layouts and refusals."""

import itertools
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


def copy(value):
    if not isinstance(value, torch.Tensor):
        return value
    found = torchlike.from_numpy(value.detach().numpy().copy())
    return found.requires_grad_() if value.requires_grad else found


def agree(wanted, found, *, strides=False):
    if wanted is None:
        assert found is None
        return
    assert tuple(wanted.shape) == tuple(found.shape) and (not strides or wanted.stride() == tuple(found.stride()))
    np.testing.assert_allclose(wanted.detach().numpy(), found.detach().numpy(), rtol=1e-9, atol=1e-12)


def make(name, *args, **options):
    """Return torch's module and ours with the same parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of transformers, about nested tensors
        module = getattr(torch.nn, name)(*args, **options).double()
        mine = getattr(torchlike.nn, name)(*args, **options).double()
    names = [name for name, _ in module.named_parameters()]
    assert names == [name for name, _ in mine.named_parameters()]
    mine.load_state_dict({key: copy(value) for key, value in module.state_dict().items()})
    return module, mine


def attend(t, *args, **kwargs):
    return t.nn.functional.scaled_dot_product_attention(*args, **kwargs)


def draw(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype)


MASKS = {
    "none": {},
    "causal": {"is_causal": True},
    "bool": {"attn_mask": torch.tensor([[True, False, True], [False] * 3, [True] * 3, [False, True, False]])},
    "float": {"attn_mask": torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)},
    "scale": {"scale": 0.3},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("batch", [(), (2,), (2, 4)])
def test_dot_product_attention_agrees(batch, mask):
    torch.manual_seed(0)
    tensors = [draw(*batch, rows, 5).requires_grad_() for rows in (4, 3, 3)]
    mine = [copy(each) for each in tensors]
    wanted = attend(torch, *tensors, **MASKS[mask])
    found = attend(torchlike, *mine, **{key: copy(value) for key, value in MASKS[mask].items()})
    agree(wanted, found, strides=True)
    (wanted * wanted).sum().backward()
    (found * found).sum().backward()
    for one, other in zip(tensors, mine, strict=True):
        agree(one.grad, other.grad)


def test_attention_lies_in_memory_as_the_query_and_repeats_heads():
    q, k = draw(2, 4, 6, 8).transpose(1, 2), draw(2, 4, 2, 8).transpose(1, 2)
    agree(attend(torch, q, q, q), attend(torchlike, copy(q), copy(q), copy(q)))
    found = attend(torchlike, *[copy(q.transpose(1, 2).contiguous()).transpose(1, 2)] * 3)
    assert tuple(found.stride()) == attend(torch, q, q, q).stride()
    agree(attend(torch, q, k, k, enable_gqa=True), attend(torchlike, copy(q), copy(k), copy(k), enable_gqa=True))


REFUSED = {
    "dtypes": lambda t, q: attend(t, q, q.float(), q),
    "mask": lambda t, q: attend(t, q, q, q, t.ones(3, 3).int()),
    "both": lambda t, q: attend(t, q, q, q, t.ones(3, 3), is_causal=True),
    "rank": lambda t, q: attend(t, q[0, 0], q[0, 0], q[0, 0]),
    "heads": lambda t, q: attend(t, q, q.repeat(2, 1, 1), q.repeat(2, 1, 1), enable_gqa=True),
    "dropout": lambda t, q: attend(t, q, q, q, dropout_p=2.0),
    "width": lambda t, q: t.nn.MultiheadAttention(7, 2),
    "queries": lambda t, q: t.nn.MultiheadAttention(4, 2)(t.zeros(4), t.zeros(4), t.zeros(4)),
    "attn_mask": lambda t, q: t.nn.MultiheadAttention(4, 2)(*[t.zeros(2, 1, 4)] * 3, attn_mask=t.zeros(3, 2)),
    "activation": lambda t, q: t.nn.TransformerEncoderLayer(4, 2, activation="sin"),
    "bag": lambda t, q: t.nn.functional.embedding_bag(t.zeros(3).long(), t.zeros(2, 2)),
    "mode": lambda t, q: t.nn.functional.embedding_bag(t.zeros(1, 3).long(), t.zeros(2, 2), mode="min"),
    "padding_idx": lambda t, q: t.nn.Embedding(3, 2, padding_idx=3),
    "pretrained": lambda t, q: t.nn.Embedding.from_pretrained(t.zeros(3)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_agree(case):
    q = draw(1, 3, 4)
    with pytest.raises(Exception) as wanted:  # the oracle's error is compared
        REFUSED[case](torch, q)
    with pytest.raises(type(wanted.value)) as found:
        REFUSED[case](torchlike, copy(q))
    assert str(wanted.value).replace("torch.", "torchlike.")[:50] in str(found.value)


HEADS = [
    {},
    {"batch_first": True},
    {"bias": False},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 6, "vdim": 4},
]


@pytest.mark.parametrize("options", HEADS, ids=str)
@pytest.mark.parametrize("weights", ["mean", "each", "none"])
def test_multi_head_attention_agrees(options, weights):
    torch.manual_seed(1)
    module, mine = make("MultiheadAttention", 8, 2, **options)
    query = draw(5, 3, 8)
    key, value = (query, query) if "kdim" not in options else (draw(5, 3, 6), draw(5, 3, 4))
    length, batch = (3, 5) if options.get("batch_first") else (5, 3)
    given = {"need_weights": weights != "none", "average_attn_weights": weights == "mean"}
    hidden = torch.zeros(batch, length, dtype=torch.bool)
    hidden[:, -1] = True
    for masks in (
        {},
        {"attn_mask": torch.ones(length, length).triu(1).bool()},
        {"key_padding_mask": hidden},
        {"attn_mask": draw(batch * 2, length, length), "key_padding_mask": draw(batch, length)},
    ):
        ours = copy(query)
        others = (ours, ours) if key is query else (copy(key), copy(value))
        wanted = module(query, key, value, **given, **masks)
        found = mine(ours, *others, **given, **{name: copy(mask) for name, mask in masks.items()})
        agree(wanted[0], found[0], strides=True)
        agree(wanted[1], found[1])


@pytest.mark.parametrize(
    ("batch_first", "norm_first", "activation"),
    list(itertools.product((True, False), (True, False), ("relu", "gelu")))[::2],
)
def test_transformers_agree(batch_first, norm_first, activation):
    torch.manual_seed(2)
    options = {"batch_first": batch_first, "norm_first": norm_first}
    module, mine = make("Transformer", 8, 2, 1, 1, 16, 0.0, activation, **options)
    assert repr(module) == repr(mine)
    source, target = draw(4, 4, 8), draw(4, 4, 8)
    mask, ours = (each.generate_square_subsequent_mask(4) for each in (module, mine))
    mask, ours = mask.double(), ours.double()
    agree(mask, ours)
    hidden = torch.zeros(4, 4, dtype=torch.bool)
    hidden[:, 3] = True
    wanted = module(source, target, tgt_mask=mask, src_key_padding_mask=hidden)
    found = mine(copy(source), copy(target), tgt_mask=ours, src_key_padding_mask=copy(hidden))
    agree(wanted, found)
    wanted.sum().backward()
    found.sum().backward()
    for one, other in zip(module.parameters(), mine.parameters(), strict=True):
        agree(one.grad, other.grad)
    module.eval()
    mine.eval()
    with torch.no_grad(), torchlike.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of nested tensors
        agree(
            module.encoder(source, src_key_padding_mask=hidden),
            mine.encoder(copy(source), src_key_padding_mask=copy(hidden)),
        )


BAGS = [
    {"mode": "sum"},
    {"mode": "mean"},
    {"mode": "mean", "padding_idx": 2},
    {"mode": "sum", "padding_idx": -1, "max_norm": 1.0},
    {"mode": "sum", "include_last_offset": True},
    {"mode": "max"},
    {"mode": "max", "padding_idx": 2},
]


@pytest.mark.parametrize("options", BAGS, ids=str)
def test_bags_of_embeddings_agree(options):
    torch.manual_seed(3)
    module, mine = make("EmbeddingBag", 5, 3, **options)
    assert repr(module) == repr(mine)
    indices, offsets = torch.tensor([0, 2, 2, 4, 1]), torch.tensor([0, 1, 1, 3, 5])
    for args in ((indices, offsets), (torch.tensor([[0, 2], [4, 4]]),)):
        wanted, found = module(*args), mine(*map(copy, args))
        agree(wanted, found)
        (wanted * wanted).sum().backward()
        (found * found).sum().backward()
    agree(module.weight.grad, mine.weight.grad)
    agree(module.weight, mine.weight)


@pytest.mark.parametrize(
    "options", [{}, {"padding_idx": -1}, {"max_norm": 0.5, "norm_type": 1.0}, {"scale_grad_by_freq": True}], ids=str
)
def test_embeddings_agree(options):
    torch.manual_seed(4)
    module, mine = make("Embedding", 5, 3, **options)
    assert repr(module) == repr(mine)
    indices = torch.tensor([[0, 4, 4], [2, 4, 0]])
    wanted, found = module(indices), mine(copy(indices))
    agree(wanted, found)
    (wanted * wanted).sum().backward()
    (found * found).sum().backward()
    agree(module.weight.grad, mine.weight.grad)
