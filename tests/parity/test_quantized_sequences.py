"""LSTM and attention observed by parts and converted, beside torch's: texts, states, integers."""

import numpy as np
import pytest
from quantized_models import both, draw, equal, equal_states, fill, load_from_torch, text_of

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's, that all of this has moved

RECURRENT = {
    "plain": {},
    "two layers": {"num_layers": 2},
    "both ways": {"num_layers": 2, "bidirectional": True, "batch_first": True},
    "without bias": {"bias": False},
}


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("options", RECURRENT.values(), ids=RECURRENT)
def test_an_lstm_is_observed_and_computes_torchs_integers(options, trained):
    def observe(t):
        q = t.ao.quantization
        model = fill(t, t.nn.ModuleDict({"layer": t.nn.LSTM(6, 8, **options)})).train(trained)
        model.qconfig = q.get_default_qat_qconfig("fbgemm") if trained else q.get_default_qconfig("fbgemm")
        (q.prepare_qat if trained else q.prepare)(model, inplace=True)
        return model, model["layer"](draw(t, 5, 3, 6))

    (ours, our_result), (theirs, their_result) = both(observe)
    assert text_of(ours) == text_of(theirs)
    if not trained:
        equal_states(ours, theirs)
        equal(our_result, their_result)
    ours, theirs = both(lambda t: t.ao.quantization.convert((ours if t is torchlike else theirs).eval()))
    assert text_of(ours) == text_of(theirs)
    load_from_torch(ours, theirs)

    def run(t):
        layer = (ours if t is torchlike else theirs)["layer"]
        x = t.quantize_per_tensor(draw(t, 5, 3, 6, seed=8), 0.01, 128, t.quint8)
        found, state = layer(x)
        return [found, state, *([] if options.get("batch_first") else layer(x, state))]

    equal(*both(run))


@pytest.mark.parametrize("split_gates", [False, True])
def test_a_step_of_an_lstm_is_made_of_parts(split_gates):
    def program(t):
        q, quantizable = t.ao.quantization, t.ao.nn.quantizable
        cell = fill(t, t.nn.LSTMCell(6, 8))
        cell.qconfig = q.get_default_qconfig("fbgemm")
        made = quantizable.LSTMCell.from_float(cell, split_gates=split_gates).eval()
        q.prepare(made, inplace=True)
        first = made(draw(t, 3, 6))
        again = made(draw(t, 3, 6, seed=5), first)
        made = q.convert(made)
        x = t.quantize_per_tensor(draw(t, 3, 6, seed=8), 0.01, 128, t.quint8)
        return made, [first, again, made(x)[0].dequantize().shape]

    (ours, our_results), (theirs, their_results) = both(program)
    assert text_of(ours) == text_of(theirs)
    equal(our_results[:2], their_results[:2])
    load_from_torch(ours, theirs)
    equal(
        *both(
            lambda t: (ours if t is torchlike else theirs)(
                t.quantize_per_tensor(draw(t, 3, 6, seed=8), 0.01, 128, t.quint8)
            )
        )
    )


def make_attention(t, options):
    class Attention(t.nn.Module):
        def __init__(self):
            super().__init__()
            q = t.ao.quantization
            self.stubs = t.nn.ModuleList([q.QuantStub() for _ in range(3)])
            self.layer, self.dequant = t.nn.MultiheadAttention(8, 2, **options), q.DeQuantStub()

        def forward(self, tensors, **given):
            found = self.layer(*(stub(x) for stub, x in zip(self.stubs, tensors, strict=True)), **given)
            return [None if each is None else self.dequant(each) for each in found]

    return Attention()


def draw_inputs(t, options, seed):
    sizes = (4, 8), (5, options.get("kdim", 8)), (5, options.get("vdim", 8))
    return [
        draw(t, *((3, length, size) if options.get("batch_first") else (length, 3, size)), seed=seed + at)
        for at, (length, size) in enumerate(sizes)
    ]


ATTENTION = {
    "plain": {},
    "batch first": {"batch_first": True},
    "other sizes": {"kdim": 6, "vdim": 4},
    "without bias": {"bias": False},
    "zeros": {"add_zero_attn": True},
    "bias of keys": {"add_bias_kv": True},
}
MASKS = {
    "all": lambda t: {},
    "no weights": lambda t: {"need_weights": False},
    "mask": lambda t: {"average_attn_weights": False, "attn_mask": t.tensor(np.triu(np.ones((4, 5)), 2) > 0)},
    "padding": lambda t: {"key_padding_mask": t.tensor(np.arange(5) > [[2], [4], [3]]), "attn_mask": draw(t, 6, 4, 5)},
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("options", ATTENTION.values(), ids=ATTENTION)
def test_attention_is_observed_and_computes_torchs_integers(options, masks):
    def observe(t):
        q = t.ao.quantization
        model = fill(t, make_attention(t, options)).eval()
        model.qconfig = q.get_default_qconfig("fbgemm")
        q.prepare(model, inplace=True)
        return model, [each for each in model(draw_inputs(t, options, 1), **masks(t)) if each is not None]

    (ours, our_result), (theirs, their_result) = both(observe)
    assert text_of(ours) == text_of(theirs)
    equal(our_result, their_result)
    ours, theirs = both(lambda t: t.ao.quantization.convert(ours if t is torchlike else theirs))
    assert text_of(ours) == text_of(theirs)
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    load_from_torch(ours, theirs)
    found = both(lambda t: (ours if t is torchlike else theirs)(draw_inputs(t, options, 9), **masks(t)))
    equal(*([each for each in one if each is not None] for one in found))


def test_layers_by_parts_refuse_what_torch_refuses():
    def observed(t, layer):
        layer.qconfig = t.ao.quantization.get_default_qconfig("fbgemm")
        return layer

    x = [(2, 2, 8)] * 3
    for make in (
        lambda t: t.ao.nn.quantizable.LSTM(2, 2, dropout=2),
        lambda t: t.ao.nn.quantizable.LSTM.from_float(t.nn.Linear(2, 2)),
        lambda t: t.ao.nn.quantizable.LSTM.from_float(t.nn.LSTM(2, 2)),
        lambda t: t.ao.nn.quantizable.LSTM.from_observed(t.nn.LSTM(2, 2)),
        lambda t: t.ao.nn.quantizable.LSTMCell.from_float(t.nn.LSTMCell(2, 2)),
        lambda t: t.ao.nn.quantizable.LSTMCell.from_params(t.ones(8, 2), t.ones(8, 2), t.ones(8)),
        lambda t: t.ao.nn.quantized.LSTM.from_float(t.nn.LSTM(2, 2)),
        lambda t: t.ao.nn.quantized.LSTM.from_observed(t.nn.LSTM(2, 2)),
        lambda t: t.ao.nn.quantizable.MultiheadAttention.from_float(t.nn.MultiheadAttention(8, 2)),
        lambda t: t.ao.nn.quantized.MultiheadAttention.from_float(t.nn.MultiheadAttention(8, 2)),
        lambda t: t.ao.nn.quantizable.MultiheadAttention(8, 2)(*(t.ones(each) for each in x), is_causal=True),
        lambda t: t.ao.nn.quantizable.MultiheadAttention(8, 2)(t.ones(2, 2, 6), t.ones(2, 2, 8), t.ones(2, 2, 8)),
        lambda t: t.ao.nn.quantizable.MultiheadAttention(8, 2)(*(t.ones(each) for each in x), attn_mask=t.zeros(3, 3)),
        lambda t: t.ao.nn.quantizable.MultiheadAttention(8, 2)(
            *(t.ones(each) for each in x), attn_mask=t.zeros(2, 2, dtype=t.int64)
        ),
        lambda t: t.ao.nn.quantizable.MultiheadAttention(8, 2)(
            *(t.ones(each) for each in x), key_padding_mask=t.zeros(2, 3) > 0
        ),
        lambda t: t.ao.quantization.prepare(t.nn.ModuleDict({"gru": observed(t, t.nn.GRU(8, 2))}))["gru"](t.ones(2, 8)),
    ):
        errors = []
        for t in torchlike, torch:
            with pytest.raises(Exception) as caught:  # torch's class counts
                make(t)
            errors.append(caught.type)
        assert errors[0] is errors[1]
