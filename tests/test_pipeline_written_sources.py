"""A call that reads the tensor that it writes to is refused at its line in a pipeline, as it is eagerly."""

import pytest

import dispatch_core as dc
import torchlike as tl

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

PLACES = [0, 1, 2]
CALLS = {
    "scatter_": lambda x: x.scatter_(0, tl.tensor(PLACES), x),
    "scatter_ of its own indices": lambda x: x.scatter_(0, x, 5),
    "scatter_add_": lambda x: x.scatter_add_(0, tl.tensor(PLACES), x),
    "index_add_": lambda x: x.index_add_(0, tl.tensor(PLACES), x),
    "index_add_ of its own indices": lambda x: x.index_add_(0, x, tl.tensor(PLACES)),
    "index_put_": lambda x: x.index_put_((tl.tensor(PLACES),), x),
    "index_put_ of its own indices": lambda x: x.index_put_((x,), tl.tensor(PLACES)),
    "masked_scatter_": lambda x: x.masked_scatter_(tl.tensor([True] * 3), x),
    "copy_": lambda x: x.copy_(x),
    "masked_fill_": lambda x: x.masked_fill_(tl.tensor([True] * 3), x),
}


def refusal(call, x):
    try:
        call(x)
    except RuntimeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("has_views", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_refused_eagerly_are_refused_at_their_line(name, has_views):
    eager = refusal(CALLS[name], tl.tensor(PLACES))
    x = y = None
    with dc.pipeline():
        x = tl.tensor(PLACES) * 1
        y = x[:] if has_views else x
        later = refusal(CALLS[name], x)
    assert later == eager
    assert y.tolist() == PLACES or eager is None


@pytest.mark.parametrize("name", ["add_", "mul_", "sub_", "maximum"])
def test_elementwise_operators_read_the_array_they_write_and_are_recorded(name):
    with dc.pipeline():
        x = tl.tensor(PLACES) * 1
        getattr(x, name)(x)
        assert x._pending
    assert x.tolist() == {"add_": [0, 2, 4], "mul_": [0, 1, 4], "sub_": [0, 0, 0], "maximum": PLACES}[name]
