"""Numbers of ACL's enums and macros, by their own names, and the ACL data type of each scalar type."""

from __future__ import annotations

from typing import Final

from dispatch_aten.dtypes import ScalarType

# aclDataType
ACL_FLOAT: Final = 0
ACL_FLOAT16: Final = 1
ACL_INT8: Final = 2
ACL_INT32: Final = 3
ACL_UINT8: Final = 4
ACL_INT16: Final = 6
ACL_UINT16: Final = 7
ACL_UINT32: Final = 8
ACL_INT64: Final = 9
ACL_UINT64: Final = 10
ACL_DOUBLE: Final = 11
ACL_BOOL: Final = 12
ACL_COMPLEX64: Final = 16
ACL_COMPLEX128: Final = 17
ACL_BF16: Final = 27
ACL_COMPLEX32: Final = 33

# aclFormat
ACL_FORMAT_NCHW: Final = 0
ACL_FORMAT_ND: Final = 2
ACL_FORMAT_NCDHW: Final = 30
ACL_FORMAT_NCL: Final = 47

# aclrtMemcpyKind
ACL_MEMCPY_HOST_TO_DEVICE: Final = 1
ACL_MEMCPY_DEVICE_TO_HOST: Final = 2
ACL_MEMCPY_DEVICE_TO_DEVICE: Final = 3

# aclrtMemMallocPolicy
ACL_MEM_MALLOC_HUGE_FIRST: Final = 0

# aclrtMemAttr
ACL_HBM_MEM: Final = 1

# aclrtEventRecordedStatus
ACL_EVENT_RECORDED_STATUS_COMPLETE: Final = 1

# aclrtStreamStatus
ACL_STREAM_STATUS_COMPLETE: Final = 0

# Flags of aclrtCreateStreamWithConfig.
ACL_STREAM_FAST_LAUNCH: Final = 1
ACL_STREAM_FAST_SYNC: Final = 2

# Flags of aclrtCreateEventExWithFlag.
ACL_EVENT_SYNC: Final = 1
ACL_EVENT_CAPTURE_STREAM_PROGRESS: Final = 2
ACL_EVENT_TIME_LINE: Final = 8

# aclmdlRICaptureMode
ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL: Final = 1

# aclSysParamOpt
ACL_OPT_DETERMINISTIC: Final = 0

# Statuses that the runtime distinguishes; ``codes`` names the others.
ACL_ERROR_UNINITIALIZE: Final = 100001
ACL_ERROR_REPEAT_INITIALIZE: Final = 100002
ACL_ERROR_REPEAT_FINALIZE: Final = 100037
ACL_ERROR_BAD_ALLOC: Final = 200000
ACL_ERROR_STORAGE_OVER_LIMIT: Final = 300000
ACL_ERROR_RT_WAIT_TIMEOUT: Final = 107019
ACL_ERROR_RT_FEATURE_NOT_SUPPORT: Final = 207000
ACL_ERROR_RT_MEMORY_ALLOCATION: Final = 207001
ACL_ERROR_RT_DEVICE_OOM: Final = 207018
ACL_ERROR_RT_STREAM_SYNC_TIMEOUT: Final = 507046
ACL_ERROR_RT_EVENT_SYNC_TIMEOUT: Final = 507047
ACLNN_ERR_INNER: Final = 561000

DATA_TYPES: Final[dict[ScalarType, int]] = {
    ScalarType.Bool: ACL_BOOL,
    ScalarType.Byte: ACL_UINT8,
    ScalarType.Char: ACL_INT8,
    ScalarType.Short: ACL_INT16,
    ScalarType.Int: ACL_INT32,
    ScalarType.Long: ACL_INT64,
    ScalarType.UInt16: ACL_UINT16,
    ScalarType.UInt32: ACL_UINT32,
    ScalarType.UInt64: ACL_UINT64,
    ScalarType.Half: ACL_FLOAT16,
    ScalarType.BFloat16: ACL_BF16,
    ScalarType.Float: ACL_FLOAT,
    ScalarType.Double: ACL_DOUBLE,
    ScalarType.ComplexHalf: ACL_COMPLEX32,
    ScalarType.ComplexFloat: ACL_COMPLEX64,
    ScalarType.ComplexDouble: ACL_COMPLEX128,
}
"""ACL's number of each scalar type."""
