"""Observers and configurations of `torchlike.ao.quantization` beside torch's: ranges, scales, zero points and states."""

import warnings

import numpy as np
import pytest
from test_fake_quantization import compare

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's, that all of this has moved

SYMMETRIC = "per_tensor_symmetric"
#: Name → a function that makes an observer.
OBSERVERS = {
    "min max": lambda t, q: q.MinMaxObserver(),
    "min max, symmetric": lambda t, q: q.MinMaxObserver(dtype=t.qint8, qscheme=t.per_tensor_symmetric),
    "min max, symmetric bytes": lambda t, q: q.MinMaxObserver(qscheme=t.per_tensor_symmetric),
    "min max, own range": lambda t, q: q.MinMaxObserver(quant_min=0, quant_max=127),
    "min max, own symmetric range": lambda t, q: q.MinMaxObserver(
        qscheme=t.per_tensor_symmetric, quant_min=0, quant_max=127
    ),
    "min max, halved": lambda t, q: q.MinMaxObserver(reduce_range=True),
    "min max, 32 bits": lambda t, q: q.MinMaxObserver(dtype=t.qint32),
    "min max, 16 bits": lambda t, q: q.MinMaxObserver(dtype=t.int16),
    "moving": lambda t, q: q.MovingAverageMinMaxObserver(averaging_constant=0.1),
    "moving, symmetric": lambda t, q: q.MovingAverageMinMaxObserver(dtype=t.qint8, qscheme=t.per_tensor_symmetric),
    "channels": lambda t, q: q.PerChannelMinMaxObserver(),
    "channels, last": lambda t, q: q.PerChannelMinMaxObserver(ch_axis=1, dtype=t.qint8),
    "channels, symmetric": lambda t, q: q.default_per_channel_weight_observer(),
    "channels, floats": lambda t, q: q.default_float_qparams_observer(),
    "channels, without least": lambda t, q: q.per_channel_weight_observer_range_neg_127_to_127(),
    "moving channels": lambda t, q: q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.3, dtype=t.qint8),
    "histogram": lambda t, q: q.HistogramObserver(),
    "histogram, halved": lambda t, q: q.HistogramObserver(reduce_range=True),
    "histogram, symmetric": lambda t, q: q.HistogramObserver(bins=256, dtype=t.qint8, qscheme=t.per_tensor_symmetric),
    "fixed": lambda t, q: q.default_fixed_qparams_range_neg1to1_observer(),
    "fake": lambda t, q: q.default_fake_quant(),
    "fake, weights": lambda t, q: q.default_weight_fake_quant(),
    "fake, channels": lambda t, q: q.default_per_channel_weight_fake_quant(),
    "fake, fused": lambda t, q: q.default_fused_act_fake_quant(),
    "fake, fused channels": lambda t, q: q.default_fused_per_channel_wt_fake_quant(),
    "fake, fixed": lambda t, q: q.default_affine_fixed_qparams_fake_quant(),
    "fake, dynamic": lambda t, q: q.default_dynamic_fake_quant(),
    "fake, embedding": lambda t, q: q.default_embedding_fake_quant(),
    "fake, histogram": lambda t, q: q.default_histogram_fake_quant(),
}


def tensors_of(t, seed, shape=(4, 6), steps=3, kind="normal"):
    rng = np.random.default_rng(seed)
    for step in range(steps):
        array = rng.normal(size=shape) * (1 + step) if kind == "normal" else rng.exponential(size=shape) * (1 + step)
        yield t.tensor(array.astype("float32"))


@pytest.mark.parametrize("name", OBSERVERS)
def test_observers_find_torchs_scales_and_zero_points(name):
    for seed in range(6):

        def call(t, seed=seed):
            observer = OBSERVERS[name](t, t.ao.quantization)
            found = []
            for x in tensors_of(t, seed, kind="normal" if seed % 2 else "exponential"):
                found += [observer(x), *observer.calculate_qparams()]
            return [*found, *observer.state_dict().values()]

        compare(call)
    ours, theirs = (OBSERVERS[name](t, t.ao.quantization) for t in (torchlike, torch))
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    assert {key: each["version"] for key, each in ours.state_dict()._metadata.items()} == {
        key: each["version"] for key, each in theirs.state_dict()._metadata.items()
    }
    for attribute in "dtype", "qscheme", "quant_min", "quant_max", "is_dynamic", "ch_axis", "reduce_range":
        mine, yours = getattr(ours, attribute, None), getattr(theirs, attribute, None)
        assert str(mine).rpartition(".")[2] == str(yours).rpartition(".")[2]


def test_histograms_of_many_calls_give_torchs_range():
    compared = 0
    for seed in range(40):
        shape = [(300,), (16, 33), (2, 3, 8, 8), (1,)][seed % 4]
        kind = "normal" if seed % 3 else "exponential"
        found = []
        for t in torchlike, torch:
            observer = t.ao.quantization.HistogramObserver(reduce_range=seed % 2 == 0)
            for x in tensors_of(t, seed, shape, 5, kind):
                observer(t.relu(x) if seed % 5 == 0 else x)
            scale, zero_point = observer.calculate_qparams()
            found.append((scale.item(), zero_point.item(), observer.histogram.numpy().copy()))
        np.testing.assert_array_equal(found[0][2], found[1][2])
        compared += found[0][:2] == found[1][:2]
    assert compared == 40


def test_observers_refuse_what_torchs_refuse():
    for call in (
        lambda t: t.ao.quantization.MinMaxObserver(qscheme=t.per_channel_affine),
        lambda t: t.ao.quantization.PerChannelMinMaxObserver(qscheme=t.per_tensor_affine),
        lambda t: t.ao.quantization.PerChannelMinMaxObserver(is_dynamic=True),
        lambda t: t.ao.quantization.HistogramObserver(is_dynamic=True),
        lambda t: t.ao.quantization.MovingAverageMinMaxObserver(is_dynamic=True),
        lambda t: t.ao.quantization.MinMaxObserver(dtype=t.float32),
        lambda t: t.ao.quantization.MinMaxObserver(quant_min=1, quant_max=7),
        lambda t: t.ao.quantization.MinMaxObserver(quant_min=0, quant_max=300, dtype=t.qint8),
        lambda t: t.ao.quantization.MinMaxObserver(qscheme=t.per_tensor_symmetric, reduce_range=True),
        lambda t: t.ao.quantization.ObserverBase(t.quint8),
        lambda t: t.ao.quantization.PlaceholderObserver().calculate_qparams(),
        lambda t: t.ao.quantization.FakeQuantize(quant_min=3, quant_max=1),
        lambda t: t.ao.quantization.FakeQuantize(quant_min=0, quant_max=300),
        lambda t: t.ao.quantization.QConfig(t.ao.quantization.MinMaxObserver(), None),
        lambda t: t.ao.quantization.get_default_qconfig("nothing"),
        lambda t: t.ao.quantization.get_default_qat_qconfig("x86", 7),
    ):
        compare(call)


def test_observers_that_saw_nothing_give_one_and_zero_with_a_warning():
    def call(t):
        found = []
        for name in "MinMaxObserver", "PerChannelMinMaxObserver", "HistogramObserver":
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found += getattr(t.ao.quantization, name)().calculate_qparams()
            assert any("must run observer" in str(each.message) for each in caught)
        return found

    compare(call)


def test_state_goes_into_another_observer():
    for make in OBSERVERS["channels"], OBSERVERS["histogram"], OBSERVERS["fake, channels"], OBSERVERS["fake, fused"]:

        def call(t, make=make):
            one, other = make(t, t.ao.quantization), make(t, t.ao.quantization)
            for x in tensors_of(t, 3):
                one(x)
            other.load_state_dict(one.state_dict())
            return [*other.state_dict().values(), *other.calculate_qparams()]

        compare(call)


def test_configurations_are_those_of_torch():
    def spell(config, t):
        return [
            (made.__class__.__name__, str(made).replace("torchlike", "torch").replace("torch.", ""))
            for made in (config.activation(), config.weight())
        ]

    public = {name: each for name, each in vars(torch.ao.quantization).items() if name[0] != "_"}
    names = [name for name, each in public.items() if isinstance(each, torch.ao.quantization.QConfig)]
    assert len(names) > 20
    for name in names:
        ours, theirs = (spell(getattr(t.ao.quantization, name), t) for t in (torchlike, torch))
        assert ours == theirs, name
    for backend in "fbgemm", "x86", "qnnpack", "onednn":
        for function, version in (
            ("get_default_qconfig", 0),
            ("get_default_qat_qconfig", 0),
            ("get_default_qat_qconfig", 1),
        ):
            ours, theirs = (
                spell(getattr(t.ao.quantization, function)(backend, version), t) for t in (torchlike, torch)
            )
            assert ours == theirs
    mine, yours = (t.ao.quantization.get_default_qconfig_mapping() for t in (torchlike, torch))
    assert len(mine.object_type_qconfigs) == len(yours.object_type_qconfigs)
    assert [*mine.to_dict()] == [*yours.to_dict()]
    assert type(mine).from_dict(mine.to_dict()).to_dict() == mine.to_dict()
    assert str(mine).count("\n") == str(yours).count("\n")
