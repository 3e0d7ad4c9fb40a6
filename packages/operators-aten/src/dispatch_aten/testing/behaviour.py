"""Programs with tensors of a device, beyond single calls; each check raises where the device differs from the cpu."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..errors import OperatorError
from .agreement import TestedDevice, find_needed
from .comparing import DisagreementError, compare_values
from .drawing import Array, Draw
from .frontends import Adapter
from .outcomes import Outcome
from .places import place_of_error
from .samples import SEED

Check = Callable[[TestedDevice, Adapter], None]
#: How long threads and forked processes may take, in seconds.
_SECONDS: Final = 60.0


def _same(where: str, found: Array, expected: Array) -> None:
    compare_values("", where, found, np.asarray(expected))


def _floats(device: TestedDevice, *shape: int) -> Array:
    """Draw values of the widest dtype that the device has."""
    name = next(name for name in ("float64", "float32", "float16") if name in device.dtypes)
    return Draw(SEED).f(*shape).astype(name)


def _check_view_chains(device: TestedDevice, adapter: Adapter) -> None:
    """Write through chains of views, and compare the base."""
    chains: list[list[tuple[Any, ...]]] = [
        [("select", 0, 1), ("unsqueeze", 0), ("transpose", 0, 1)],
        [("permute", [2, 0, 1]), ("slice", 1, 1, None, 2), ("squeeze",)],
        [("view", [6, 4]), ("t",), ("narrow", 0, 1, 2), ("diagonal",)],
        [("unfold", 2, 2, 2), ("select", 3, 0), ("flatten",)],
    ]
    values = _floats(device, 2, 3, 4)
    for chain in chains:
        bases = []
        for name in ("cpu", device.name):
            base = view = adapter.make(values, name)
            for step, *args in chain:
                view = getattr(ops.aten, step)(view, *args)
            ops.aten.mul_(view, 2)
            ops.aten.add_(base, 1)
            bases += [adapter.read(base), adapter.read(view)]
        where = " → ".join(step for step, *_ in chain)
        _same(f"the base of {where} after a write", bases[2], bases[0])
        _same(f"the view {where} after a write to its base", bases[3], bases[1])


def _check_bounds(device: TestedDevice, adapter: Adapter) -> None:
    """View more than a storage has, and write a result to an output that is too small, which is given a larger one."""
    values = _floats(device, 2, 3)
    for source, layout in ((values, ([7], [1], 0)), (values, ([2], [1], 5)), (values[:0], ([2, 3], [3, 1], 0))):
        tensor = adapter.make(source, device.name)
        try:
            ops.aten.as_strided(tensor, *layout)
        except OperatorError:
            pass
        else:
            given = ", ".join(map(str, layout))
            raise DisagreementError(
                f"as_strided({given}) of {source.size} elements is not an error, and reaches beyond them: let the kernel"
                " call dispatch_aten.shapes.check_storage"
            )
    for count in (0, 4):
        out = ops.aten.as_strided(adapter.make(values, device.name), [count], [1])
        tensor = adapter.make(values, device.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's for an output that is not empty
            ops.aten.add(tensor, tensor, out=out)
        _same(f"an output of {count} elements", adapter.read(out), values + values)


def _check_detach(device: TestedDevice, adapter: Adapter) -> None:
    """Detach: no history, the same memory."""
    values = _floats(device, 3)
    tensor = adapter.make(values, device.name)
    cut = adapter.detach(tensor)
    ops.aten.add_(cut, 1)
    _same("what was detached from", adapter.read(tensor), values + 1)
    leaf = adapter.make(values, device.name, requires_grad=True)
    product = ops.aten.mul(leaf, leaf)
    found = adapter.gradients([ops.aten.mul(product, adapter.detach(product))], [leaf])[0]
    _same("the gradient past a detached factor", adapter.read(found), 2 * values**3)


def _check_pickling(device: TestedDevice, adapter: Adapter) -> None:
    """Write a tensor as a pickle, and read it back on its device."""
    for name in sorted(device.dtypes):
        values = np.asarray(Draw(SEED).i(9, 2, 3)).astype(name)
        tensor = adapter.make(values, device.name)
        again = pickle.loads(pickle.dumps(tensor))  # noqa: S301  # its own bytes
        if dc.device(again).type != device.name:
            raise DisagreementError(f"a pickled tensor comes back on {dc.device(again)}")
        _same(f"a pickled tensor of {name}", adapter.read(again), values)


def _check_copies(device: TestedDevice, adapter: Adapter) -> None:
    """Copy a tensor and a view of it deeply: they share memory with each other, and none with the first."""
    values = _floats(device, 2, 3)
    tensor = adapter.make(values, device.name)
    copied, view = copy.deepcopy([tensor, ops.aten.select(tensor, 0, 1)])
    ops.aten.fill_(view, 7)
    expected = values.copy()
    expected[1] = 7
    _same("a deep copy after a write to its view", adapter.read(copied), expected)
    _same("a tensor after a write to its copy", adapter.read(tensor), values)


def _check_moves(device: TestedDevice, adapter: Adapter) -> None:
    """Move tensors of every dtype and layout to the device and back."""
    for name in sorted(device.dtypes):
        for shape in ((), (0, 3), (2, 3)):
            values = np.asarray(Draw(SEED).i(9, *shape)).astype(name)
            there = adapter.move(adapter.make(values, "cpu"), device.name)
            if dc.device(there).type != device.name:
                raise DisagreementError(f"a tensor that was moved lies on {dc.device(there)}")
            back = adapter.move(there, "cpu")
            _same(f"{name}{list(shape)} there and back", adapter.read(back), values)
    values = _floats(device, 2, 3)
    turned = adapter.move(ops.aten.t(adapter.make(values, "cpu")), device.name)
    _same("a transposed tensor that was moved", adapter.read(turned), values.T)


def _check_mixed_devices(device: TestedDevice, adapter: Adapter) -> None:
    """Refuse a call on tensors of two devices, by name, and change nothing."""
    if device.name == "cpu":
        return
    values = _floats(device, 3)
    here, there = adapter.make(values, device.name), adapter.make(values, "cpu")
    for written, other in ((here, there), (there, here)):
        try:
            ops.aten.add_(written, other)
        except Exception as error:  # a frontend has errors of its own for it
            if device.name not in str(error):
                raise DisagreementError(
                    f"a call on two devices says {error}, which does not name {device.name}"
                ) from error
        else:
            raise DisagreementError("a call on tensors of two devices was not refused")
    _same("a tensor after a refused call", adapter.read(here), values)


def _train(device: TestedDevice, adapter: Adapter) -> Array:
    """Take steps of gradient descent, with writes in place, and return the weights."""
    draw = Draw(SEED)
    kind = _floats(device, 1).dtype
    inputs, targets = (adapter.make(draw.f(*shape).astype(kind), device.name) for shape in ((8, 3), (8, 1)))
    weights = adapter.make(draw.f(3, 1).astype(kind), device.name, requires_grad=True)
    for _ in range(4):
        error = ops.aten.sub(ops.aten.matmul(inputs, weights), targets)
        gradient = adapter.gradients([ops.aten.mean(ops.aten.mul(error, error))], [weights])[0]
        ops.aten.sub_(adapter.detach(weights), ops.aten.mul(gradient, 0.1))
    return adapter.read(weights)


def _on_cpu(device: TestedDevice) -> TestedDevice:
    return TestedDevice("cpu", dc.device_key("cpu"), device.dtypes, is_mutable=True)


def _check_training(device: TestedDevice, adapter: Adapter) -> None:
    """Train eagerly, in a pipeline, and in one with the plan of another."""
    expected = _train(_on_cpu(device), adapter)
    _same("weights trained eagerly", _train(device, adapter), expected)
    for which in ("first", "second"):
        with dc.pipeline():
            trained = _train(device, adapter)
        _same(f"weights trained in the {which} pipeline", trained, expected)


def _check_threads(device: TestedDevice, adapter: Adapter) -> None:
    """Train in four threads at once."""
    expected, found, errors = _train(_on_cpu(device), adapter), [], []

    def work() -> None:
        try:
            found.append(_train(device, adapter))
        except BaseException as error:  # noqa: BLE001  # it is raised below, in the thread that waits
            errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    if errors:
        raise errors[0]
    if len(found) < len(threads):
        raise DisagreementError(f"{len(threads) - len(found)} of {len(threads)} threads did not end")
    for trained in found:
        _same("weights trained beside other threads", trained, expected)


def _check_fork(device: TestedDevice, adapter: Adapter) -> None:
    """Check that a forked child can use the device or gets an error, without a hang, and that the parent goes on."""
    if sys.platform == "win32":
        return  # there is no fork
    tensor = adapter.make(_floats(device, 3), device.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of threads, which the device may have
        child = os.fork()
    if not child:
        try:
            _train(device, adapter)
        finally:
            os._exit(0)  # an error is an answer, too
    status = _wait(child)
    if status is None:
        raise DisagreementError("a forked child hangs when it uses the device")
    if os.WIFSIGNALED(status):
        raise DisagreementError(f"a forked child that uses the device is ended by signal {os.WTERMSIG(status)}")
    _same("a tensor of the parent after a fork", adapter.read(ops.aten.mul(tensor, 1)), adapter.read(tensor))


def _wait(child: int) -> int | None:
    """Return a child's status; None, after it was ended, where it did not end in time."""
    done: list[int] = []
    waiting = threading.Thread(target=lambda: done.append(os.waitpid(child, 0)[1]), daemon=True)
    waiting.start()
    waiting.join(_SECONDS)
    if done:
        return done[0]
    os.kill(child, 9)
    waiting.join()
    return None


#: Name → the check.
BEHAVIOUR: Final[dict[str, Check]] = {
    "view chains": _check_view_chains,
    "bounds of storages": _check_bounds,
    "detach": _check_detach,
    "pickling": _check_pickling,
    "deep copies": _check_copies,
    "moves between devices": _check_moves,
    "mixed devices": _check_mixed_devices,
    "training, eagerly and in pipelines": _check_training,
    "threads": _check_threads,
    "fork": _check_fork,
}


def check_behaviour(device: TestedDevice, adapter: Adapter, name: str) -> Outcome:
    """Run one of the checks.

    >>> from dispatch_aten.testing.frontends import find_adapter
    >>> check_behaviour(TestedDevice.find("cpu"), find_adapter(), "detach").status
    'passed'
    """
    try:
        BEHAVIOUR[name](device, adapter)
    except dc.NoKernelError as error:
        needed = find_needed(error)
        return Outcome(name, "missing", f"no kernel for {needed}", missing=(needed,))
    except DisagreementError as error:
        return Outcome(name, "failed", str(error))
    except Exception as error:  # noqa: BLE001  # whatever is raised is the finding
        text, place = f"{type(error).__name__}: {error}", place_of_error(device.key, error)
        return Outcome(name, "failed", text, place=place)
    return Outcome(name, "passed", samples=1)
