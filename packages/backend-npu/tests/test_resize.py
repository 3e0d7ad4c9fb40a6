"""A storage that is resized on the npu, where the decomposition does it: views keep their offsets, and go along."""

from contextlib import nullcontext

import pytest

import torchlike

pytestmark = [
    pytest.mark.usefixtures("npu"),
    pytest.mark.no_pipeline(reason="the tests open pipelines of their own"),
]


@pytest.fixture(params=[nullcontext, torchlike.pipeline], ids=["eager", "pipeline"])
def block(request):
    return request.param


def test_a_view_keeps_its_offset(block):
    with block():
        view = torchlike.arange(12.0).to("npu").reshape(3, 4)[:2, 1:]
        assert view.resize_(2, 2) is view
        assert view.stride() == (2, 1) and view.storage_offset() == 1
    assert view.cpu().tolist() == [[1, 2], [3, 4]]


def test_a_storage_that_grows_takes_its_other_tensors_along(block):
    with block():
        whole = torchlike.arange(4.0).to("npu")
        alias, read = whole.data, whole + 1
        whole[:1].fill_(5)
        view = whole[1:]
        view.resize_(6).zero_()
        after = whole * 1
    assert whole.cpu().tolist() == alias.cpu().tolist() == after.cpu().tolist() == [5, 0, 0, 0]
    assert (read.cpu().tolist(), view.cpu().tolist()) == ([1, 2, 3, 4], [0] * 6)


def test_an_empty_output_is_resized(block):
    with block():
        a, out = torchlike.arange(3.0).to("npu"), torchlike.empty(0, device="npu")
        torchlike.mul(a, a, out=out)
    assert out.cpu().tolist() == [0, 1, 4]
