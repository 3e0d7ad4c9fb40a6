"""The inner parts by which libraries write optimizers, schedules, modules and transforms of their own."""

import warnings

import pytest

import torchlike
from torchlike.distributions import transforms
from torchlike.nn.modules import module
from torchlike.optim import lr_scheduler, optimizer


class Descent(optimizer.Optimizer):
    def __init__(self, params, lr=0.5, differentiable=False):
        super().__init__(params, {"lr": lr, "differentiable": differentiable})

    @optimizer._use_grad_for_differentiable
    def step(self, closure=None):
        """Take a step."""
        for group in self.param_groups:
            self.modes.append(torchlike.is_grad_enabled())
            for param in group["params"]:
                param.data -= group["lr"] * param.grad

    modes = ()


@pytest.mark.parametrize("differentiable", [False, True])
def test_a_step_is_recorded_where_the_optimizer_says_so(differentiable):
    weight = torchlike.ones(2, requires_grad=True)
    weight.grad = torchlike.ones(2)
    descent = Descent([weight], differentiable=differentiable)
    descent.modes = []
    descent.step()
    assert weight.tolist() == [0.5, 0.5] and descent.modes == [differentiable] and torchlike.is_grad_enabled()
    assert Descent.step.__doc__ == "Take a step."


def test_lists_are_parted_by_dtype():
    a, b, c = torchlike.ones(1), torchlike.ones(1).double(), torchlike.ones(2)
    found = optimizer.Optimizer._group_tensors_by_device_and_dtype([[a, b, c], [], [1, None, 3]], with_indices=True)
    device = a.device
    first, second = found[device, torchlike.float32], found[device, torchlike.float64]
    assert first[0][0][0] is a and first[0][0][1] is c and first[0][1:] == [[], [1, 3]] and first[1] == [0, 2]
    assert second[0][0][0] is b and second[0][1:] == [[], [None]] and second[1] == [1]
    with pytest.raises(ValueError, match="different lengths"):
        optimizer.Optimizer._group_tensors_by_device_and_dtype([[a], [a, a]])


def test_the_default_of_steps_follows_devices_and_dtypes():
    floats, ints = [torchlike.ones(1), None], [torchlike.ones(1).long()]
    choose = optimizer._default_to_fused_or_foreach
    assert choose(floats, False, use_fused=True) == (True, False) and choose(floats, False) == (False, False)
    assert choose(floats, True, use_fused=True) == choose(ints, False, use_fused=True) == (False, False)
    optimizer._device_dtype_check_for_fused(floats[0])
    with pytest.raises(RuntimeError, match="floating point Tensors of supported devices"):
        optimizer._device_dtype_check_for_fused(ints[0])


def test_values_of_settings():
    assert optimizer._get_value(torchlike.tensor(2.0)) == 2.0 and optimizer._get_value(3) == 3
    assert optimizer._to_scalar(torchlike.ones(1)).shape == () and optimizer._to_scalar(2.0) == 2.0
    assert optimizer._get_scalar_dtype() is optimizer._get_scalar_dtype(True) is torchlike.float32
    params, grads = [torchlike.ones(1) + 1j, torchlike.ones(1)], [torchlike.ones(1) * 1j, torchlike.ones(1)]
    optimizer._view_as_real(params, grads)
    assert [each.tolist() for each in (*params, *grads)] == [[[1.0, 1.0]], [1.0], [[0.0, 1.0]], [1.0]]
    assert repr(optimizer.required) == "<required parameter>" and isinstance(optimizer._params_doc, str)
    handle = optimizer.register_optimizer_step_pre_hook(print)
    assert print in optimizer._global_optimizer_pre_hooks.values()
    handle.remove()


def test_schedules_of_libraries_open_the_block_of_a_step():
    schedule = lr_scheduler.StepLR(torchlike.optim.SGD([torchlike.ones(1, requires_grad=True)], lr=1.0), 1)
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with lr_scheduler._enable_get_lr_call(schedule):
            lr_scheduler._warn_get_lr_called_within_step(schedule)
            schedule.get_lr()
    with lr_scheduler._initial_mode(schedule):
        assert schedule._is_initial
    assert not schedule._is_initial and not schedule._get_lr_called_within_step
    lr_scheduler._update_param_group_val(schedule.optimizer.param_groups[0], "lr", 0.25)
    assert lr_scheduler._param_groups_val_list(schedule.optimizer, "lr") == [0.25]
    assert lr_scheduler._format_param("base_lr", schedule.optimizer, 3) == [3]


def test_hooks_of_all_modules_are_seen_in_their_tables():
    tables = {
        module.register_module_forward_pre_hook: module._global_forward_pre_hooks,
        module.register_module_forward_hook: module._global_forward_hooks,
        module.register_module_full_backward_hook: module._global_backward_hooks,
        module.register_module_full_backward_pre_hook: module._global_backward_pre_hooks,
        module.register_module_parameter_registration_hook: module._global_parameter_registration_hooks,
        module.register_module_buffer_registration_hook: module._global_buffer_registration_hooks,
        module.register_module_module_registration_hook: module._global_module_registration_hooks,
    }
    for register, table in tables.items():
        hook = lambda *args: None
        with register(hook):
            assert list(table.values()) == [hook]
        assert not table
    assert not module._has_any_global_hook()
    with module.register_module_forward_hook(hook, with_kwargs=True, always_call=True) as handle:
        assert module._has_any_global_hook()
        assert handle.id in module._global_forward_hooks_with_kwargs
        assert handle.id in module._global_forward_hooks_always_called


def test_the_key_of_extra_state():
    class Counted(torchlike.nn.Module):
        def get_extra_state(self):
            return 3

    assert [*Counted().state_dict()] == [module._EXTRA_STATE_KEY_SUFFIX] == ["_extra_state"]


def test_inverses_of_transforms_have_a_class():
    assert isinstance(transforms.ExpTransform().inv, transforms._InverseTransform)
    found = transforms._clipped_sigmoid(torchlike.tensor([-200.0, 0.0, 200.0]))
    assert 0 < found[0] < 1e-30 and found[1] == 0.5 and 1 - 1e-6 < found[2] < 1
