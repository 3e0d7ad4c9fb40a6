"""The simulator refuses calls as ACL's documents say, with their codes, and does work when it is waited for.

Its functions are called as C would call them, with the prototypes of the headers and without the package's own layers.
"""

import ctypes
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from dispatch_backend_npu.acl.library import c_type
from dispatch_backend_npu.runtime import device

pytestmark = pytest.mark.no_pipeline(reason="calls the simulator, and no operator")

FUNCTIONS = json.loads((Path(__file__).parent / "acl_prototypes.json").read_text())["functions"]
DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "int64": 9,
    "float64": 11,
    "bool": 12,
}
ND = 2
HOST_TO_HOST, TO_DEVICE, TO_HOST, ON_DEVICE = range(4)


class Calls:
    """The simulator's functions by name; each returns its status."""

    def __init__(self, folder):
        self._libraries = [
            ctypes.CDLL(str(folder / "lib64" / name)) for name in ("libascendcl.so", "libnnopbase.so", "libopapi.so")
        ]

    def __getattr__(self, name):
        row = FUNCTIONS[name]
        function = next(getattr(each, name) for each in self._libraries if hasattr(each, name))
        function.restype = _type(row["ret"])
        function.argtypes = [_type(kind) for kind, _ in row["args"]]
        setattr(self, name, function)
        return function


def _type(kind):
    if kind == "aclFloat16":
        return ctypes.c_uint16
    try:
        return c_type(kind)
    except KeyError:
        return ctypes.c_void_p if kind.endswith("*") else ctypes.c_int


@pytest.fixture
def acl(npu, simulator):
    device.ensure(0)
    calls = Calls(npu)
    calls.aclGetRecentErrMsg()
    return calls


class Bench:
    """Tensors in device memory, created and destroyed as by a caller."""

    def __init__(self, acl):
        self.acl = acl
        self.memory, self.tensors, self.executors = [], [], []

    def allocate(self, nbytes):
        pointer = ctypes.c_void_p()
        assert self.acl.aclrtMalloc(ctypes.byref(pointer), nbytes, 0) == 0
        self.memory.append(pointer.value)
        return pointer.value

    def put(self, array):
        pointer = self.allocate(max(array.nbytes, 1))
        assert self.acl.aclrtMemcpy(pointer, array.nbytes, array.ctypes.data, array.nbytes, TO_DEVICE) == 0
        return pointer

    def get(self, pointer, like):
        found = np.empty_like(like)
        assert self.acl.aclrtMemcpy(found.ctypes.data, found.nbytes, pointer, found.nbytes, TO_HOST) == 0
        return found

    def tensor(
        self, pointer, shape, dtype="float32", strides=None, offset=0, storage=None, layout=ND, dtype_number=None
    ):
        size = int(np.prod(shape))
        made = self.acl.aclCreateTensor(
            (ctypes.c_int64 * len(shape))(*shape),
            len(shape),
            DTYPES[dtype] if dtype_number is None else dtype_number,
            None if strides is None else (ctypes.c_int64 * len(strides))(*strides),
            offset,
            layout,
            (ctypes.c_int64 * 1)(size if storage is None else storage),
            1,
            pointer,
        )
        if made:
            self.tensors.append(made)
        return made

    def array(self, array):
        return self.tensor(self.put(array), array.shape, array.dtype.name)

    def scalar(self, value):
        number = ctypes.c_double(value)
        return self.acl.aclCreateScalar(ctypes.addressof(number), DTYPES["float64"])

    def phase_one(self, name, *arguments):
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        status = getattr(self.acl, f"{name}GetWorkspaceSize")(*arguments, ctypes.byref(size), ctypes.byref(executor))
        self.executors.append(executor.value)
        return status, size.value, executor.value

    def run(self, name, *arguments, stream=None):
        status, size, executor = self.phase_one(name, *arguments)
        assert status == 0, self.message()
        workspace = self.allocate(size) if size else None
        assert getattr(self.acl, name)(workspace, size, executor, stream) == 0, self.message()

    def message(self):
        return (self.acl.aclGetRecentErrMsg() or b"").decode()

    def close(self):
        self.acl.aclrtSynchronizeDevice()
        for each in self.executors:  # those that phase two has deleted are refused
            self.acl.aclDestroyAclOpExecutor(each)
        for each in self.tensors:
            self.acl.aclDestroyTensor(each)
        for each in self.memory:
            self.acl.aclrtFree(each)


@pytest.fixture
def bench(acl):
    made = Bench(acl)
    yield made
    made.close()


# The runtime.


def test_repeated_initialisation_says_so(acl):
    assert acl.aclInit(None) == 100002
    assert acl.aclInit(b"/no/such/file.json") == 100003
    references = ctypes.c_uint64()
    assert acl.aclFinalizeReference(ctypes.byref(references)) == 0
    assert references.value >= 1


def test_no_call_succeeds_before_initialisation_and_after_the_end(npu, simulator):
    code = f"""
import ctypes
acl = ctypes.CDLL({str(npu / "lib64" / "libascendcl.so")!r})
count, pointer = ctypes.c_uint32(), ctypes.c_void_p()
print(acl.aclrtGetDeviceCount(ctypes.byref(count)), count.value)
print(acl.aclrtSetDevice(0), acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(8), 0))
print(acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclInit(None))
print(acl.aclFinalize(), acl.aclFinalize(), acl.aclrtSetDevice(0))
print(acl.aclInit(None), acl.aclrtSynchronizeDevice(), acl.aclrtSetDevice(0), acl.aclFinalize())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0 2", "100001 100001", "0 0 100002", "0 100037 100001", "0 107002 0 0"]


def test_its_name_says_that_it_is_a_simulator(acl, monkeypatch):
    monkeypatch.delenv("DISPATCH_NPU_SIMULATE", raising=False)
    assert acl.aclrtGetSocName() == b"Ascend910B1 (simulator)"


def test_a_device_that_does_not_exist(acl):
    assert acl.aclrtSetDevice(7) == 107001
    assert "there is no device 7" in acl.aclGetRecentErrMsg().decode()


def test_messages_are_read_once_and_belong_to_the_thread(acl):
    acl.aclrtSetDevice(7)
    others = []
    thread = threading.Thread(target=lambda: others.append(acl.aclGetRecentErrMsg()))
    thread.start()
    thread.join()
    assert others == [None]
    assert acl.aclGetRecentErrMsg() is not None
    assert acl.aclGetRecentErrMsg() is None


def test_a_thread_without_a_context_can_do_nothing(acl):
    found = []

    def work():
        pointer, number = ctypes.c_void_p(), ctypes.c_int32()
        found.extend(
            [
                acl.aclrtMalloc(ctypes.byref(pointer), 16, 0),
                acl.aclrtGetDevice(ctypes.byref(number)),
                acl.aclrtCreateStream(ctypes.byref(pointer)),
                acl.aclrtSynchronizeDevice(),
            ]
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [107002] * 4


def test_memory_that_cannot_be_had(acl, simulator):
    pointer = ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(pointer), 0, 0) == 100000
    assert acl.aclrtMalloc(None, 16, 0) == 100000
    simulator.set_capacity(simulator.memory().live + 1024)
    assert acl.aclrtMalloc(ctypes.byref(pointer), 1 << 20, 0) == 207001
    assert "1048576 bytes asked for" in acl.aclGetRecentErrMsg().decode()


def test_memory_is_rounded_and_aligned(acl, simulator):
    before, pointer = simulator.memory().live, ctypes.c_void_p()
    with simulator.without("pages"):
        assert acl.aclrtMalloc(ctypes.byref(pointer), 1, 0) == 0
    assert simulator.memory().live - before == 64
    assert pointer.value % 64 == 0
    assert acl.aclrtFree(pointer) == 0
    assert simulator.memory().live == before


@pytest.mark.parametrize(
    ("asked", "policy", "taken"),
    [
        (1, 0, 4096),
        (4096 - 32, 0, 4096),
        (4096, 0, 8192),
        ((1 << 20) - 32, 0, 1 << 20),
        (1 << 20, 0, 2 << 20),
        ((2 << 20) - 32, 0, 2 << 20),
        (2 << 20, 0, 4 << 20),
        (2 << 20, 2, (2 << 20) + 4096),  # pages of the normal size only
    ],
)
def test_memory_is_taken_in_pages(acl, simulator, asked, policy, taken):
    before, pointer = simulator.memory().live, ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(pointer), asked, policy) == 0
    assert simulator.memory().live - before == taken
    # The rest of the last page does not belong to the caller.
    padded = -(-asked // 32) * 32 + 32
    assert acl.aclrtMemsetAsync(pointer, padded, 0, padded, None) == 0
    assert acl.aclrtMemsetAsync(pointer, padded + 1, 0, padded + 1, None) == 107000
    acl.aclrtSynchronizeStream(None)
    assert acl.aclrtFree(pointer) == 0
    assert simulator.memory().live == before


def test_memory_is_freed_once(acl):
    pointer = ctypes.c_void_p()
    acl.aclrtMalloc(ctypes.byref(pointer), 16, 0)
    assert acl.aclrtFree(None) == 100000
    assert acl.aclrtFree(pointer.value + 8) == 107000
    assert acl.aclrtFree(pointer) == 0
    assert acl.aclrtFree(pointer) == 107000


@pytest.mark.parametrize(
    ("dest_max", "count", "shift", "status"),
    [(64, 64, 0, 0), (64, 65, 0, 107000), (1024, 1024, 0, 107000), (64, 64, 64, 107000), (64, 0, 64, 0)],
)
def test_copies_stay_within_an_allocation(acl, bench, dest_max, count, shift, status):
    pointer = bench.allocate(64)
    host = np.zeros(1024, np.uint8)
    assert acl.aclrtMemcpy(pointer + shift, dest_max, host.ctypes.data, count, TO_DEVICE) == status


def test_copies_need_the_right_kind_and_pointers(acl, bench):
    pointer, host = bench.allocate(64), np.zeros(64, np.uint8)
    assert acl.aclrtMemcpy(None, 64, host.ctypes.data, 64, TO_DEVICE) == 100000
    assert acl.aclrtMemcpy(pointer, 64, host.ctypes.data, 64, 9) == 107000
    assert acl.aclrtMemcpy(host.ctypes.data, 64, host.ctypes.data, 64, TO_DEVICE) == 107000
    assert acl.aclrtMemcpy(pointer, 64, host.ctypes.data, 64, TO_HOST) == 107000
    assert acl.aclrtMemcpyAsync(host.ctypes.data, 64, host.ctypes.data, 64, HOST_TO_HOST, None) == 207000


def test_pinned_memory_is_copied_when_the_stream_gets_there(acl, bench):
    pointer, pinned = bench.allocate(64), ctypes.c_void_p()
    assert acl.aclrtMallocHost(ctypes.byref(pinned), 64) == 0
    ctypes.memset(pinned, 1, 64)
    assert acl.aclrtMemcpyAsync(pointer, 64, pinned, 64, TO_DEVICE, None) == 0
    ctypes.memset(pinned, 2, 64)
    acl.aclrtSynchronizeStream(None)
    assert bench.get(pointer, np.zeros(64, np.uint8))[0] == 2
    # Other memory may be written to again at once.
    host = np.ones(64, np.uint8)
    assert acl.aclrtMemcpyAsync(pointer, 64, host.ctypes.data, 64, TO_DEVICE, None) == 0
    host[:] = 3
    acl.aclrtSynchronizeStream(None)
    assert bench.get(pointer, host)[0] == 1
    acl.aclrtMemcpyAsync(pointer, 64, pinned, 64, TO_DEVICE, None)
    assert acl.aclrtFreeHost(pinned) == 0
    assert acl.aclrtSynchronizeStream(None) == 507015
    assert acl.aclrtFreeHost(pinned) == 107000


# Streams and events.


def test_streams_belong_to_their_context(acl):
    mine, other, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    acl.aclrtGetCurrentContext(ctypes.byref(mine))
    assert acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    assert acl.aclrtCreateContext(ctypes.byref(other), 0) == 0
    try:
        assert acl.aclrtSynchronizeStream(stream) == 107003
        assert acl.aclrtDestroyStream(stream) == 107003
    finally:
        acl.aclrtSetCurrentContext(mine)
    assert acl.aclrtDestroyContext(other) == 0
    assert acl.aclrtSetCurrentContext(other) == 107002
    assert acl.aclrtDestroyStream(None) == 100000
    assert acl.aclrtDestroyStream(stream) == 0
    assert acl.aclrtDestroyStream(stream) == 107017


@pytest.mark.of_functions
def test_work_is_done_when_it_is_waited_for(acl, bench):
    a, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    result = bench.put(out)
    bench.run("aclnnExp", bench.array(a), bench.tensor(result, (4,)))
    # A copy does not wait for the stream: without a synchronisation there is nothing to see yet.
    assert (bench.get(result, out) == 0).all()
    assert acl.aclrtSynchronizeStream(None) == 0
    np.testing.assert_allclose(bench.get(result, out), np.exp(a), rtol=1e-6)


@pytest.mark.of_functions
def test_one_stream_waits_for_another(acl, bench):
    first, second, event = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    acl.aclrtCreateStream(ctypes.byref(first))
    acl.aclrtCreateStream(ctypes.byref(second))
    acl.aclrtCreateEventExWithFlag(ctypes.byref(event), 1)
    a = np.arange(4, dtype=np.float32)
    middle, result = bench.put(a * 0), bench.put(a * 0)
    bench.run("aclnnNeg", bench.array(a), bench.tensor(middle, (4,)), stream=first)
    assert acl.aclrtRecordEvent(event, first) == 0
    status = ctypes.c_int()
    assert acl.aclrtQueryEventStatus(event, ctypes.byref(status)) == 0
    assert status.value == 0
    assert acl.aclrtStreamWaitEvent(second, event) == 0
    bench.run("aclnnAbs", bench.tensor(middle, (4,)), bench.tensor(result, (4,)), stream=second)
    assert acl.aclrtSynchronizeStream(second) == 0
    assert bench.get(result, a).tolist() == [0, 1, 2, 3]
    acl.aclrtQueryEventStatus(event, ctypes.byref(status))
    assert status.value == 1
    for each in (first, second):
        assert acl.aclrtDestroyStream(each) == 0
    assert acl.aclrtDestroyEvent(event) == 0
    assert acl.aclrtDestroyEvent(event) == 107017


@pytest.mark.of_functions
def test_an_event_may_be_destroyed_when_a_stream_will_wait_for_it(acl, bench, simulator):
    first, second, event = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    acl.aclrtCreateStream(ctypes.byref(first))
    acl.aclrtCreateStream(ctypes.byref(second))
    acl.aclrtCreateEventExWithFlag(ctypes.byref(event), 1)
    a = np.arange(4, dtype=np.float32)
    result = bench.put(a)
    bench.run("aclnnInplaceNeg", bench.tensor(result, (4,)), stream=first)
    acl.aclrtRecordEvent(event, first)
    acl.aclrtStreamWaitEvent(second, event)
    assert acl.aclrtDestroyEvent(event) == 0
    assert "events" not in simulator.counts()
    assert acl.aclrtSynchronizeStream(second) == 0
    assert bench.get(result, a).tolist() == (-a).tolist()
    for each in (first, second):
        assert acl.aclrtDestroyStream(each) == 0


def test_events_do_what_their_flags_allow(acl):
    plain, timed = ctypes.c_void_p(), ctypes.c_void_p()
    acl.aclrtCreateEventExWithFlag(ctypes.byref(plain), 1)
    acl.aclrtCreateEventExWithFlag(ctypes.byref(timed), 8)
    elapsed = ctypes.c_float()
    assert acl.aclrtEventElapsedTime(ctypes.byref(elapsed), plain, timed) == 107000
    assert acl.aclrtEventElapsedTime(ctypes.byref(elapsed), timed, timed) == 107006
    assert acl.aclrtStreamWaitEvent(None, timed) == 107000
    acl.aclrtRecordEvent(timed, None)
    assert acl.aclrtSynchronizeEvent(timed) == 0
    assert acl.aclrtEventElapsedTime(ctypes.byref(elapsed), timed, timed) == 0
    assert elapsed.value == 0
    for each in (plain, timed):
        acl.aclrtDestroyEvent(each)


# The two phases.


@pytest.mark.of_functions
def test_required_arguments(bench):
    tensor = bench.array(np.zeros(3, np.float32))
    assert bench.phase_one("aclnnExp", None, tensor)[0] == 161001
    assert "self is a null pointer" in bench.message()
    assert bench.phase_one("aclnnClamp", tensor, None, None, tensor)[0] == 0  # both limits are optional
    assert bench.acl.aclnnExpGetWorkspaceSize(tensor, tensor, None, None) == 161001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": 3}, "format 3"),
        ({"dtype_number": 29}, "data type 29"),
        ({"dtype_number": 16}, "data type 16"),
        ({"offset": 1}, "reaches elements 1 to 4 of a storage of 4"),
        ({"strides": (2,)}, "reaches elements 0 to 6 of a storage of 4"),
    ],
)
def test_tensors_that_are_refused(bench, change, message):
    good = bench.array(np.zeros(4, np.float32))
    wrong = bench.tensor(bench.allocate(64), (4,), **change)
    assert bench.phase_one("aclnnNeg", wrong, good)[0] == 161002
    assert message in bench.message()


@pytest.mark.of_functions
def test_data_is_aligned_to_32_bytes(bench):
    pointer = bench.allocate(64)
    wrong, good = bench.tensor(pointer + 4, (4,)), bench.tensor(pointer, (4,), offset=1, storage=5)
    assert bench.phase_one("aclnnNeg", wrong, good)[0] == 161002
    assert "not aligned to 32 bytes" in bench.message()
    bench.run("aclnnNeg", good, good)


@pytest.mark.of_functions
@pytest.mark.parametrize(
    ("function", "shapes", "dtypes", "message"),
    [
        ("aclnnMul", ((2, 3), (4,), (2, 3)), ("float32",) * 3, "do not broadcast"),
        ("aclnnMul", ((2, 3), (3,), (3,)), ("float32",) * 3, "out does not have the shape"),
        ("aclnnMul", ((3,), (3,), (3,)), ("float32", "float32", "int32"), "cannot be stored in an integer tensor"),
        ("aclnnBitwiseAndTensor", ((3,), (3,), (3,)), ("float32",) * 3, "this chip takes no self of data type 0"),
        ("aclnnDiv", ((3,), (3,), (3,)), ("int32",) * 3, "cannot be stored in an integer tensor"),
    ],
)
def test_maps_check_shapes_and_dtypes(bench, function, shapes, dtypes, message):
    tensors = [bench.array(np.zeros(shape, dtype)) for shape, dtype in zip(shapes, dtypes, strict=True)]
    assert bench.phase_one(function, *tensors)[0] == 161002
    assert message in bench.message()


@pytest.mark.of_functions
def test_an_executor_is_used_once(acl, bench, simulator):
    a = bench.array(np.zeros(3, np.float32))
    _, size, executor = bench.phase_one("aclnnNeg", a, a)
    assert simulator.counts()["executors"] == 1
    assert acl.aclnnNeg(None, size, executor, None) == 0
    assert "executors" not in simulator.counts()
    assert acl.aclnnNeg(None, size, executor, None) == 161002
    assert "used already" in bench.message()
    assert acl.aclnnNeg(None, 0, None, None) == 161001


@pytest.mark.of_functions
def test_an_executor_belongs_to_its_operator(acl, bench):
    a = bench.array(np.zeros(3, np.float32))
    _, _, executor = bench.phase_one("aclnnNeg", a, a)
    assert acl.aclnnExp(None, 0, executor, None) == 161002
    assert "was made by aclnnNegGetWorkspaceSize" in bench.message()


@pytest.mark.of_functions
def test_the_workspace_is_as_large_as_asked_for(acl, bench, simulator):
    a, out = bench.array(np.ones((2, 3), np.float32)), bench.array(np.zeros((), np.float32))
    none = acl.aclCreateIntArray(None, 0)
    for workspace, given, status in (
        (None, lambda size: size, 161001),
        (bench.allocate(64), lambda size: size - 1, 161002),
    ):
        found, size, executor = bench.phase_one("aclnnReduceSum", a, none, False, 0, out)
        assert found == 0 and size > 0
        assert acl.aclnnReduceSum(workspace, given(size), executor, None) == status
        assert "executors" not in simulator.counts()  # Phase two deletes it whether it succeeds or not.
    _, size, executor = bench.phase_one("aclnnReduceSum", a, none, False, 0, out)
    small = bench.allocate(64)
    assert acl.aclnnReduceSum(small, size, executor, None) == 0
    assert acl.aclrtSynchronizeStream(None) == 507015
    acl.aclDestroyIntArray(none)


@pytest.mark.of_functions
def test_tensors_live_until_phase_two(acl, bench):
    a = bench.array(np.zeros(3, np.float32))
    gone = bench.tensors.pop() if bench.array(np.zeros(3, np.float32)) else None
    _, _, executor = bench.phase_one("aclnnNeg", gone, a)
    assert acl.aclDestroyTensor(gone) == 0
    assert acl.aclnnNeg(None, 0, executor, None) == 161002
    assert "self was destroyed before phase two" in bench.message()
    assert acl.aclDestroyTensor(gone) == 161002
    assert bench.phase_one("aclnnNeg", gone, a)[0] == 161002


@pytest.mark.of_functions
def test_memory_lives_until_the_stream_is_there(acl, bench):
    a, pointer = bench.array(np.zeros(3, np.float32)), bench.allocate(64)
    bench.run("aclnnNeg", bench.tensor(pointer, (3,)), a)
    assert acl.aclrtFree(bench.memory.pop()) == 0
    assert acl.aclrtSynchronizeStream(None) == 507015
    assert "the memory of self is not within one live allocation" in bench.message()
    assert acl.aclrtSynchronizeStream(None) == 0


@pytest.mark.of_functions
def test_descriptors_may_go_when_the_work_is_on_the_stream(acl, bench):
    a = np.arange(3, dtype=np.float32)
    source, result = bench.put(a), bench.put(a * 0)
    bench.run("aclnnNeg", bench.tensor(source, (3,)), bench.tensor(result, (3,)))
    for each in (bench.tensors.pop(), bench.tensors.pop()):
        assert acl.aclDestroyTensor(each) == 0
    acl.aclrtSynchronizeStream(None)
    assert bench.get(result, a).tolist() == [0, -1, -2]


@pytest.mark.of_functions
def test_repeatable_executors_take_new_addresses(acl, bench, simulator):
    a, b = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    first, second, result = bench.put(a), bench.put(b), bench.put(a * 0)
    source, out = bench.tensor(first, (3,)), bench.tensor(result, (3,))
    _, _, executor = bench.phase_one("aclnnNeg", source, out)
    assert acl.aclSetAclOpExecutorRepeatable(executor) == 0
    for address, wanted in ((first, -a), (second, -b), (first, -a)):
        assert acl.aclSetInputTensorAddr(executor, 0, source, address) == 0
        assert acl.aclnnNeg(None, 0, executor, None) == 0
        acl.aclrtSynchronizeStream(None)
        assert bench.get(result, a).tolist() == wanted.tolist()
    assert acl.aclSetInputTensorAddr(executor, 1, source, first) == 161002
    assert acl.aclSetOutputTensorAddr(executor, 0, source, first) == 161002
    assert acl.aclSetInputTensorAddr(None, 0, source, first) == 561103
    assert acl.aclSetAclOpExecutorRepeatable(None) == 561103
    assert acl.aclDestroyAclOpExecutor(executor) == 0
    assert acl.aclDestroyAclOpExecutor(executor) == 161002
    assert "executors" not in simulator.counts()


@pytest.mark.of_functions
def test_what_the_cache_answers_is_not_repeatable(acl, bench, simulator):
    source, other = bench.put(np.float32([1, 2, 3])), bench.put(np.float32([10, 20, 30]))
    view, out = bench.tensor(source, (3,)), bench.array(np.zeros(3, np.float32))
    with simulator.without("operator cache"):
        bench.run("aclnnNeg", view, out)
        _, _, executor = bench.phase_one("aclnnNeg", view, out)
        assert acl.aclSetAclOpExecutorRepeatable(executor) == 0
        assert acl.aclDestroyAclOpExecutor(executor) == 0
    bench.run("aclnnNeg", view, out)
    _, size, executor = bench.phase_one("aclnnNeg", bench.tensor(other, (3,)), out)
    assert acl.aclSetAclOpExecutorRepeatable(executor) == 561000
    assert "the cache answered aclnnNegGetWorkspaceSize" in bench.message()
    assert acl.aclnnNeg(None, size, executor, None) == 0
    # An executor of the cache keeps the addresses of its first phase.
    _, size, executor = bench.phase_one("aclnnInplaceNeg", view)
    assert acl.aclDestroyAclOpExecutor(executor) == 0
    bench.run("aclnnInplaceNeg", view)
    _, size, executor = bench.phase_one("aclnnInplaceNeg", view)
    assert acl.aclSetInputTensorAddr(executor, 0, view, other) == 0
    assert acl.aclnnInplaceNeg(None, size, executor, None) == 0
    assert acl.aclrtSynchronizeStream(None) == 0
    assert bench.get(source, np.zeros(3, np.float32)).tolist() == [1, 2, 3]
    assert bench.get(other, np.zeros(3, np.float32)).tolist() == [10, 20, 30]
    assert simulator.first_phases() == (5, 2)


@pytest.mark.of_functions
def test_the_cache_is_asked_by_descriptions_and_numbers(acl, bench, simulator):
    pointer, result = bench.put(np.zeros(16, np.float32)), bench.put(np.zeros(16, np.float32))
    scalars = [bench.scalar(each) for each in (1.0, 1.0, 2.0, -0.0, 0.0)]

    def answered(number, *description, **keywords):
        before = simulator.first_phases().answered
        out = bench.tensor(result, *description, storage=16)
        bench.run("aclnnAdds", bench.tensor(pointer, *description, **keywords), scalars[number], scalars[0], out)
        return simulator.first_phases().answered > before

    assert not answered(0, (3,))
    assert answered(0, (3,)) and answered(1, (3,))
    for number, description, keywords in (
        (2, ((3,),), {}),
        (3, ((3,),), {}),
        (4, ((3,),), {}),
        (0, ((4,),), {}),
        (0, ((3, 1),), {}),
        (0, ((3,), "float16"), {}),
        (0, ((3,),), {"storage": 16}),
        (0, ((3,),), {"storage": 16, "offset": 1}),
        (0, ((3,),), {"storage": 16, "strides": (2,)}),
        (0, ((3,),), {"layout": 47}),
    ):
        assert not answered(number, *description, **keywords)
        assert answered(number, *description, **keywords)
    a, b = bench.tensor(pointer, (3,)), bench.tensor(pointer, (3,))
    for operands, found in (((a, a), 0), ((a, b), 0), ((b, a), 1), ((b, b), 1)):
        before = simulator.first_phases().answered
        bench.run("aclnnMul", *operands, bench.tensor(result, (3,)))
        assert simulator.first_phases().answered - before == found
    for each in scalars:
        acl.aclDestroyScalar(each)


@pytest.mark.of_functions
def test_executors_that_never_ran_or_that_repeat_answer_nothing(acl, bench, simulator):
    a = bench.array(np.zeros(3, np.float32))
    for _ in range(2):  # Both are there before one has run.
        _, _, executor = bench.phase_one("aclnnNeg", a, a)
        assert acl.aclSetAclOpExecutorRepeatable(executor) == 0
        assert acl.aclnnNeg(None, 0, executor, None) == 0
    _, _, unused = bench.phase_one("aclnnNeg", a, a)
    assert acl.aclDestroyAclOpExecutor(unused) == 0
    with simulator.failing("aclnnExp", 1, 561000):
        _, _, executor = bench.phase_one("aclnnExp", a, a)
        assert acl.aclnnExp(None, 0, executor, None) == 561000
    for name in ("aclnnNeg", "aclnnExp"):
        _, _, executor = bench.phase_one(name, a, a)
        assert acl.aclSetAclOpExecutorRepeatable(executor) == 0
    for executor in {*bench.executors} - {None}:
        acl.aclDestroyAclOpExecutor(executor)
    bench.executors.clear()


@pytest.mark.of_functions
def test_doubles_are_the_ai_cpu_s(acl, bench, simulator):
    a = bench.array(np.zeros(3))
    for _ in range(2):
        bench.run("aclnnInplaceNeg", a)
    assert simulator.first_phases() == (2, 0)
    _, _, executor = bench.phase_one("aclnnInplaceNeg", a)
    assert acl.aclSetAclOpExecutorRepeatable(executor) == 561000
    assert "the AI CPU computes aclnnInplaceNeg" in bench.message()


@pytest.mark.of_functions
def test_each_thread_has_a_cache(acl, bench, simulator):
    a = bench.array(np.zeros(3, np.float32))
    bench.run("aclnnInplaceNeg", a)

    def elsewhere():
        acl.aclrtSetDevice(0)
        bench.run("aclnnInplaceNeg", a)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    bench.run("aclnnInplaceNeg", a)
    assert simulator.first_phases() == (2, 1)
    acl.aclrtResetDevice(0)


def test_lists_own_their_tensors(acl, bench, simulator):
    before = simulator.counts()
    pointer = bench.allocate(64)
    parts = [bench.tensor(pointer, (2,)) for _ in range(3)]
    made = acl.aclCreateTensorList((ctypes.c_void_p * 3)(*parts), 3)
    assert acl.aclDestroyTensor(parts[0]) == 161002
    assert acl.aclDestroyTensorList(made) == 0
    bench.tensors.clear()
    assert acl.aclDestroyTensorList(None) == 0
    assert simulator.counts() == {**before, "device_memory": before.get("device_memory", 0) + 1}


def test_descriptors_without_their_values(acl):
    assert acl.aclCreateTensor(None, 2, 0, None, 0, ND, None, 0, None) is None
    assert acl.aclCreateScalar(None, 0) is None
    scalar = acl.aclCreateTensor(None, 0, 0, None, 0, ND, None, 0, None)
    assert scalar
    assert acl.aclDestroyTensor(scalar) == 0
    assert acl.aclDestroyTensor(None) == 0


# Injected failures.


def test_the_nth_call_fails(acl, bench, simulator):
    pointer = ctypes.c_void_p()
    with simulator.failing("aclrtMalloc", 2, 207001):
        assert acl.aclrtMalloc(ctypes.byref(pointer), 16, 0) == 0
        kept = pointer.value
        assert acl.aclrtMalloc(ctypes.byref(pointer), 16, 0) == 207001
        assert "aclrtMalloc failed on demand" in bench.message()
        assert acl.aclrtMalloc(ctypes.byref(pointer), 16, 0) == 0
    acl.aclrtFree(pointer)
    # A call that releases has released, because no caller could try again.
    with simulator.failing("", 1, 507899):
        assert acl.aclrtFree(kept) == 507899
    assert acl.aclrtFree(kept) == 107000
    with simulator.failing("aclCreateTensor", 1):
        assert acl.aclCreateTensor(None, 0, 0, None, 0, ND, None, 0, None) is None


@pytest.mark.of_functions
def test_a_failing_phase_two_leaves_no_executor(acl, bench, simulator):
    a = bench.array(np.zeros(3, np.float32))
    _, _, executor = bench.phase_one("aclnnNeg", a, a)
    with simulator.failing("aclnnNeg", 1, 561000):
        assert acl.aclnnNeg(None, 0, executor, None) == 561000
    assert "executors" not in simulator.counts()


@pytest.mark.of_functions
def test_work_can_fault(acl, bench, simulator):
    a = bench.array(np.ones(3, np.float32))
    bench.run("aclnnInplaceNeg", a)
    bench.run("aclnnInplaceNeg", a)
    simulator.fail_task(2)
    assert acl.aclrtSynchronizeDevice() == 507015
    assert acl.aclrtSynchronizeDevice() == 0


@pytest.mark.of_functions
def test_the_log_has_calls_and_work_in_order(acl, bench, simulator):
    a = bench.array(np.ones(3, np.float32))
    simulator.reset()
    bench.run("aclnnInplaceNeg", a)
    acl.aclrtSynchronizeStream(None)
    calls = ["aclnnInplaceNegGetWorkspaceSize", "aclnnInplaceNeg", "aclrtSynchronizeStream"]
    assert simulator.log() == calls
    assert simulator.log(work=True) == [*calls, "run aclnnInplaceNeg"]
    assert simulator.calls() == 3


# Numbers.


def test_halves_are_converted_as_numpy_converts_them(acl):
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(np.float16)
    wanted = halves.astype(np.float32)
    found = np.float32([acl.aclFloat16ToFloat(int(each)) for each in bits])
    np.testing.assert_array_equal(found, wanted)
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 6, 2000), wanted[np.isfinite(wanted)][::7]]
    )
    middles = (wanted[:31743] + wanted[1:31744]) / 2  # halfway between neighbours: to even
    values = np.concatenate([values, middles]).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    assert [acl.aclFloatToFloat16(float(each)) for each in values] == expected.tolist()


@pytest.mark.of_functions
def test_bfloat16_keeps_the_upper_half_rounded_to_even(acl, bench):
    values = np.float32([1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.14159, 1e38, np.inf, 0])
    stored = bench.tensor(bench.allocate(64), values.shape, dtype_number=27)
    result = bench.put(values)
    bench.run("aclnnCast", bench.array(values), 27, stored)
    bench.run("aclnnCast", stored, 0, bench.tensor(result, values.shape))
    acl.aclrtSynchronizeStream(None)
    bits = values.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    assert bench.get(result, values).tolist() == rounded.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_tensors_are_read_and_written_element_by_element(acl, bench, dtype):
    base = (np.arange(48) % 7).astype(dtype)
    source, target = bench.put(base), bench.put(np.zeros(48, dtype))
    # Rows backwards in steps of two and columns in steps of twelve, into the columns of a matrix.
    view = np.lib.stride_tricks.as_strided(base[1:], (5, 3), (2 * base.itemsize, 12 * base.itemsize))
    bench.run(
        "aclnnInplaceCopy",
        bench.tensor(target, (5, 3), dtype, (1, 5), 3, 48),
        bench.tensor(source, (5, 3), dtype, (2, 12), 1, 48),
    )
    acl.aclrtSynchronizeStream(None)
    found = bench.get(target, base)
    assert (view == found[3:18].reshape(3, 5).T).all()
    assert not found[:3].any() and not found[18:].any()
