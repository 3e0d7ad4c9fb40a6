"""Unsigned integers of 16 bits and more, which no function takes: their bits are copied, and the host computes."""

import pytest

import torchlike

pytestmark = pytest.mark.usefixtures("npu")


@pytest.mark.filterwarnings("ignore:The operator")
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_they_are_made_copied_viewed_and_converted(dtype):
    kind = getattr(torchlike, dtype)
    assert torchlike.zeros(2, dtype=kind, device="npu").tolist() == [0, 0]
    assert torchlike.full((2,), 7, dtype=kind, device="npu").tolist() == [7, 7]
    x = torchlike.tensor([[1, 2, 3], [4, 5, 65535]], dtype=kind).to("npu")
    assert x.t().clone().tolist() == [[1, 4], [2, 5], [3, 65535]]
    y = torchlike.empty(2, 2, dtype=kind, device="npu")
    assert y.copy_(x[:, 1:]) is y and y.tolist() == [[2, 3], [5, 65535]]
    assert x.to(torchlike.int64).sum().item() == 65550
    assert torchlike.ones(2, device="npu").to(kind).tolist() == [1, 1]
    x[0, 0] = 9
    assert x.tolist() == [[9, 2, 3], [4, 5, 65535]]
