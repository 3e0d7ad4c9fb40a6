"""The computed table: torch's conformance scenarios, and independence of the order of registration."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core import DispatchKey
from dispatch_core.operators.dispatch_table import MEMBERS

CIA, CEA, CEANF = "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"
ASKED = "CPU CUDA XLA QuantizedCPU SparseCPU NestedTensorCPU AutogradOther AutogradCPU AutogradCUDA AutogradXLA".split()

#: Registered keys → (key of the call: who wins); a key left out is missing. Source: torch's test_dispatch.py.
SCENARIOS = {
    (CIA,): dict.fromkeys(ASKED, CIA),
    ("CPU", CIA): {
        **dict.fromkeys(ASKED, CIA),
        "CPU": "CPU",
        "AutogradCPU": "missing",
    },
    ("Autograd",): {name: "Autograd" for name in ASKED if name.startswith("Autograd")},
    ("CPU", "XLA", CIA, "Autograd"): {
        **dict.fromkeys(ASKED, CIA),
        "CPU": "CPU",
        "XLA": "XLA",
        "AutogradCPU": "Autograd",
        "AutogradXLA": "Autograd",
    },
    ("CPU", "XLA", CIA, "Autograd", "AutogradCPU"): {
        **dict.fromkeys(ASKED, CIA),
        "CPU": "CPU",
        "XLA": "XLA",
        "AutogradCPU": "AutogradCPU",
        "AutogradXLA": "Autograd",
    },
    (CIA, "QuantizedCPU"): {
        **dict.fromkeys(ASKED, CIA),
        "QuantizedCPU": "QuantizedCPU",
        "AutogradOther": "ambiguous autogradother",
    },
    ("CPU", CEA): {
        "CPU": "CPU",
        **dict.fromkeys("CUDA XLA QuantizedCPU SparseCPU".split(), CEA),
    },
    ("CPU", "Autograd", CEA): {
        "CPU": "CPU",
        **dict.fromkeys("CUDA XLA QuantizedCPU SparseCPU".split(), CEA),
        **{name: "Autograd" for name in ASKED if name.startswith("Autograd")},
    },
    ("CPU", "Autograd", CIA, CEA): {
        "CPU": "CPU",
        **dict.fromkeys("CUDA XLA QuantizedCPU SparseCPU".split(), CEA),
        **{name: "Autograd" for name in ASKED if name.startswith("Autograd")},
    },
    (CEANF, CIA): {
        **dict.fromkeys(ASKED, CIA),
        **dict.fromkeys("CPU CUDA QuantizedCPU".split(), CEANF),
    },
    ("AutogradOther", CIA, "QuantizedCPU"): {
        **dict.fromkeys(ASKED, CIA),
        "QuantizedCPU": "QuantizedCPU",
        "AutogradOther": "AutogradOther",
    },
}


def winner(slot):
    return slot.rule if slot.registration is None else slot.registration.key.name


@pytest.mark.parametrize("keys", SCENARIOS, ids=" ".join)
def test_torchs_scenarios_hold_in_every_order_of_registration(keys):
    for order in itertools.permutations(keys):
        registry = dc.Registry()
        for key in order:
            registry.register_kernel("t::f", key, lambda: 0)
        table = registry.get("t::f").computed_table()
        answers = {name: winner(table[DispatchKey[name]]) for name in ASKED}
        assert answers == {name: SCENARIOS[keys].get(name, "missing") for name in ASKED}, order


@pytest.mark.parametrize("keys", SCENARIOS, ids=" ".join)
def test_taking_back_leads_through_the_same_tables_as_never_registering(keys):
    for order in itertools.islice(itertools.permutations(keys), 24):
        registry = dc.Registry()
        made = {key: registry.register_kernel("t::f", key, lambda: 0) for key in keys}
        registry.register_kernel("t::f", "Tracer", lambda: 0)
        entry, left = registry.get("t::f"), list(keys)
        for key in order:
            registry.remove_kernel(entry, made[key])
            left.remove(key)
            fresh = dc.Registry()
            for other in [*left, "Tracer"]:
                fresh.register_kernel("t::f", other, lambda: 0)
            wanted = fresh.get("t::f").computed_table()
            assert {k: winner(slot) for k, slot in entry.computed_table().items()} == {
                k: winner(s) for k, s in wanted.items()
            }


runtime_or_alias = st.sampled_from(
    [key for key in DispatchKey if key.name in {*ASKED, *MEMBERS, "Tracer", "Meta", "HIP"}]
)


@given(st.permutations(range(6)), st.lists(runtime_or_alias, min_size=6, max_size=6, unique=True))
def test_any_order_of_registration_gives_the_same_table(order, keys):
    tables = []
    for sequence in (keys, [keys[index] for index in order]):
        registry = dc.Registry()
        for key in sequence:
            registry.register_kernel("t::f", key, lambda: 0)
        tables.append({k: (winner(s), s.rule) for k, s in registry.get("t::f").computed_table().items()})
    assert tables[0] == tables[1]


def test_the_table_shows_kernel_rule_and_origin(registry):
    kernel = lambda: 0
    registry.register_kernel("t::f", CEA, kernel)
    registry.register_fallthrough("t::f", "AutogradCPU")
    registry.register_fallback("Tracer", kernel)
    table = registry.get("t::f").computed_table()
    assert set(table) == {key for key in DispatchKey if not key.is_alias}
    cpu = table[DispatchKey.CPU]
    assert (cpu.kernel, cpu.rule) == (kernel, "default backend kernel")
    assert cpu.origin.file == __file__
    assert table[DispatchKey.AutogradCPU].kernel is dc.fallthrough_kernel
    assert table[DispatchKey.Tracer].rule == "backend fallback"
    missing = table[DispatchKey.NestedTensorCPU]
    assert (missing.kernel, missing.rule, missing.origin) == (None, "missing", None)


def test_the_rules_are_named_as_torch_names_them(registry):
    for key in ("CPU", CIA, "Autograd", "FuncTorchBatchedDecomposition", "CompositeImplicitAutogradNestedTensor"):
        registry.register_kernel("t::f", key, lambda: 0)
    table = registry.get("t::f").computed_table()
    rules = {
        name: table[DispatchKey[name]].rule for name in "CPU CUDA AutogradCPU FuncTorchBatched NestedTensorCPU".split()
    }
    assert rules == {
        "CPU": "kernel",
        "CUDA": "math kernel",
        "AutogradCPU": "autograd kernel",
        "FuncTorchBatched": "batched kernel",
        "NestedTensorCPU": "nested kernel",
    }


def test_a_fallback_is_below_every_composite(registry):
    registry.register_fallback("CPU", lambda op: "fallback")
    assert registry.register_kernel("t::f", "CUDA", lambda: 0)
    entry = registry.get("t::f")
    assert entry.slot(DispatchKey.CPU).rule == "backend fallback"
    registry.register_kernel("t::f", CIA, lambda: 0)
    assert entry.slot(DispatchKey.CPU).rule == "math kernel"


def test_aliases_cover_backends_that_come_later(registry):
    registry.register_kernel("t::f", CEA, lambda: 0)
    registry.register_kernel("t::f", "Autograd", lambda: 0)
    DispatchKey.register_backend("Covered")
    table = registry.get("t::f").computed_table()
    assert winner(table[DispatchKey.Covered]) == CEA
    assert winner(table[DispatchKey.AutogradCovered]) == "Autograd"


def test_an_ambiguous_slot_is_an_error_only_when_it_is_called(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: 1)
    library.impl("f", lambda x: 2, "QuantizedCPU")
    assert registry.redispatch("t::f", ["QuantizedCPU", "AutogradCPU"], 0) == 1
    with pytest.raises(dc.NoKernelError) as caught:
        registry.redispatch("t::f", ["QuantizedCPU", "AutogradOther"], 0)
    assert "arrived at AutogradOther, where it is ambiguous" in str(caught.value)
    assert caught.value.hint == "register a kernel for AutogradOther"
