"""Grad mode: scoped, nestable, per thread and per task, usable as decorator."""

import asyncio
import threading

import pytest

import torchlike
from torchlike import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled


def test_no_grad_holds_inside_its_block_and_nests_with_enable_grad():
    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_one_mode_object_may_be_entered_inside_itself():
    mode = no_grad()
    with mode, mode:
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_modes_decorate_with_and_without_parentheses():
    @no_grad()
    def with_parentheses():
        return is_grad_enabled()

    @no_grad
    def without():
        return is_grad_enabled()

    @set_grad_enabled(False)
    def by_value():
        return is_grad_enabled()

    @inference_mode
    def inferring():
        return is_grad_enabled()

    assert not with_parentheses() and not without() and not by_value() and not inferring()
    assert is_grad_enabled()


def test_a_decorated_generator_holds_the_mode_in_its_own_steps_only():
    @no_grad()
    def steps():
        sent = yield is_grad_enabled()
        yield sent, is_grad_enabled()

    running = steps()
    assert next(running) is False
    assert is_grad_enabled()
    assert running.send("x") == ("x", False)


def test_set_grad_enabled_acts_at_once_and_as_a_block():
    set_grad_enabled(False)
    try:
        assert not is_grad_enabled()
    finally:
        set_grad_enabled(True)
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_inference_mode_records_nothing():
    x = torchlike.ones(2, requires_grad=True)
    with inference_mode():
        assert torchlike.is_inference_mode_enabled()
        assert not (x * 2).requires_grad
    assert not torchlike.is_inference_mode_enabled()
    with inference_mode(False):
        assert (x * 2).requires_grad


def test_threads_start_with_grad_mode_on():
    seen = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_task_does_not_see_another_tasks_mode():
    async def holds(entered, leave):
        with no_grad():
            entered.set()
            await leave.wait()

    async def main():
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(holds(entered, leave))
        await entered.wait()
        seen = is_grad_enabled()
        leave.set()
        await task
        return seen

    assert asyncio.run(main()) is True


def test_modes_that_are_entered_again_restore_what_was_there_after_errors_too():
    off, on, either = no_grad(), enable_grad(), inference_mode(False)
    for _ in range(2):
        with off, on:
            assert is_grad_enabled()
            with pytest.raises(LookupError), off, either, inference_mode(), off:
                assert not is_grad_enabled()
                raise LookupError
            assert is_grad_enabled()
            assert not torchlike.is_inference_mode_enabled()
        assert is_grad_enabled()


def test_a_mode_gives_itself_to_its_block():
    mode = no_grad()
    with mode as given:
        assert given is mode
    setting = set_grad_enabled(False)
    with setting, setting:
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_a_mode_in_a_generator_ends_with_it():
    def steps():
        with no_grad():
            yield is_grad_enabled()

    assert list(steps()) == [False]
    assert is_grad_enabled()
