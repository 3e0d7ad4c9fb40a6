import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dispatch_backend_cpu.fp_errors import ignore_fp_errors, retry_under_errstate, run
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED

BIG = np.array([3e38, -1.0, np.nan, np.inf], np.float32)
NOISY = {
    "exp": (np.array([1e5]),),
    "log": (np.array([0.0, -1.0]),),
    "sqrt": (np.array([-1.0]),),
    "div.Tensor": (np.ones(2), np.zeros(2)),
    "mul.Tensor": (BIG, BIG),
    "floor_divide": (np.ones(2), np.zeros(2)),
    "pow.Tensor_Tensor": (BIG, BIG),
    "sum": (np.concatenate([BIG, -BIG]),),
    "mm": (BIG.reshape(2, 2), BIG.reshape(2, 2)),
    "mean": (np.zeros(0),),
    "var.correction": (np.array([3e38, -3e38], np.float32),),
}


@pytest.mark.parametrize("name", NOISY)
@pytest.mark.parametrize("state", ["warn", "raise"])
def test_floating_point_errors_are_silent_whatever_the_user_set(name, state):
    with warnings.catch_warnings(), np.errstate(all=state):
        warnings.simplefilter("error")
        KERNELS[name](*NOISY[name])


def test_casts_are_silent():
    from dispatch_aten.dtypes import ScalarType

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KERNELS["_to_copy"](BIG, dtype=ScalarType.Long)
        KERNELS["_to_copy"](np.array([1e300]), dtype=ScalarType.Float)
        KERNELS["_to_copy"](np.array([1 + 2j]), dtype=ScalarType.Float)


def test_the_users_settings_are_left_alone():
    with np.errstate(all="raise"):
        KERNELS["log"](np.zeros(1))
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(1))


def test_an_occupied_context_is_got_around():
    a = np.zeros(1)
    assert run(SPECIALIZED["add.Tensor"], a, a).tolist() == [0.0]
    assert run(ignore_fp_errors(np.log), a).tolist() == [-np.inf]


def test_a_thread_that_finds_the_context_occupied_takes_its_own(monkeypatch):
    inside, done = threading.Event(), threading.Event()
    holder = threading.Thread(target=lambda: run(lambda: (inside.set(), done.wait(30))))
    holder.start()
    assert inside.wait(30)
    monkeypatch.setattr(np, "errstate", None)  # It would be an error to ask for it.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                for name, arguments in NOISY.items():
                    KERNELS[name](*arguments)
                    assert retry_under_errstate(np.log, np.zeros(1)).tolist() == [-np.inf]
                with ThreadPoolExecutor(1) as pool:
                    assert pool.submit(KERNELS["log"], np.zeros(1)).result().tolist() == [-np.inf]
    finally:
        done.set()
        holder.join()


def test_calls_within_calls_are_quiet_however_deep():
    @ignore_fp_errors
    def nested(depth):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = np.log(np.zeros(1)).tolist()
        return [found, *(nested(depth - 1) if depth else [])]

    before = np.geterr()
    with np.errstate(all="raise"):
        assert nested(5) == [[-np.inf]] * 6
    assert np.geterr() == before


def test_errors_in_an_occupied_context_are_the_kernels_own():
    @ignore_fp_errors
    def fails():
        raise RuntimeError("mine")

    for depth in range(3):
        calls = [fails]
        for _ in range(depth):
            calls.append(ignore_fp_errors(calls[-1]))
        with pytest.raises(RuntimeError, match="mine"):
            calls[-1]()


def test_errors_of_kernels_are_their_own():
    @ignore_fp_errors
    def fails():
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fails()


def test_threads_do_not_meet():
    a, failures = np.full(200_000, 3e38, np.float32), []

    def work():
        try:
            for _ in range(30):
                assert np.isinf(KERNELS["mul.Tensor"](a, a)).all()
        except BaseException as error:  # noqa: BLE001  # shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
