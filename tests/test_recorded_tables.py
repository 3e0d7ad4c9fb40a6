"""Tables and calls equal torch's for 200 recorded programs of random registrations."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest
import torch_tables as tables

import dispatch_core as dc

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def recorded():
    with gzip.open(FOLDER / "data" / "torch_tables_seed1.jsonl.gz", "rt", encoding="utf-8") as lines:
        header, *records = map(json.loads, lines)
    return header, records


@pytest.mark.parametrize("interpreted", [False, True])
def test_every_slot_and_every_comparable_call_is_as_recorded(recorded, interpreted):
    header, records = recorded
    registry = tables.make_registry(header, interpreted=interpreted)
    compared = 0
    for record in records:
        found, calls = tables.differences(header, record, registry)
        assert not found, (record["registrations"], found)
        compared += calls
    assert len(records) == 200
    assert compared > 600


def test_the_order_of_registration_does_not_matter(recorded):
    header, records = recorded
    for record in [record for record in records if 1 < len(record["registrations"]) < 5][:25]:
        # The newest of two registrations for one key wins, so only programs without such pairs may be permuted.
        program = record["registrations"]
        if len({(key, kind.startswith("fallback")) for key, kind in program}) < len(program):
            continue
        for order in itertools.permutations(range(len(program))):
            registry = tables.make_registry(header)
            entry, registrations = tables.replay(registry, [program[index] for index in order])
            back = [registrations[order.index(index)] for index in range(len(program))]
            for key, wanted in record["table"].items():
                slot = entry.slot(None if key == "Undefined" else dc.DispatchKey[key])
                assert tables.winner(back, slot) == wanted, (key, order)


def test_taking_back_leaves_the_table_of_what_is_left(recorded):
    header, records = recorded
    for record in records[:60]:
        registry = tables.make_registry(header)
        entry, _ = tables.replay(registry, record["registrations"])
        extra, more = tables.replay(registry, [])
        assert not more
        before = {key: slot.registration for key, slot in entry.computed_table().items()}
        with pytest.raises(ZeroDivisionError), registry.transaction():
            for key in ("CPU", "AutogradCPU", "TESTING_ONLY_GenericMode"):
                if entry.newest(dc.DispatchKey[key]) is None:
                    registry.register_kernel(entry.name, key, lambda x: -1)
            assert extra.name != entry.name
            1 / 0  # noqa: B018  # the block is to fail
        assert {key: slot.registration for key, slot in entry.computed_table().items()} == before


def test_alias_keys_cover_the_keys_that_torch_says(recorded):
    header, _ = recorded
    for alias, members in header["alias_members"].items():
        registry = dc.Registry(profile="torch-2.13")
        registry.register_kernel("replay::alias", alias, lambda x: x)
        entry = registry.get("replay::alias")
        covered = {key.name for key, slot in entry.computed_table().items() if slot.kernel}
        assert covered & set(header["runtime_keys"]) == set(members) - {"Undefined"}
        assert (entry.slot(None).kernel is not None) == ("Undefined" in members)


def test_keys_stand_in_torchs_order(recorded):
    header, _ = recorded
    ranks = [dc.DispatchKey[key].rank_in("torch-2.13") for key in header["runtime_keys"] if "Autocast" not in key]
    assert ranks == sorted(ranks)
