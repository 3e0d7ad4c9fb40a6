"""Dispatch keys: identity, names, order, and keys that come later."""

from __future__ import annotations

import copy
import pickle

import pytest

import dispatch_core as dc
from dispatch_core import DISPATCH_KEY_PRIORITY, DispatchKey
from dispatch_core.keys.table import ARRAYS, AUTOCAST, AUTOGRAD, DENSE, MARKER_BITS, MARKERS, PROFILES, keys_of


def test_every_key_has_one_bit_of_its_own():
    keys = list(DispatchKey)
    assert all(key.value == 1 << key.bit == int(key) for key in keys)
    assert len({key.bit for key in keys}) == len(keys)
    assert not sum(keys) & MARKERS


def test_keys_have_an_enums_manners():
    cpu = DispatchKey.CPU
    assert DispatchKey["CPU"] is DispatchKey(cpu.value) is DispatchKey("CPU") is cpu
    assert (cpu.name, str(cpu), f"{cpu:>5}", repr(cpu)) == ("CPU", "CPU", "  CPU", "<DispatchKey.CPU: 1 << 0>")
    assert len(DispatchKey) == len(list(DispatchKey)) == len(DispatchKey.__members__)
    assert DispatchKey.__members__["CPU"] is cpu
    assert "CPU" in DispatchKey
    assert cpu in DispatchKey
    assert "Nothing" not in DispatchKey
    assert 1 not in DispatchKey
    assert "AutogradCPU" in dir(DispatchKey)


def test_keys_can_be_ored_into_a_mask():
    mask = DispatchKey.CPU | DispatchKey.Meta
    assert type(mask) is int
    assert [key.name for key in keys_of(mask)] == ["Meta", "CPU"]


@pytest.mark.parametrize(
    "name",
    [
        *"CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA Meta NPU PrivateUse1 PrivateUse2 PrivateUse3".split(),
        *"AutogradCPU AutogradNPU AutogradPrivateUse3 AutogradOther AutogradNestedTensor AutocastCPU AutocastNPU".split(),
        *"SparseCPU SparseCsrCUDA QuantizedMeta NestedTensorCPU MkldnnCPU FPGA Vulkan Metal CustomRNGKeyId".split(),
        *"BackendSelect Pipeline Python Fake Functionalize Named Conjugate Negative ZeroTensor ADInplaceOrView".split(),
        *"Tracer Profiler FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched VmapMode PreDispatch".split(),
        *"FuncTorchGradWrapper DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode PythonDispatcher".split(),
        *"TorchFunction TorchFunctionMode".split(),
        *"Autograd CompositeImplicitAutograd CompositeExplicitAutograd FuncTorchBatchedDecomposition".split(),
        *"CompositeExplicitAutogradNonFunctional CompositeImplicitAutogradNestedTensor".split(),
    ],
)
def test_torchs_keys_and_ours_exist(name):
    assert getattr(DispatchKey, name) is DispatchKey[name]


def test_hot_keys_have_small_masks():
    hot = (
        "CPU Meta NPU CUDA PrivateUse1 AutogradCPU AutogradNPU BackendSelect Pipeline Profiler Tracer Autograd".split()
    )
    assert all(DispatchKey[name].bit < 30 for name in hot)


def test_priority_is_torchs_with_pipeline_and_profiler_added():
    order = [key.name for key in DISPATCH_KEY_PRIORITY]
    wanted = (
        "PythonDispatcher Profiler VmapMode FuncTorchBatched AutocastCPU Tracer AutogradCPU ADInplaceOrView Functionalize"
        " Python BackendSelect Pipeline NestedTensorCPU SparseCPU QuantizedCPU Meta PrivateUse3 PrivateUse1 NPU CUDA CPU"
        " CompositeImplicitAutograd"
    ).split()
    places = [order.index(name) for name in wanted]
    assert places == sorted(places)
    assert order.index("Pipeline") == order.index("BackendSelect") + 1
    assert order[:3] == ["TorchFunctionMode", "TorchFunction", "PythonDispatcher"]


def test_priority_is_a_live_view():
    view = DISPATCH_KEY_PRIORITY
    DispatchKey.register_backend("Viewed")
    order = [key.name for key in view]
    assert order.index("Meta") < order.index("Viewed") < order.index("NPU")
    assert order.index("AutogradMeta") < order.index("AutogradViewed") < order.index("AutogradNPU")
    assert len(view) == len(order)
    assert view[0].name in repr(view)
    assert [key.name for key in view[:2]] == order[:2]


def test_a_backend_brings_its_row_of_keys():
    key = DispatchKey.register_backend("Rowed")
    assert DispatchKey.register_backend("Rowed") is key
    for prefix in ("Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd", "Autocast"):
        assert DispatchKey[f"{prefix}Rowed"].backend == "Rowed"
    assert key.kind == "device"
    assert DispatchKey.SparseRowed.kind == "layout"
    assert DispatchKey.SparseRowed.owns_arrays
    assert not DispatchKey.AutogradRowed.owns_arrays


def test_classes_of_keys_cover_backends_that_come_later():
    dense, autograd, autocast, arrays = DENSE, AUTOGRAD, AUTOCAST, ARRAYS
    key = DispatchKey.register_backend("Later")
    assert key & dense
    assert key & arrays
    assert DispatchKey.SparseLater & arrays
    assert DispatchKey.AutogradLater & autograd
    assert DispatchKey.AutocastLater & autocast


def test_more_than_64_bits_of_backends_fit():
    keys = [DispatchKey.register_backend(f"Many{index}") for index in range(20)]
    assert len({key.bit for key in keys}) == 20
    assert max(keys) > 1 << 64
    assert len(dc.DispatchKeySet(keys)) == 20


@pytest.mark.parametrize("name", ["", "a b", "1x", "Autograd", "Tracer", "AutogradCPU", "CompositeImplicitAutograd"])
def test_a_name_that_cannot_be_a_backend_is_refused(name):
    before = len(DispatchKey)
    with pytest.raises(dc.RegistrationError, match="cannot become a backend's dispatch key"):
        DispatchKey.register_backend(name)
    assert len(DispatchKey) == before


def test_a_name_whose_row_meets_another_key_is_refused_naming_that_key():
    with pytest.raises(
        dc.RegistrationError, match="'Other' cannot become a backend's dispatch key: there is a key Auto"
    ):
        DispatchKey.register_backend("Other")


def test_an_unknown_name_is_told_with_the_nearest_ones():
    with pytest.raises(dc.DispatchKeyError) as caught:
        DispatchKey["AutogradCPUU"]
    assert str(caught.value).startswith("no dispatch key is named 'AutogradCPUU'\nHint: did you mean AutogradCPU")
    assert isinstance(caught.value, LookupError)
    with pytest.raises(AttributeError, match="no dispatch key is named 'Nothing'"):
        DispatchKey.Nothing  # noqa: B018  # the look-up is the test
    with pytest.raises(dc.DispatchKeyError):
        DispatchKey[None]


@pytest.mark.parametrize("value", [0, -1, 3, 1 << 25, 1 << 4000, None, 1.0])
def test_a_value_that_no_key_has_is_refused(value):
    with pytest.raises(dc.DispatchKeyError, match="is not the value of a dispatch key"):
        DispatchKey(value)


@pytest.mark.parametrize("bit", [63, 4000, 64 + 8 * 511])
def test_a_bit_that_no_key_owns_is_named(bit):
    assert bit not in {key.bit for key in DispatchKey}
    with pytest.raises(dc.DispatchKeyError, match=f"bit {bit} belongs to no dispatch key"):
        keys_of(DispatchKey.CPU | 1 << bit)


def test_markers_are_no_keys():
    assert keys_of(DispatchKey.CPU | 1 << MARKER_BITS[0]) == [DispatchKey.CPU]


def test_keys_survive_pickling_and_copying_as_themselves():
    for key in DispatchKey:
        assert pickle.loads(pickle.dumps(key)) is copy.copy(key) is copy.deepcopy(key) is key


def test_profiles_are_orders_of_the_same_keys():
    assert PROFILES == ("torch-2.4", "torch-2.13")
    fake, python = DispatchKey.Fake, DispatchKey.Python
    assert fake.rank > python.rank
    assert fake.rank_in("torch-2.13") < python.rank_in("torch-2.13")
    with pytest.raises(dc.RegistrationError, match="no profile is named 'torch-1'"):
        dc.Registry(profile="torch-1")


def test_a_registry_follows_its_profile():
    answers = []
    for profile in PROFILES:
        registry = dc.Registry(profile=profile)
        for name in ("Fake", "Python"):
            registry.register_kernel("t::f", name, lambda name=name: name)
        answers.append(registry.redispatch("t::f", DispatchKey.Fake | DispatchKey.Python))
    assert answers == ["Fake", "Python"]


def test_keys_are_attributes_of_the_table_and_not_of_each_other():
    assert DispatchKey.CPU is DispatchKey["CPU"]
    assert not hasattr(DispatchKey.CPU, "Meta")
