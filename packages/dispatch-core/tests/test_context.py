"""The context's masks: nesting, exclusion over inclusion, threads and tasks, and which calls use them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core import DispatchKeySet, apply_masks, exclude_keys, include_keys
from dispatch_core.keys import context


def test_nothing_is_masked_to_begin_with():
    assert context.current() is None
    assert apply_masks("CPU") == DispatchKeySet("CPU")


def test_guards_nest_and_are_undone_in_order():
    with include_keys("Profiler"):
        with include_keys("Tracer"), exclude_keys("CPU"):
            assert apply_masks("CPU") == DispatchKeySet(["Profiler", "Tracer"])
            with exclude_keys("Tracer"):
                assert apply_masks("CPU") == DispatchKeySet("Profiler")
            assert apply_masks("CPU") == DispatchKeySet(["Profiler", "Tracer"])
        assert apply_masks("CPU") == DispatchKeySet(["Profiler", "CPU"])
    assert context.current() is None


def test_exclusion_beats_inclusion_in_either_order():
    with include_keys("Tracer"), exclude_keys("Tracer"):
        assert apply_masks("CPU") == DispatchKeySet("CPU")
    with exclude_keys("Tracer"), include_keys("Tracer"):
        assert apply_masks("CPU") == DispatchKeySet("CPU")


def test_the_same_guard_can_be_entered_inside_itself():
    guard = exclude_keys("CPU")
    with guard:
        with guard:
            assert not apply_masks("CPU")
        assert not apply_masks("CPU")
    assert apply_masks("CPU")


def test_an_error_in_the_block_undoes_the_guard():
    with pytest.raises(ZeroDivisionError), include_keys("Tracer"):
        1 / 0  # noqa: B018  # the block is to fail
    assert context.current() is None


def test_guards_take_keys_names_keysets_and_masks():
    keys = DispatchKeySet(["Tracer", "Profiler"])
    for spelled in ((keys,), ("Tracer", "Profiler"), (keys.mask,), (["Tracer"], dc.DispatchKey.Profiler)):
        with include_keys(*spelled):
            assert apply_masks("CPU") == keys | "CPU"
        with exclude_keys(*spelled):
            assert apply_masks(keys | "CPU") == DispatchKeySet("CPU")
    with pytest.raises(dc.DispatchKeyError, match="no dispatch key is named 'Trace'"):
        include_keys("Trace")
    with pytest.raises(dc.DispatchKeyError, match="bit 63"):
        exclude_keys(1 << 63)


def test_excluding_a_key_excludes_that_key_alone():
    with exclude_keys("CPU"):
        assert apply_masks(["CPU", "Meta", "SparseCPU"]) == DispatchKeySet(["Meta", "SparseCPU"])


def test_excluding_autograd_covers_backends_that_come_later():
    with exclude_keys("Autograd"):
        dc.DispatchKey.register_backend("AfterGuard")
        assert apply_masks(["AutogradAfterGuard", "AutogradCPU", "AutogradOther", "CPU"]) == DispatchKeySet("CPU")


def test_masks_do_not_reach_other_threads():
    seen = []
    with include_keys("Tracer"):
        thread = threading.Thread(target=lambda: seen.append(context.current()))
        thread.start()
        thread.join()
        assert context.current() is not None
    assert seen == [None]


def test_masks_do_not_leak_between_tasks_or_across_await():
    async def worker(name, started, go):
        with include_keys(name):
            started.set()
            await go.wait()
            await asyncio.sleep(0)
            return apply_masks("CPU")

    async def main():
        go = asyncio.Event()
        tasks = []
        for name in ("Tracer", "Profiler"):
            started = asyncio.Event()
            tasks.append(asyncio.create_task(worker(name, started, go)))
            await started.wait()
            assert context.current() is None
        go.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [DispatchKeySet(["Tracer", "CPU"]), DispatchKeySet(["Profiler", "CPU"])]


NAMES = ("Tracer", "Profiler", "Batched", "VmapMode", "Named", "Conjugate", "Negative", "ZeroTensor")


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_tasks_that_take_turns_keep_their_masks_apart(names, rng):
    """Guards that nest, are left by an error or by cancelling, in tasks that are woken in any order."""

    async def worker(name, turns):
        seen = []
        with include_keys(name):
            for turn in turns:
                with exclude_keys(turn), suppress(ZeroDivisionError), include_keys("Functionalize"):
                    await asyncio.sleep(0)
                    seen.append(apply_masks("CPU") == DispatchKeySet({name, "Functionalize", "CPU"} - {turn}))
                    if turn == name:
                        raise ZeroDivisionError
                await asyncio.sleep(0)
                seen.append(apply_masks("CPU") == DispatchKeySet([name, "CPU"]))
            await asyncio.sleep(rng.choice([0, 0, 60]))
        return all(seen) and context.current() is None

    async def main():
        tasks = [asyncio.create_task(worker(name, rng.choices(NAMES, k=3))) for name in names]
        for _ in range(12):
            await asyncio.sleep(0)
            assert context.current() is None
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert context.current() is None
        return [each for each in done if not isinstance(each, asyncio.CancelledError)]

    assert all(asyncio.run(main()))
    assert context.current() is None


def test_a_task_starts_with_the_masks_of_who_made_it_and_keeps_its_own():
    async def look():
        with include_keys("Tracer"):
            await asyncio.sleep(0)
        return apply_masks("CPU")

    async def main():
        with include_keys("Profiler"):
            task = asyncio.create_task(look())
            elsewhere = asyncio.to_thread(apply_masks, "CPU")
            in_pool = asyncio.get_running_loop().run_in_executor(None, context.current)
            assert await elsewhere == DispatchKeySet(["Profiler", "CPU"])
            assert await in_pool is None
        # The guard was left here before the task ran to its end; the masks at its making stay with it.
        assert context.current() is None
        return await task

    assert asyncio.run(main()) == DispatchKeySet(["Profiler", "CPU"])


def test_a_call_that_awaits_nothing_cannot_hand_its_masks_on(registry, library, toy):
    """A kernel in one task masks keys for its inner calls; another task that calls meanwhile meets its own."""
    library.define("f(Tensor x) -> str")
    for name in ("Tracer", "Batched", toy.key):
        library.impl("f", lambda x, name=str(name): name, name)
    array = toy.array([1])

    async def worker(name, rounds):
        for _ in range(rounds):
            with include_keys(name) if name else nullcontext():
                await asyncio.sleep(0)
                assert registry.ops.t.f(array) == (name or "Toy")
                with exclude_keys(*[name] * bool(name)):
                    await asyncio.sleep(0)
                    assert registry.ops.t.f(array) == "Toy"

    async def main():
        await asyncio.gather(*[worker(name, 20) for name in ("Tracer", "", "Batched", "Tracer", "")])

    asyncio.run(main())


@pytest.fixture
def layered(registry, library):
    """An operator with a kernel at every key of interest, which says where it arrived."""
    library.define("f(int x) -> Any")
    for name in ("Profiler", "Tracer", "CPU", "Meta"):
        library.impl("f", lambda keyset, x, name=name: (name, keyset), name, with_keyset=True)
    return registry


def test_dispatch_uses_included_keys(layered):
    with include_keys("Tracer"):
        assert layered.dispatch("t::f", 1)[0] == "Tracer"
        assert layered.dispatch_with_keyset("t::f", "CPU", 1)[0] == "Tracer"


def test_redispatch_applies_exclusions_only(layered):
    with include_keys("Tracer"), exclude_keys("Meta"):
        where, keyset = layered.redispatch("t::f", DispatchKeySet(["CPU", "Meta"]), 1)
        assert (where, keyset) == ("CPU", DispatchKeySet("CPU"))
        assert layered.ops.t.f.redispatch(["CPU", "Meta"], 1)[0] == "CPU"


def test_dispatch_with_keyset_is_keys_with_included_without_excluded(layered):
    with include_keys("Tracer", "Profiler"), exclude_keys("Profiler"):
        where, keyset = layered.dispatch_with_keyset("t::f", ["CPU", "Profiler"], 1)
        assert (where, keyset) == ("Tracer", DispatchKeySet(["Tracer", "CPU"]))


def test_a_layer_under_an_included_key_does_not_recur(registry, library):
    seen = []
    library.define("f(int x) -> int")

    def profile(keyset, x):
        seen.append(keyset)
        return registry.redispatch("t::f", keyset - "Profiler", x)

    library.impl("f", profile, "Profiler", with_keyset=True)
    library.impl("f", lambda x: x + 1, "CPU")
    with include_keys("Profiler", "CPU"):
        assert registry.dispatch("t::f", 1) == 2
    assert seen == [DispatchKeySet(["Profiler", "CPU"])]


def test_a_keyset_given_to_a_kernel_can_be_masked(registry, library, toy, tensors):
    """The keyset carries its frontend's marker, which is nothing to mask."""
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: type(x)(x.a + 1), toy.key)

    def layer(keyset, x):
        with exclude_keys(keyset & "Tracer"):
            return registry.ops.t.f(x)

    library.impl("f", layer, "Tracer", with_keyset=True)
    with include_keys("Tracer"):
        found = registry.ops.t.f(tensors.wrap(toy.array([1])))
    assert isinstance(found, tensors.tensor_type)
    assert found._dispatch_data == [2]


def test_what_equals_a_key_is_not_taken_for_it():
    for guard in (include_keys, exclude_keys):
        for key in dc.DispatchKey.CPU, "CPU", int(dc.DispatchKey.CPU):
            guard(key)
        for other in (True, 1.0) if dc.DispatchKey.CPU == 1 else (float(dc.DispatchKey.CPU),):
            with pytest.raises(dc.ArgumentError, match=type(other).__name__):
                guard(other)


def test_an_unknown_name_is_refused_each_time():
    for _ in range(2):
        with pytest.raises(dc.DispatchKeyError, match="no dispatch key is named 'Trace'"):
            exclude_keys("CPU", "Trace")


@given(st.recursive(st.just([]), lambda inner: st.lists(st.tuples(st.integers(0, 3), inner), max_size=3)))
def test_guards_that_are_entered_again_and_again_restore_what_was_there(blocks):
    """Each block enters one of four guards, also inside itself; the last of a run of blocks leaves by an error."""
    keys = [("Tracer",), ("Profiler", "CPU"), ("CPU",), ("Meta", "Tracer")]
    guards = [make(*names) for make, names in zip([include_keys, exclude_keys] * 2, keys, strict=True)]

    def run(blocks, included, excluded):
        expected = None if not included and not excluded else (included, excluded)
        for which, inner in blocks:
            mask = DispatchKeySet(keys[which]).mask
            now = (included, excluded | mask) if which % 2 else (included | mask, excluded)
            try:
                with guards[which]:
                    assert context.current() == now
                    run(inner, *now)
                    assert context.current() == now
                    if which == 3:
                        raise LookupError
            except LookupError:
                pass
            assert context.current() == expected

    run(blocks, 0, 0)
    assert context.current() is None


@pytest.mark.parametrize("wrong", [object(), 1.5, ["CPU", 1.5]])
def test_what_is_no_key_is_refused_with_one_error(wrong):
    with pytest.raises((dc.ArgumentError, dc.DispatchKeyError)) as caught:
        exclude_keys("CPU", wrong)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
