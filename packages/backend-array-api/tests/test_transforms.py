"""Function transforms on libraries' devices: what they compute on the cpu, for arrays that cannot be written, too."""

import numpy as np
import pytest

import torchlike
from torchlike import func


def build_in_place(row):
    made = torchlike.zeros_like(row) + row * 0
    made[0] = row[1]
    made[1:].mul_(row[0]).add_(1)
    return made


def write_to_rows(x):
    whole = x.clone()
    func.vmap(lambda row: row.mul_(2)[0].add_(1))(whole)
    return whole


PROGRAMS = {
    "per-sample gradients": lambda x: func.vmap(func.grad(lambda w, row: ((w * row).sin() ** 2).sum()), (None, 0))(
        x[0], x
    ),
    "hessian": lambda x: func.hessian(lambda row: (row.softmax(0) * row).sum())(x[0]),
    "hessians of rows": func.vmap(func.hessian(lambda row: (row.sin() * row.sum()).sum())),
    "built in place": func.vmap(build_in_place),
    "gradients of writes": func.vmap(func.grad(lambda row: (build_in_place(row) ** 2).sum())),
    "forward and back": lambda x: func.jvp(func.vmap(func.grad(lambda row: row.prod())), (x,), (x,))[1],
    "writes to rows": write_to_rows,
}


#: Those that a library that compiles computes quickly, too.
QUICK = ["per-sample gradients", "gradients of writes", "writes to rows"]


@pytest.mark.parametrize(
    ("name", "device"), [*((name, "strict") for name in PROGRAMS), *((name, "jax") for name in QUICK)]
)
def test_transforms_compute_what_they_do_on_the_cpu(name, device):
    x = torchlike.from_numpy(np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32))
    found = PROGRAMS[name](x.to(device))
    assert found.device.type == device
    np.testing.assert_allclose(found.cpu().numpy(), PROGRAMS[name](x).numpy(), rtol=1e-5, atol=1e-6)
