/* The declarations that the simulator's sources share: codes, handles, the entry of every call, and the views that kernels work on.
 *
 * The simulator is three libraries with the real names and the real ABI, on host memory: libascendcl.so (runtime),
 * libnnopbase.so (descriptors and executors) and libopapi.so (operators). Names declared here that are no functions
 * of ACL begin with "aclsim". One lock serialises all calls, so the sources read as if there were one thread.
 */
#ifndef ACLSIM_H
#define ACLSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int aclError;
typedef int32_t aclnnStatus;
typedef void *aclrtStream, *aclrtEvent, *aclrtContext, *aclmdlRI;
typedef uint16_t aclFloat16;

/* Error codes, by ACL's names without their prefix. */
enum {
    INVALID_PARAM = 100000,
    UNINITIALIZE = 100001,
    REPEAT_INITIALIZE = 100002,
    INVALID_FILE = 100003,
    REPEAT_FINALIZE = 100037,
    BAD_ALLOC = 200000,
    RT_PARAM_INVALID = 107000,
    RT_INVALID_DEVICEID = 107001,
    RT_CONTEXT_NULL = 107002,
    RT_STREAM_CONTEXT = 107003,
    RT_EVENT_TIMESTAMP_INVALID = 107006,
    RT_INVALID_HANDLE = 107017,
    RT_SYSPARAMOPT_NOT_SET = 107021,
    RT_STREAM_CAPTURED = 107027,
    RT_STREAM_NOT_CAPTURED = 107029,
    RT_FEATURE_NOT_SUPPORT = 207000,
    RT_MEMORY_ALLOCATION = 207001,
    RT_STREAM_NOT_COMPLETE = 507004,
    RT_AICORE_EXCEPTION = 507015,
    RT_STREAM_SYNC_TIMEOUT = 507046,
    RT_EVENT_SYNC_TIMEOUT = 507047,
    RT_FFTS_PLUS_TIMEOUT = 507048,
    RT_SUSPECT_REMOTE_ERROR = 507057,
    ACLNN_PARAM_NULLPTR = 161001,
    ACLNN_PARAM_INVALID = 161002,
    ACLNN_RUNTIME_ERROR = 361001,
    ACLNN_INNER = 561000,
    ACLNN_INNER_NULLPTR = 561103,
};

typedef enum {
    ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
    ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_STRING = 13,
    ACL_COMPLEX64 = 16, ACL_COMPLEX128 = 17, ACL_BF16 = 27,
} aclDataType;

typedef enum {
    ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW = 0, ACL_FORMAT_NHWC = 1, ACL_FORMAT_ND = 2, ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NCL = 47,
} aclFormat;

/* ---- sim.c: the entry of every call, faults, the log, counters, messages ---- */

typedef struct {
    const char *name;
    int injected; /* the code that a test has set, else 0 */
} aclsim_scope;

aclsim_scope aclsim_enter(const char *name, bool can_fail);
void aclsim_leave(aclsim_scope *scope);
/* The same for what is no call of a program: it is neither logged nor counted. */
aclsim_scope aclsim_enter_quietly(const char *name);
void aclsim_note(const char *prefix, const char *name);
int aclsim_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *aclsim_take_message(void);
/* The thread's message, or "", as it was given; and a message that was read so becomes the thread's. */
const char *aclsim_message(void);
void aclsim_set_message(const char *text);
int aclsim_task_fault(void);
/* Return the number of the hang if the piece of work that begins now hangs, else 0; whether that hang goes on. */
uint64_t aclsim_task_hang(void);
bool aclsim_hangs(uint64_t mark);
/* Let other threads enter for a moment. */
void aclsim_pause(void);

/* CALL opens a function whose n-th call tests can make fail; QUIET one that cannot report a failure. */
#define CALL(function) \
    aclsim_scope scope __attribute__((cleanup(aclsim_leave))) = aclsim_enter(#function, true)
#define QUIET(function) \
    aclsim_scope scope __attribute__((cleanup(aclsim_leave), unused)) = aclsim_enter(#function, false)
/* A call that acquires fails before it does anything; one that releases fails afterwards, since no caller could retry it. */
#define FAIL_FIRST() \
    do { if (scope.injected) return aclsim_error(scope.injected, "%s failed on demand", scope.name); } while (0)
#define FAIL_LAST() \
    do { FAIL_FIRST(); return 0; } while (0)
#define REFUSE(code, ...) return aclsim_error(code, __VA_ARGS__)
#define PASS_ON(expression) \
    do { int passed_on = (expression); if (passed_on) return passed_on; } while (0)

/* What chips do and a test may leave out, in the order of BEHAVIOURS in control.py. */
typedef enum { OPERATOR_CACHE, PAGES, LATE_INDICES, BEHAVIOUR_COUNT } aclsim_behaviour;
extern bool aclsim_left_out[BEHAVIOUR_COUNT];

/* Set by a kernel that meets an index out of range: no first phase can, so the device faults. */
extern bool aclsim_out_of_range;

/* ---- Handles. A released one keeps its mark for a while, so that a second release is detected. ---- */

typedef enum {
    KIND_CONTEXT, KIND_STREAM, KIND_EVENT, KIND_TENSOR, KIND_SCALAR, KIND_INT_ARRAY, KIND_BOOL_ARRAY, KIND_TENSOR_LIST,
    KIND_EXECUTOR, KIND_DEVICE_MEMORY, KIND_HOST_MEMORY, KIND_MODEL, KIND_COMMUNICATOR, KIND_COUNT,
} aclsim_kind;

typedef struct { uint32_t mark; int32_t kind; } aclsim_handle;

extern int64_t aclsim_live[KIND_COUNT];
void *aclsim_handle_new(aclsim_kind kind, size_t size);
void aclsim_handle_kill(void *handle);
void aclsim_handle_bury(void *handle);
void aclsim_handle_free(void *handle); /* both */
bool aclsim_is(const void *handle, aclsim_kind kind);

/* ---- runtime.c, memory.c, stream.c ---- */

/* The options of a context, aclSysParamOpt: determinism, the checks of kernels' memory, consistency, early starts. */
typedef int aclSysParamOpt;
enum { SYS_PARAMS = 4 };
typedef struct { bool is_set; int64_t value; } aclsim_param;

typedef struct {
    aclsim_handle head;
    int32_t device;
    bool is_default;
    aclrtStream default_stream;
    aclsim_param params[SYS_PARAMS];
} aclsim_context;

aclError aclsim_current(aclsim_context **context);
/* The families of chips, in the order of the columns of the dtypes; the one that this process has, and its name. */
enum { CHIPS = 6 };
int aclsim_chip(void);
/* Whether a device may access the memory of another one. */
bool aclsim_reaches(int32_t device, int32_t peer);
aclError aclsim_stream_of(aclrtStream stream, aclrtStream *found);
aclrtStream aclsim_stream_new(aclsim_context *context, uint32_t flags);
void aclsim_stream_free(aclrtStream stream);
/* Wait for a stream, or for those of a device, at most a number of milliseconds, without a limit where it is -1. */
aclError aclsim_stream_drain(aclrtStream stream, int32_t timeout);
aclError aclsim_device_drain(int32_t device, int32_t timeout);
/* Put work on a stream; `run` returns 0, a code for the next synchronisation, or NOT_YET to run again. */
enum { NOT_YET = -1 };
void aclsim_enqueue(aclrtStream stream, const char *name, int (*run)(void *data), void (*release)(void *data), void *data);
int32_t aclsim_stream_device(aclrtStream stream);
/* Do the work of a stream that does not have to wait; an error is reported by the next synchronisation. */
void aclsim_stream_advance(aclrtStream stream);

/* ---- graph.c ---- */

typedef struct aclsim_model aclsim_model;
/* The model that a stream's work is kept in, and not done; NULL where it is not captured. */
aclsim_model **aclsim_stream_model(aclrtStream stream);
void aclsim_model_add(aclsim_model *model, const char *name, int (*run)(void *data), void (*release)(void *data), void *data);
void aclsim_model_free(aclsim_model *model);
/* Whether this thread captures in a mode in which it may not copy by way of the host. */
bool aclsim_is_capturing(void);
bool aclsim_chip_captures(void);

/* Whether [address, address + size) lies in one live allocation of the device (any device when negative). */
bool aclsim_on_device(const void *address, size_t size, int32_t device);
/* The 32 bytes after every block, which have to be left where blocks are carved out of an allocation: kernels move whole pieces
 * of 32 bytes, and one past the end. */
enum { GUARD = 32 };
static inline size_t aclsim_guarded(size_t size) { return (size + GUARD - 1) / GUARD * GUARD + GUARD; }
/* Note a block that a kernel works with; return whether it, or its guard, lies in the guard of another, or the other way. */
bool aclsim_guards_overlap(const void *address, size_t size);
void aclsim_memory_counts(uint64_t out[3]);
void aclsim_memory_limit(uint64_t bytes);

/* ---- meta.c: descriptors and executors ---- */

enum { MAX_DIMS = 8 };

typedef struct aclTensor {
    aclsim_handle head;
    aclDataType dtype;
    aclFormat format;
    int32_t rank;
    bool on_host;
    bool in_list;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS];
    int64_t offset;        /* in elements, from data */
    int64_t storage;       /* elements of the storage */
    int32_t storage_rank;
    int64_t storage_sizes[MAX_DIMS];
    char *data;
} aclTensor;

typedef struct aclScalar {
    aclsim_handle head;
    aclDataType dtype;
    double real;
    int64_t integer;
} aclScalar;

typedef struct { aclsim_handle head; uint64_t size; int64_t values[]; } aclIntArray;
typedef struct { aclsim_handle head; uint64_t size; bool values[]; } aclBoolArray;
typedef struct { aclsim_handle head; uint64_t size; aclTensor *values[]; } aclTensorList;

/* One argument of an operator, as phase one receives it and as kernels read it. */
typedef struct {
    union {
        const void *handle;  /* tensors, scalars, arrays, lists */
        int64_t integer;     /* bool and all integers, enums included */
        double real;         /* float and double */
        const char *text;
    };
    aclTensor *tensors;      /* copies of the descriptors: one, or those of a list */
    int64_t count;           /* their number; 0 for an omitted argument */
    const int64_t *values;   /* the elements of an IntArray or BoolArray */
    double scalar_real;
    int64_t scalar_integer;
    aclDataType scalar_dtype;
} aclsim_argument;

typedef struct aclsim_call aclsim_call;

typedef struct {
    const char *name;        /* aclnnAdd */
    const char *phase_one;   /* aclnnAddGetWorkspaceSize */
    const char *kinds;       /* one letter an argument, see generate.py */
    const char *roles;       /* i input, o output, r both; capital: optional; - no tensor */
    int count;
    const char *const *names;
    aclnnStatus (*check)(aclsim_call *call);
    void (*run)(aclsim_call *call);
    uint64_t (*workspace)(const aclsim_call *call);
    const uint64_t (*takes)[CHIPS]; /* for each argument and chip, a bit for each aclDataType that a tensor may have */
} aclsim_operator;

struct aclsim_call {
    const aclsim_operator *op;
    aclsim_argument *arguments;
    size_t size;             /* of the call and everything it points to */
    uint64_t workspace_size;
    void *workspace;
    int32_t device;
};

/* ---- views.c: how the toolkit makes a strided operand contiguous ---- */

typedef enum { READ_AS_IT_IS, READ_BY_MOVES, READ_BY_SLICE, READ_BY_AS_STRIDED, READING_COUNT } aclsim_reading;
aclsim_reading aclsim_reading_of(const aclTensor *view);
extern int64_t aclsim_readings[READING_COUNT];

/* ---- cache.c: the cache of first phases ---- */

/* A call's place in the cache, which may be gone; the ticket is 0 where it has none. */
typedef struct { uint64_t hash, ticket; } aclsim_place;
/* Whether the cache answers the call. If not, the call gets a place, unless another one has it. */
bool aclsim_cache_answers(const aclsim_call *call, aclsim_place *place);
/* The call of a place has run, and answers the next ones; or it never will. */
void aclsim_cache_fill(aclsim_place place);
void aclsim_cache_drop(aclsim_place place);
void aclsim_cache_clear(void);
/* First phases that made an executor, and those that the cache answered. */
extern int64_t aclsim_first_phases[2];

aclnnStatus aclsim_prepare(const aclsim_operator *op, const aclsim_argument *arguments, uint64_t *size, void **executor);
aclnnStatus aclsim_execute(const aclsim_operator *op, void *workspace, uint64_t size, void *executor, aclrtStream stream);

/* ---- Helpers ---- */

static inline size_t aclsim_item_size(aclDataType dtype) {
    switch ((int)dtype) {
        case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
        case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
        case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
        case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: case ACL_COMPLEX64: return 8;
        case ACL_COMPLEX128: return 16;
        default: return 0;
    }
}

static inline bool aclsim_is_real(aclDataType dtype) {
    return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_DOUBLE || dtype == ACL_BF16;
}

static inline int64_t aclsim_numel(const aclTensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
    return count;
}

static inline float aclsim_from_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 1023u, bits;
    float value;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | (fraction << 13);
    } else if (exponent) {
        bits = sign | ((exponent + 112) << 23) | (fraction << 13);
    } else {
        value = (float)fraction * (1.0f / 16777216.0f); /* subnormal: fraction * 2^-24 */
        return sign ? -value : value;
    }
    memcpy(&value, &bits, 4);
    return value;
}

/* Round to nearest, ties to even. */
static inline uint16_t aclsim_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7e00u;
    if (bits >= 0x477ff000u) return sign | 0x7c00u; /* rounds to 65536 or more */
    if (bits < 0x38800000u) {                        /* subnormal or zero: adding 0.5 leaves round(value * 2^24) */
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, 4);
        return sign | (uint16_t)(bits - 0x3f000000u);
    }
    bits += 0xfffu + ((bits >> 13) & 1u);
    return sign | (uint16_t)((bits - 0x38000000u) >> 13);
}

static inline float aclsim_from_bfloat(uint16_t stored) {
    uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t aclsim_to_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif
