"""``out=`` tensors that torch refuses are refused: of another dtype or device, that require grad, that overlap an input."""

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from comparison import attempt, ignore_warnings  # noqa: E402  # after the skip

import torchlike  # noqa: E402

#: The positional arguments of each function, by its path; results are float32, or int64 beside them.
CALLS = {
    "addbmm": lambda t: (t.ones(2, 3), t.ones(4, 2, 5), t.ones(4, 5, 3)),
    "addmv": lambda t: (t.ones(2), t.ones(2, 3), t.ones(3)),
    "alias_copy": lambda t: (t.ones(2, 3),),
    "as_strided_copy": lambda t: (t.ones(2, 3), (2,), (1,)),
    "bucketize": lambda t: (t.ones(2, 3), t.arange(3.0)),
    "complex": lambda t: (t.ones(2), t.ones(2)),
    "cross": lambda t: (t.ones(2, 3), t.ones(2, 3)),
    "cummax": lambda t: (t.ones(2, 3), 0),
    "cummin": lambda t: (t.ones(2, 3), 0),
    "diag": lambda t: (t.ones(2, 3),),
    "diagonal_copy": lambda t: (t.ones(2, 3),),
    "expand_copy": lambda t: (t.ones(1, 3), (2, 3)),
    "float_power": lambda t: (t.ones(2), 2),
    "gather": lambda t: (t.ones(2, 3), 0, t.zeros(2, 3, dtype=t.int64)),
    "heaviside": lambda t: (t.ones(2), t.ones(2)),
    "index_copy": lambda t: (t.ones(3, 2), 0, t.tensor([0]), t.ones(1, 2)),
    "index_reduce": lambda t: (t.ones(3, 2), 0, t.tensor([0]), t.ones(1, 2), "prod"),
    "inner": lambda t: (t.ones(2, 3), t.ones(2, 3)),
    "kthvalue": lambda t: (t.ones(2, 3), 1),
    "logcumsumexp": lambda t: (t.ones(2, 3), 0),
    "max": lambda t: (t.ones(2, 3), 0),
    "median": lambda t: (t.ones(2, 3), 0),
    "min": lambda t: (t.ones(2, 3), 0),
    "mode": lambda t: (t.ones(2, 3),),
    "msort": lambda t: (t.ones(2, 3),),
    "nanquantile": lambda t: (t.ones(2, 3), 0.5),
    "narrow_copy": lambda t: (t.ones(2, 3), 0, 0, 1),
    "permute_copy": lambda t: (t.ones(2, 3), (1, 0)),
    "qr": lambda t: (t.eye(2),),
    "quantile": lambda t: (t.ones(2, 3), 0.5),
    "renorm": lambda t: (t.ones(2, 3), 2, 0, 1.0),
    "searchsorted": lambda t: (t.arange(3.0), t.ones(2)),
    "squeeze_copy": lambda t: (t.ones(2, 1),),
    "svd": lambda t: (t.eye(2),),
    "t_copy": lambda t: (t.ones(2, 3),),
    "take_along_dim": lambda t: (t.ones(2, 3), t.zeros(2, 3, dtype=t.int64), 0),
    "tensordot": lambda t: (t.ones(2, 3), t.ones(3, 2), 1),
    "transpose_copy": lambda t: (t.ones(2, 3), 0, 1),
    "unfold_copy": lambda t: (t.ones(2, 3), 1, 2, 1),
    "unsqueeze_copy": lambda t: (t.ones(2), 0),
    "vdot": lambda t: (t.ones(2), t.ones(2)),
    "view_copy": lambda t: (t.ones(2, 3), (3, 2)),
}
#: Changes of one output.
CHANGES = {
    "float16": lambda t, out: out.to(t.float16),
    "float64": lambda t, out: out.to(t.float64),
    "int32": lambda t, out: out.to(t.int32),
    "complex128": lambda t, out: out.to(t.complex128),
    "bool": lambda t, out: out.to(t.bool),
    "nothing": lambda t, out: out,
}


def call(library, name, change, place):
    """Return the error of a call with one of its outputs changed, or None."""
    function = getattr(library, name)
    args = CALLS[name](library)
    results = function(*args)
    alone = isinstance(results, library.Tensor)
    outs = [results] if alone else list(results)
    if place >= len(outs):
        return None
    outs[place] = CHANGES[change](library, library.empty_like(outs[place]))
    return attempt(function, *args, out=outs[0] if alone else tuple(outs))[1]


@pytest.mark.parametrize("name", CALLS)
def test_an_output_of_another_dtype_is_refused_where_torch_refuses_it(name):
    found = []
    for place in range(3):
        for change in CHANGES:
            with ignore_warnings():
                theirs, ours = (call(library, name, change, place) for library in (torch, torchlike))
            if (theirs is None) != (ours is None) or not isinstance(ours, type(theirs) if theirs else object):
                found.append(f"{change} {place}: torch {theirs!r}, ours {ours!r}")
    assert not found, "\n".join(found)


OVERLAPS = {
    "a product by its vectors": lambda t, m: t.addmv(m[0], m, m[0], out=m[0]),
    "a bias that is the output": lambda t, m: t.addmm(m, m, m, out=m),
    "a bias beside the output": lambda t, m: t.addmm(m.view(-1)[:8].view(2, 4), m[:2, :2], m[:2], out=m[1:3]),
    "cross products in place": lambda t, m: t.cross(m[:, :3].clone(), (x := m[:, :3].clone()), out=x),
    "gathered in place": lambda t, m: t.gather(m, 0, t.zeros(4, 4, dtype=t.int64), out=m),
    "indices in place": lambda t, m: t.gather(n := m.long(), 0, n, out=n),
    "taken in place": lambda t, m: t.take_along_dim(m, t.zeros(4, 4, dtype=t.int64), 0, out=m),
    "an expanded output": lambda t, m: t.add(m, m, out=m[:1].clone().expand(4, 4)),
    "an output that requires grad": lambda t, m: t.add(m, m, out=m.clone().requires_grad_()),
    "too few outputs": lambda t, m: t.sort(m, out=(m.clone(),)),
    "too many outputs": lambda t, m: t.sort(m, out=(m.clone(), m.long(), m.long())),
    "another dtype beside it": lambda t, m: t.ones(2, dtype=t.float32, out=m.long()),
    "another device beside it": lambda t, m: t.ones(2, device="meta", out=m.clone()),
    "the same dtype beside it": lambda t, m: t.zeros(4, 4, dtype=t.float32, out=m.clone()),
}


@pytest.mark.parametrize("make", OVERLAPS.values(), ids=OVERLAPS)
def test_an_output_that_torch_refuses_is_refused(make):
    with ignore_warnings():
        theirs, ours = (attempt(make, library, library.eye(4))[1] for library in (torch, torchlike))
    assert (theirs is None) == (ours is None), (theirs, ours)
    assert theirs is None or isinstance(ours, type(theirs))
