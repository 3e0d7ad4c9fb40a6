"""Descriptors tell the storage of a view's whole block, by which the toolkit finds views of whole rows."""

from __future__ import annotations

import math

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu.aclnn import descriptors, pools

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.no_pipeline(reason="it brings its own")]

#: Views that programs of transformers make, of an array of 24 x 12 elements.
VIEWS = {
    "first columns": lambda x: x[:, :5],
    "every other row": lambda x: x[::2],
    "a column": lambda x: x[:, 0],
    "rows": lambda x: x[3:7],
    "the last third": lambda x: x.chunk(3, -1)[2],
    "heads": lambda x: x.view(24, 3, 4)[:, 1],
    "halves of pairs": lambda x: x[..., ::2],
    "transposed": lambda x: x.t()[2:5],
}


@pytest.fixture
def storages(monkeypatch):
    """The storages, in elements, of the descriptors that are made."""
    found, create = [], descriptors._create

    def note(creator, *args):
        if creator == "aclCreateTensor":
            found.append((tuple(args[0]), args[4], math.prod(args[6])))
        return create(creator, *args)

    monkeypatch.setattr(descriptors, "_create", note)
    pools.clear()
    yield found
    pools.clear()


@pytest.mark.of_functions
@pytest.mark.parametrize("in_pipeline", [False, True], ids=["eager", "in a pipeline"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_the_storage_of_its_block(name, in_pipeline, storages):
    x = torchlike.arange(288.0).view(24, 12)
    view, expected = VIEWS[name](x.to("npu")), (VIEWS[name](x) * 2 + 1).tolist()
    storages.clear()
    if in_pipeline:
        with dc.pipeline():
            found = view * 2 + 1
    else:
        found = view * 2 + 1
    assert found.tolist() == expected
    assert (tuple(view.shape), view.storage_offset(), 288) in storages


@pytest.mark.of_functions
def test_the_same_view_of_a_larger_block_has_another_storage(storages):
    views = [torchlike.ones(rows, 6, device="npu")[:2, :3] for rows in (2, 4, 9)]
    storages.clear()
    assert [(view + 1).sum().item() for view in views] == [12, 12, 12]
    assert {storage for shape, _, storage in storages if shape == (2, 3)} >= {12, 24, 54}
    with dc.pipeline():
        sums = [(view + 1).sum() for view in views]
    assert [each.item() for each in sums] == [12, 12, 12]


@pytest.mark.of_functions
def test_a_plan_that_comes_again_with_a_view_of_a_larger_block(storages):
    def run(view):
        with dc.pipeline():
            found = (view * 2 + 1).sum()
        return found.item()

    for rows in (2, 4, 4, 9, 2):
        assert run(torchlike.ones(rows, 6, device="npu")[:2, :3]) == 18
    assert {storage for shape, _, storage in storages if shape == (2, 3)} >= {12, 24, 54}
