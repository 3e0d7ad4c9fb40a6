"""Operators and tensors in functions that the program's own ``jax.jit`` follows."""

import jax
import jax.numpy as jnp
import pytest

import dispatch_core as dc
import torchlike

aten = dc.ops.aten


@pytest.fixture
def tensor():
    return torchlike.tensor([1.0, 2.0], device="jax")


def test_raw_arrays_go_through_operators_as_through_jaxs_own_functions(tensor):
    assert jax.jit(lambda x: aten.mul(aten.add(x, x), x))(jnp.asarray([1.0, 3.0])).tolist() == [2, 18]
    assert jax.grad(lambda x: aten.sum(aten.mul(x, x)))(jnp.asarray([1.0, 3.0])).tolist() == [2, 6]


def test_a_tensor_keeps_its_values_and_is_a_constant_of_the_function(tensor):
    made = []

    def function(x):
        made.extend([tensor + 1, (tensor * 2).sum(), tensor.max(0)])
        tensor.add_(1)
        return x + (tensor * 2)._dispatch_data

    assert jax.jit(function)(jnp.zeros(2)).tolist() == [4, 6]
    assert tensor.tolist() == [2, 3]
    assert (made[0].tolist(), made[1].item(), made[2].values.item()) == ([2, 3], 6, 2)


def test_so_do_pipelines_and_gradients(tensor):
    def function(x):
        with torchlike.pipeline():
            result = (tensor * 2).exp().sum()
        leaf = tensor.clone().requires_grad_()
        (leaf * leaf).sum().backward()
        return x + result.item() + leaf.grad.sum().item()

    expected = (tensor * 2).exp().sum().item() + 6
    assert jax.jit(function)(jnp.zeros(())).item() == pytest.approx(expected)


def test_so_do_captured_functions_that_copy_what_they_donate():
    w = torchlike.ones(2, device="jax")

    @torchlike.capture
    def step():
        w.sub_(1)
        return w.detach().clone()

    def function(x):
        for _ in range(5):
            found = step()
        return x + found.sum().item()

    assert jax.jit(function)(jnp.zeros(())).item() == -8
    assert w.tolist() == [-4, -4]


READS = {
    "item": lambda x: aten.item(aten.sum(x)),
    "device_get": dc.ops.prims.device_get,
    "tensor": torchlike.tensor,
    "as_tensor": lambda x: torchlike.as_tensor(x, device="jax"),
}


@pytest.mark.parametrize("name", READS)
def test_the_values_of_a_tracer_are_refused_with_the_name_of_the_function(name, tensor):
    def followed(x):
        READS[name](x)
        return x

    with pytest.raises(
        dc.BackendError, match=r"is a tracer of jax\.jit, in followed at \S+test_tracers\.py:\d+: it has none"
    ):
        jax.jit(followed)(jnp.ones(2))
