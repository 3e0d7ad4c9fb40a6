"""The scaler of losses: factors, skipped steps, several optimizers and devices, its state, and what it refuses."""

import copy
import pickle

import pytest

import torchlike
from torchlike import float16, float32, nn
from torchlike.amp import GradScaler

pytestmark = pytest.mark.no_pipeline(reason="values are read after every step")
INF, NAN = float("inf"), float("nan")


def make(*values, lr=1.0):
    weight = torchlike.tensor(list(values) or [1.0], requires_grad=True)
    return weight, torchlike.optim.SGD([weight], lr=lr)


def iterate(scaler, weight, optimizer, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_steps_are_those_without_a_scaler():
    expected, plain = make(1.0, 2.0, lr=0.25)
    (expected * 3).sum().backward()
    plain.step()
    weight, optimizer = make(1.0, 2.0, lr=0.25)
    iterate(GradScaler("cpu"), weight, optimizer, 3.0)
    assert torchlike.equal(weight, expected)


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_step_with_a_gradient_that_is_not_finite_is_left_out(bad):
    weight, optimizer = make()
    scaler = GradScaler("cpu", init_scale=4.0)
    iterate(scaler, weight, optimizer, bad)
    assert (weight.item(), scaler.get_scale()) == (1.0, 2.0)
    iterate(scaler, weight, optimizer)
    assert (weight.item(), scaler.get_scale()) == (0.0, 2.0)


def test_the_scale_grows_after_an_interval_of_good_steps_and_never_to_infinity():
    weight, optimizer = make(lr=0.0)
    scaler = GradScaler("cpu", init_scale=2.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, INF, 1.0, 1.0, 1.0):
        iterate(scaler, weight, optimizer, factor)
        scales.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert scales == [(2.0, 1), (8.0, 0), (2.0, 0), (2.0, 1), (8.0, 0), (8.0, 1)]
    scaler = GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    iterate(scaler, weight, optimizer, 0.0)
    assert scaler.get_scale() == 2.0**127


def test_several_losses_and_optimizers_share_the_scale():
    (one, first), (two, second) = make(), make(2.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    losses = scaler.scale([one.sum(), (two * INF).sum()])
    assert [each.item() for each in losses] == [4.0, INF]
    for loss in losses:
        loss.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (one.item(), two.item(), scaler.get_scale()) == (0.0, 2.0, 2.0)


def test_losses_may_stand_in_containers():
    scaler = GradScaler("cpu", init_scale=2.0)
    ones = torchlike.ones(())
    (first, (second,)), rest = scaler.scale((ones, [ones])), scaler.scale(each for each in (ones, ones))
    assert [each.item() for each in (first, second, *rest)] == [2.0] * 4


def test_gradients_may_be_looked_at_unscaled():
    weight, optimizer = make(3.0)
    scaler = GradScaler("cpu", init_scale=64.0)
    scaler.scale((weight * 5).sum()).backward()
    scaler.unscale_(optimizer)
    assert nn.utils.clip_grad_norm_([weight], 1.0).item() == 5.0
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == pytest.approx(2.0)


def test_a_scale_may_be_set():
    weight, optimizer = make()
    scaler = GradScaler("cpu", init_scale=4.0)
    iterate(scaler, weight, optimizer)
    for new in (8.0, torchlike.tensor([16.0])):
        scaler.scale(weight.sum())
        scaler.update(new)
        assert scaler.get_scale() == float(new)
    for wrong in (3, torchlike.ones(2), torchlike.ones(1, requires_grad=True), torchlike.ones(1, device="meta")):
        with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
            scaler.update(wrong)


def test_gradients_of_several_dtypes_are_unscaled_and_float16_ones_refused():
    wide = torchlike.ones(2, dtype=torchlike.float64, requires_grad=True)
    narrow = torchlike.ones(2, dtype=torchlike.bfloat16, requires_grad=True)
    optimizer = torchlike.optim.SGD([wide, narrow, torchlike.ones(1, requires_grad=True)], lr=0.5)
    scaler = GradScaler("cpu", init_scale=256.0)
    scaler.scale(wide.sum() + narrow.sum()).backward()
    scaler.step(optimizer)
    assert wide.tolist() == narrow.tolist() == [0.5, 0.5]
    half = torchlike.ones(2, dtype=float16, requires_grad=True)
    optimizer = torchlike.optim.SGD([half], lr=0.5)
    scaler.scale(half.float().sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(optimizer)


def test_the_state_goes_on_in_another_scaler_and_in_copies():
    weight, optimizer = make(lr=0.0)
    scaler = GradScaler("cpu", init_scale=4.0, growth_factor=3.0, backoff_factor=0.1, growth_interval=5)
    assert scaler.state_dict()["scale"] == 4.0
    iterate(scaler, weight, optimizer)
    state = scaler.state_dict()
    names = ["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"]
    assert list(state) == names and list(state.values()) == [4.0, 3.0, 0.1, 5, 1]
    for other in (GradScaler("cpu"), GradScaler("cpu")):
        other.scale(weight)
        other.load_state_dict(state)
        assert other.state_dict() == state
    for other in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):  # made here
        iterate(other, weight, optimizer)
        assert other.state_dict() == state | {"_growth_tracker": 2}


def test_settings_are_read_and_set():
    scaler = GradScaler("cpu")
    assert (scaler.get_scale(), scaler.is_enabled(), scaler._get_growth_tracker()) == (2.0**16, True, 0)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    found = scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
    assert found == (3.0, 0.25, 7)


def test_a_disabled_scaler_leaves_all_as_it_is():
    weight, optimizer = make()
    scaler = GradScaler("cpu", enabled=False)
    assert scaler.scale(weight) is weight
    weight.sum().backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.load_state_dict({})
    assert (weight.item(), scaler.get_scale(), scaler.state_dict()) == (0.0, 1.0, {})
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available.  Disabling."):
        assert not GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match="Please use `torch.amp.GradScaler\\('cpu', args...\\)` instead"):
        assert torchlike.cpu.amp.GradScaler(2.0).get_scale() == 2.0


def test_an_optimizer_may_unscale_by_itself():
    class Scaling(torchlike.optim.SGD):
        _step_supports_amp_scaling = True
        seen = ()

        def step(self):
            self.seen += ((self.grad_scale.item(), self.found_inf.item()),)

    weight = torchlike.ones(1, requires_grad=True)
    optimizer = Scaling([weight], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    iterate(scaler, weight, optimizer)
    iterate(scaler, weight, optimizer, INF)
    assert (optimizer.seen, weight.grad.item(), scaler.get_scale()) == (((4.0, 0.0), (4.0, 1.0)), INF, 2.0)
    assert not hasattr(optimizer, "grad_scale")

    class Older(Scaling):
        def step(self, *, grad_scaler):
            self.seen += (grad_scaler,)
            grad_scaler.unscale_(self)

    optimizer = Older([weight], lr=1.0)
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself"):
        iterate(scaler, weight, optimizer)
    assert (optimizer.seen, weight.grad.item()) == ((scaler,), 1.0)


def test_a_program_may_let_float16_gradients_be_unscaled():
    class Permissive(GradScaler):
        def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, True)

    weight = torchlike.ones(1, dtype=float16, requires_grad=True)
    optimizer = torchlike.optim.SGD([weight], lr=0.5)
    iterate(Permissive("cpu", init_scale=4.0), weight, optimizer)
    assert weight.item() == 0.5


def _after_a_step(call):
    weight, optimizer = make()
    scaler = GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    call(scaler, optimizer)


def _unscale_twice():
    weight, optimizer = make()
    scaler = GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def _without_gradients():
    weight, optimizer = make()
    scaler = GradScaler("cpu")
    scaler.scale(weight.sum())
    scaler.step(optimizer)


WRONG = {
    "a factor that shrinks": (lambda: GradScaler("cpu", growth_factor=1.0), AssertionError, "growth factor must be > 1.0"),
    "a factor that grows": (lambda: GradScaler("cpu", backoff_factor=1.0), AssertionError, "backoff factor must be < 1.0"),
    "no loss": (lambda: GradScaler("cpu").scale(3.0), ValueError, "outputs must be a Tensor or an iterable of Tensors"),
    "a step first": (lambda: GradScaler("cpu").step(make()[1]), AssertionError, "Attempted step but _scale is None"),
    "unscale_ first": (lambda: GradScaler("cpu").unscale_(make()[1]), AssertionError, "Attempted unscale_ but _scale"),
    "an update first": (lambda: GradScaler("cpu").update(), AssertionError, "Attempted update but _scale is None"),
    "two steps": (lambda: _after_a_step(GradScaler.step), RuntimeError, r"step\(\) has already been called since"),
    "unscale_ after a step": (lambda: _after_a_step(GradScaler.unscale_), RuntimeError, "is being called after step"),
    "unscale_ twice": (_unscale_twice, RuntimeError, r"unscale_\(\) has already been called on this optimizer"),
    "no gradients": (_without_gradients, AssertionError, "No inf checks were recorded for this optimizer."),
    "a closure": (
        lambda: _after_a_step(lambda scaler, optimizer: scaler.step(optimizer, closure=len)), RuntimeError, "Closure use",
    ),
    "no checks": (
        lambda: _after_a_step(lambda scaler, optimizer: (scaler.update(), scaler.update())), AssertionError, "No inf checks",
    ),
    "a pickle in the middle": (
        lambda: _after_a_step(lambda scaler, optimizer: pickle.dumps(scaler)), AssertionError, "may only be pickled at the",
    ),
    "an empty state": (lambda: GradScaler("cpu").load_state_dict({}), RuntimeError, "The source state dict is empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_uses_are_refused_by_name(case):
    call, kind, text = WRONG[case]
    with pytest.raises(kind, match=text):
        call()


def test_the_scale_is_a_tensor_that_no_gradient_depends_on():
    weight, _ = make()
    scaler = GradScaler("cpu", init_scale=2.0)
    loss = scaler.scale(weight.double().sum())
    assert (loss.dtype, loss.item()) == (torchlike.float64, 2.0)
    assert scaler._scale is not None and scaler._scale.dtype is float32 and not scaler._scale.requires_grad
