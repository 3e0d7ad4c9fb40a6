"""The C prototypes of the runtime's functions and of those that create the operators' arguments, as data.

The text below is parsed once, when the first function is bound. The operators themselves are declared by the table in
``aclnn``, because all of them are called in the same two phases.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

#: Groups of libraries, each named by the file that every toolkit has; ``toolkit.FILES`` lists their files.
RUNTIME: Final = "libascendcl.so"
BASE: Final = "libnnopbase.so"
OPERATORS: Final = "libopapi.so"
COLLECTIVES: Final = "libhccl.so"


class Prototype(NamedTuple):
    """A function's library, the C type of its result, and those of its arguments."""

    library: str
    returns: str
    arguments: tuple[str, ...]


WORKSPACE: Final = ("uint64_t*", "aclOpExecutor**")
"""The last arguments of every operator's first phase: pointers to its results."""

EXECUTION: Final = Prototype(OPERATORS, "aclnnStatus", ("void*", "uint64_t", "aclOpExecutor*", "aclrtStream"))
"""Every operator's second phase: workspace, its size, the executor of the first phase, and the stream."""

_DECLARED: Final = {
    RUNTIME: """
aclError aclInit(const char*)
aclError aclFinalize()

aclError aclrtSetDevice(int32_t)
aclError aclrtResetDevice(int32_t)
aclError aclrtGetDeviceCount(uint32_t*)
aclError aclrtDeviceCanAccessPeer(int32_t*, int32_t, int32_t)
aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t)
aclError aclrtSynchronizeDevice()
aclError aclrtSynchronizeDeviceWithTimeout(int32_t)
const char* aclrtGetSocName()
aclError aclrtGetVersion(int32_t*, int32_t*, int32_t*)

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t)
aclError aclmdlInitDump()
aclError aclmdlSetDump(const char*)
aclError aclmdlFinalizeDump()

aclError aclrtSetCurrentContext(aclrtContext)
aclError aclrtGetCurrentContext(aclrtContext*)
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t)

aclError aclrtCreateStreamWithConfig(aclrtStream*, uint32_t, uint32_t)
aclError aclrtDestroyStream(aclrtStream)
aclError aclrtSynchronizeStream(aclrtStream)
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t)
aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus*)
aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent)

aclError aclrtCreateEventExWithFlag(aclrtEvent*, uint32_t)
aclError aclrtDestroyEvent(aclrtEvent)
aclError aclrtRecordEvent(aclrtEvent, aclrtStream)
aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus*)
aclError aclrtSynchronizeEvent(aclrtEvent)
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent, int32_t)
aclError aclrtEventElapsedTime(float*, aclrtEvent, aclrtEvent)

aclError aclmdlRICaptureBegin(aclrtStream, aclmdlRICaptureMode)
aclError aclmdlRICaptureEnd(aclrtStream, aclmdlRI*)
aclError aclmdlRIExecuteAsync(aclmdlRI, aclrtStream)
aclError aclmdlRIDestroy(aclmdlRI)

aclError aclrtMalloc(void**, size_t, aclrtMemMallocPolicy)
aclError aclrtFree(void*)
aclError aclrtMallocHost(void**, size_t)
aclError aclrtFreeHost(void*)
aclError aclrtMemsetAsync(void*, size_t, int32_t, size_t, aclrtStream)
aclError aclrtMemcpy(void*, size_t, const void*, size_t, aclrtMemcpyKind)
aclError aclrtMemcpyAsync(void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream)
aclError aclrtGetMemInfo(aclrtMemAttr, size_t*, size_t*)

const char* aclGetRecentErrMsg()
""",
    BASE: """
aclTensor* aclCreateTensor(const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*, \
uint64_t, void*)
aclScalar* aclCreateScalar(void*, aclDataType)
aclIntArray* aclCreateIntArray(const int64_t*, uint64_t)
aclBoolArray* aclCreateBoolArray(const bool*, uint64_t)
aclTensorList* aclCreateTensorList(const aclTensor* const*, uint64_t)

aclnnStatus aclDestroyTensor(const aclTensor*)
aclnnStatus aclDestroyScalar(const aclScalar*)
aclnnStatus aclDestroyIntArray(const aclIntArray*)
aclnnStatus aclDestroyBoolArray(const aclBoolArray*)
aclnnStatus aclDestroyTensorList(const aclTensorList*)

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor*)
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor*)
aclnnStatus aclSetTensorAddr(aclOpExecutor*, size_t, aclTensor*, void*)
aclnnStatus aclSetRawTensorAddr(aclTensor*, void*)
""",
    # By hccl/hccl.h of CANN 8.1.RC1.
    COLLECTIVES: """
HcclResult HcclGetRootInfo(HcclRootInfo*)
HcclResult HcclCommInitRootInfo(uint32_t, const HcclRootInfo*, uint32_t, HcclComm*)
HcclResult HcclCommDestroy(HcclComm)
HcclResult HcclGetCommName(HcclComm, char*)
HcclResult HcclGetCommAsyncError(HcclComm, HcclResult*)
const char* HcclGetErrorString(HcclResult)

HcclResult HcclAllReduce(void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream)
HcclResult HcclAllGather(void*, void*, uint64_t, HcclDataType, HcclComm, aclrtStream)
HcclResult HcclReduceScatter(void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream)
HcclResult HcclBroadcast(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)
HcclResult HcclBarrier(HcclComm, aclrtStream)
HcclResult HcclSend(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)
HcclResult HcclRecv(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream)
HcclResult HcclBatchSendRecv(HcclSendRecvItem*, uint32_t, HcclComm, aclrtStream)
""",
}


@cache
def prototypes() -> dict[str, Prototype]:
    """Return the prototype of every function declared here, by its name.

    >>> prototypes()["aclrtMalloc"]
    Prototype(library='libascendcl.so', returns='aclError', arguments=('void**', 'size_t', 'aclrtMemMallocPolicy'))
    """
    found = {}
    for library, text in _DECLARED.items():
        for line in filter(None, text.splitlines()):
            head, _, arguments = line.removesuffix(")").partition("(")
            returns, _, name = head.rpartition(" ")
            found[name] = Prototype(library, returns, tuple(arguments.split(", ")) if arguments else ())
    return found
