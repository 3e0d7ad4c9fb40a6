"""Arrays whose dtypes are none of torch's, as a frontend with operators of its own may have: they have no shape rule."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core.arrays import frontend


class Words:
    """An array of strings."""

    def __init__(self, words):
        self.words = list(words)


@pytest.fixture(scope="module")
def ops():
    words = dc.ArrayType(Words, shape=lambda x: (len(x.words),), dtype=lambda x: "text")
    dc.registry.add_backend(dc.BackendInfo("words", array_types=(words,)))
    with dc.Library("words", "DEF") as library:
        library.define("upper(Tensor x) -> Tensor")
        library.define("join(Tensor[] xs) -> Tensor")
        library.define("clear_(Tensor(a!) x) -> Tensor(a!)")
        library.impl("upper", lambda x: Words(each.upper() for each in x.words), "Words")
        library.impl("join", lambda xs: Words(each for x in xs for each in x.words), "Words")
        library.impl("clear_", lambda x: (x.words.__setitem__(slice(None), [""] * len(x.words)), x)[1], "Words")
        # A fake is a kernel under Meta: with it, a generated recorder would ask for the layouts of its arguments.
        dc.register_fake("words::upper", lambda x: x)
        dc.register_fake("words::join", lambda xs: xs[0])
        dc.register_fake("words::clear_", lambda x: x)
        yield dc.ops.words


@pytest.fixture(params=["raw arrays", "tensors"])
def wrap(request):
    if request.param == "raw arrays":
        yield lambda array: array
        return
    tensor = type("Tensor", (), {"__slots__": ("_dispatch_data", "_dispatch_mask")})
    found = dc.register_frontend("foreign dtypes", tensor)
    yield found.wrap
    frontend._remove(found)


def words_of(value):
    return getattr(value, "_dispatch_data", value).words


def test_operators_on_foreign_dtypes_run_at_once(ops, wrap):
    for _ in range(3):
        x = wrap(Words(["a", "b"]))
        with dc.pipeline() as pipe:
            upper = ops.upper(x)
            joined = ops.join([x, upper])
            ops.clear_(x)
        assert (words_of(x), words_of(upper), words_of(joined)) == (["", ""], ["A", "B"], ["a", "b", "A", "B"])
        found = {(name, why): count for (name, why), count in pipe.stats().eager.items() if why == "no shape rule"}
        assert found[("words::upper", "no shape rule")] == found[("words::join", "no shape rule")] == 1
        assert pipe.stats().recorded == 0
