/* libnnopbase: the two phases of every operator, and executors.
 *
 * Phase one checks and copies the arguments and creates an executor. Phase two puts the work on a stream and deletes the
 * executor, unless that is repeatable. The work itself runs when the stream reaches it.
 */
#include "aclsim.h"

#include <stdlib.h>

typedef struct aclOpExecutor {
    aclsim_handle head;
    bool repeatable;
    bool wraps;          /* the cache answered: it can neither be repeated nor get other addresses */
    bool on_ai_cpu;      /* the AI CPU computes it */
    aclsim_place place;
    aclsim_call *call;
} aclOpExecutor;

/* ---- Calls: the arguments in one piece of memory, with copies of the tensors' descriptors ---- */

static int64_t tensors_of(const aclsim_operator *op, const aclsim_argument *arguments, int i) {
    const void *handle = arguments[i].handle;
    if (op->kinds[i] == 'T') return handle ? 1 : 0;
    if (op->kinds[i] == 'L') return handle ? (int64_t)((const aclTensorList *)handle)->size : 0;
    return 0;
}

static size_t size_of_array(char kind, const void *handle) {
    if (!handle) return 0;
    if (kind == 'I') return ((const aclIntArray *)handle)->size;
    if (kind == 'B') return ((const aclBoolArray *)handle)->size;
    return 0;
}

static aclsim_call *call_new(const aclsim_operator *op, const aclsim_argument *arguments) {
    size_t tensors = 0, numbers = 0, text = 0;
    for (int i = 0; i < op->count; i++) {
        tensors += (size_t)tensors_of(op, arguments, i);
        numbers += size_of_array(op->kinds[i], arguments[i].handle);
        if (op->kinds[i] == 's' && arguments[i].text) text += strlen(arguments[i].text) + 1;
    }
    size_t size = sizeof(aclsim_call) + (size_t)op->count * sizeof *arguments + tensors * sizeof(aclTensor) + numbers * sizeof(int64_t) + text;
    aclsim_call *call = malloc(size);
    memset(call, 0, sizeof *call);
    call->op = op;
    call->size = size;
    call->arguments = (aclsim_argument *)(call + 1);
    memcpy(call->arguments, arguments, (size_t)op->count * sizeof *arguments);
    aclTensor *tensor = (aclTensor *)(call->arguments + op->count);
    int64_t *number = (int64_t *)(tensor + tensors);
    char *letters = (char *)(number + numbers);
    for (int i = 0; i < op->count; i++) {
        aclsim_argument *a = &call->arguments[i];
        switch (op->kinds[i]) {
            case 'T':
                a->tensors = tensor;
                if ((a->count = a->handle != NULL)) *tensor++ = *(const aclTensor *)a->handle;
                break;
            case 'L': {
                const aclTensorList *list = a->handle;
                a->tensors = tensor;
                a->count = list ? (int64_t)list->size : 0;
                for (int64_t j = 0; j < a->count; j++, tensor++) {
                    if (list->values[j]) *tensor = *list->values[j];
                    else *tensor = (aclTensor){.rank = 1, .dtype = ACL_DT_UNDEFINED}; /* a gap: a tensor without elements */
                }
                break;
            }
            case 'S': {
                const aclScalar *scalar = a->handle;
                if ((a->count = scalar != NULL)) {
                    a->scalar_real = scalar->real;
                    a->scalar_integer = scalar->integer;
                    a->scalar_dtype = scalar->dtype;
                }
                break;
            }
            case 'I': case 'B': {
                a->values = number;
                a->count = (int64_t)size_of_array(op->kinds[i], a->handle);
                for (int64_t j = 0; j < a->count; j++)
                    *number++ = op->kinds[i] == 'I' ? ((const aclIntArray *)a->handle)->values[j] : ((const aclBoolArray *)a->handle)->values[j];
                break;
            }
            case 's':
                if (a->text) {
                    size_t length = strlen(a->text) + 1;
                    a->text = memcpy(letters, a->text, length);
                    letters += length;
                }
                break;
            default: break;
        }
    }
    return call;
}

/* A copy for one run, with the addresses that were set since phase one; the handles are not read. */
static aclsim_call *call_copy(const aclsim_call *from) {
    aclsim_call *call = malloc(from->size);
    memcpy(call, from, from->size);
    ptrdiff_t moved = (char *)call - (char *)from;
    call->arguments = (aclsim_argument *)(call + 1);
    for (int i = 0; i < from->op->count; i++) {
        aclsim_argument *a = &call->arguments[i];
        char kind = from->op->kinds[i];
        if (a->tensors) a->tensors = (aclTensor *)((char *)a->tensors + moved);
        if (a->values) a->values = (const int64_t *)((const char *)a->values + moved);
        if (kind == 's' && a->text) a->text += moved;
    }
    return call;
}

/* The place of a call that has not run goes with its executor. */
static void executor_free(aclOpExecutor *executor) {
    aclsim_cache_drop(executor->place);
    free(executor->call);
    aclsim_handle_free(executor);
}

/* ---- What phase one checks of every operator ---- */

/* Phase one returns 161002 for data types, formats and views that an operator does not take. The formats are those that
 * torch's adapter gives to dense tensors. */
static aclnnStatus check_tensor(const char *name, const char *argument, const aclTensor *tensor) {
    if (!aclsim_item_size(tensor->dtype) || tensor->dtype == ACL_COMPLEX64 || tensor->dtype == ACL_COMPLEX128)
        REFUSE(ACLNN_PARAM_INVALID, "%s: %s has data type %d, which is not supported", name, argument, (int)tensor->dtype);
    switch ((int)tensor->format) {
        case ACL_FORMAT_ND: case ACL_FORMAT_NCHW: case ACL_FORMAT_NCL: case ACL_FORMAT_NCDHW: break;
        default: REFUSE(ACLNN_PARAM_INVALID, "%s: %s has format %d, which is not supported", name, argument, (int)tensor->format);
    }
    if (aclsim_numel(tensor) == 0) return 0;
    /* Tensor data must be aligned to 32 bytes; the offset takes views to other addresses. */
    if ((uintptr_t)tensor->data % 32) REFUSE(ACLNN_PARAM_INVALID, "%s: %s begins at %p, which is not aligned to 32 bytes", name, argument, (void *)tensor->data);
    int64_t low = tensor->offset, high = tensor->offset;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t reach = (tensor->sizes[i] - 1) * tensor->strides[i];
        if (reach < 0) low += reach; else high += reach;
    }
    if (low < 0 || high >= tensor->storage)
        REFUSE(ACLNN_PARAM_INVALID, "%s: %s reaches elements %lld to %lld of a storage of %lld", name, argument,
               (long long)low, (long long)high, (long long)tensor->storage);
    return 0;
}

static aclsim_kind kind_of(char letter) {
    switch (letter) {
        case 'T': return KIND_TENSOR;
        case 'S': return KIND_SCALAR;
        case 'I': return KIND_INT_ARRAY;
        case 'B': return KIND_BOOL_ARRAY;
        case 'L': return KIND_TENSOR_LIST;
        default: return KIND_COUNT;
    }
}

static aclnnStatus check_handles(const aclsim_operator *op, const aclsim_argument *arguments) {
    for (int i = 0; i < op->count; i++) {
        aclsim_kind kind = kind_of(op->kinds[i]);
        if (kind == KIND_COUNT) continue;
        const void *handle = arguments[i].handle;
        bool optional = op->roles[i] >= 'A' && op->roles[i] <= 'Z';
        if (!handle && optional) continue;
        /* A required argument that is NULL is 161001. */
        if (!handle) REFUSE(ACLNN_PARAM_NULLPTR, "%s: %s is a null pointer", op->phase_one, op->names[i]);
        if (!aclsim_is(handle, kind)) REFUSE(ACLNN_PARAM_INVALID, "%s: %s is destroyed, or of another kind", op->phase_one, op->names[i]);
        if (kind == KIND_TENSOR_LIST) {
            const aclTensorList *list = handle;
            for (uint64_t j = 0; j < list->size; j++)
                if (list->values[j] && !aclsim_is(list->values[j], KIND_TENSOR))
                    REFUSE(ACLNN_PARAM_INVALID, "%s: element %d of %s is destroyed", op->phase_one, (int)j, op->names[i]);
        }
    }
    return 0;
}

/* A function that the chip does not have, and a dtype that it does not take there, are 161002 (the functions' pages). */
static aclnnStatus check_chip(const aclsim_call *call) {
    const aclsim_operator *op = call->op;
    int chip = aclsim_chip();
    for (int i = 0; i < op->count && chip >= 0; i++) {
        if (op->kinds[i] != 'T' && op->kinds[i] != 'L') continue;
        uint64_t taken = op->takes[i][chip];
        if (!taken) REFUSE(ACLNN_PARAM_INVALID, "%s: this chip does not have the function", op->phase_one);
        for (int64_t j = 0; j < call->arguments[i].count; j++) {
            aclDataType dtype = call->arguments[i].tensors[j].dtype;
            if (dtype != ACL_DT_UNDEFINED && !(taken >> (unsigned)dtype & 1))
                REFUSE(ACLNN_PARAM_INVALID, "%s: this chip takes no %s of data type %d", op->phase_one, op->names[i], (int)dtype);
        }
    }
    return 0;
}

/* Operators of doubles stand for those of the AI CPU, which are neither cached nor repeated. */
static bool is_on_ai_cpu(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++)
        for (int64_t j = 0; j < call->arguments[i].count && (call->op->kinds[i] == 'T' || call->op->kinds[i] == 'L'); j++)
            if (call->arguments[i].tensors[j].dtype == ACL_DOUBLE) return true;
    return false;
}

aclnnStatus aclsim_prepare(const aclsim_operator *op, const aclsim_argument *arguments, uint64_t *size, void **executor) {
    aclsim_scope scope __attribute__((cleanup(aclsim_leave))) = aclsim_enter(op->phase_one, true);
    FAIL_FIRST();
    /* Phase one sets both results: none of them may be NULL, 161001. */
    if (!size || !executor) REFUSE(ACLNN_PARAM_NULLPTR, "%s: workspaceSize and executor must be given", op->phase_one);
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    PASS_ON(check_handles(op, arguments));
    aclsim_call *call = call_new(op, arguments);
    aclnnStatus status = 0;
    for (int i = 0; i < op->count && !status; i++)
        if (op->kinds[i] == 'T' || op->kinds[i] == 'L')
            for (int64_t j = 0; j < call->arguments[i].count && !status; j++)
                if (call->arguments[i].tensors[j].dtype != ACL_DT_UNDEFINED)
                    status = check_tensor(op->phase_one, op->names[i], &call->arguments[i].tensors[j]);
    if (!status) status = check_chip(call);
    if (!status && op->check) status = op->check(call);
    if (status) {
        free(call);
        return status;
    }
    *size = call->workspace_size = op->workspace ? op->workspace(call) : 0;
    aclOpExecutor *made = aclsim_handle_new(KIND_EXECUTOR, sizeof *made);
    made->call = call;
    made->on_ai_cpu = is_on_ai_cpu(call);
    made->wraps = !aclsim_left_out[OPERATOR_CACHE] && !made->on_ai_cpu && aclsim_cache_answers(call, &made->place);
    aclsim_first_phases[made->wraps]++;
    *executor = made;
    return 0;
}

/* ---- Phase two ---- */

/* The memory of a kernel must lie in one live allocation of its device: else hardware faults, and reports that at the next
 * synchronisation (507015). */
static int check_memory(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++)
        for (int64_t j = 0; j < call->arguments[i].count && (call->op->kinds[i] == 'T' || call->op->kinds[i] == 'L'); j++) {
            const aclTensor *tensor = &call->arguments[i].tensors[j];
            if (tensor->dtype == ACL_DT_UNDEFINED || aclsim_numel(tensor) == 0) continue;
            int64_t low = tensor->offset, high = tensor->offset, item = (int64_t)aclsim_item_size(tensor->dtype);
            for (int d = 0; d < tensor->rank; d++) {
                int64_t reach = (tensor->sizes[d] - 1) * tensor->strides[d];
                if (reach < 0) low += reach; else high += reach;
            }
            if (!aclsim_on_device(tensor->data + low * item, (size_t)((high - low + 1) * item), call->device))
                return aclsim_error(RT_AICORE_EXCEPTION, "%s: the memory of %s is not within one live allocation of device %d",
                                    call->op->name, call->op->names[i], (int)call->device);
            size_t size = (size_t)tensor->storage * aclsim_item_size(tensor->dtype);
            if (!aclsim_on_device(tensor->data, aclsim_guarded(size), call->device) || aclsim_guards_overlap(tensor->data, size))
                return aclsim_error(RT_AICORE_EXCEPTION, "%s: the %d bytes after the block of %s are not free", call->op->name,
                                    (int)GUARD, call->op->names[i]);
        }
    if (call->workspace_size && !aclsim_on_device(call->workspace, call->workspace_size, call->device))
        return aclsim_error(RT_AICORE_EXCEPTION, "%s: the workspace is not within one live allocation", call->op->name);
    return 0;
}

/* Kernels store whole pieces, which leaves numbers behind the end of what they write. */
static void move_past_ends(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++) {
        char role = call->op->roles[i];
        if (role != 'o' && role != 'O' && role != 'r') continue;
        for (int64_t j = 0; j < call->arguments[i].count && (call->op->kinds[i] == 'T' || call->op->kinds[i] == 'L'); j++) {
            const aclTensor *tensor = &call->arguments[i].tensors[j];
            size_t size = (size_t)tensor->storage * aclsim_item_size(tensor->dtype);
            if (aclsim_numel(tensor)) memset(tensor->data + size, 0x6d, aclsim_guarded(size) - size);
        }
    }
}

static void count_readings(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++) {
        const char role = call->op->roles[i];
        if (role != 'i' && role != 'I' && role != 'r') continue;
        for (int64_t j = 0; j < call->arguments[i].count; j++) aclsim_readings[aclsim_reading_of(&call->arguments[i].tensors[j])]++;
    }
}

static int run_call(void *data) {
    aclsim_call *call = data;
    int code = check_memory(call);
    if (code) return code;
    count_readings(call);
    aclsim_out_of_range = false;
    /* A workspace is written to, so that two simultaneous users of one piece of memory are found. */
    if (call->workspace_size) memset(call->workspace, 0xa5, call->workspace_size);
    call->op->run(call);
    move_past_ends(call);
    if (aclsim_out_of_range && !aclsim_left_out[LATE_INDICES])
        return aclsim_error(RT_AICORE_EXCEPTION, "%s: an index is out of range", call->op->name);
    return 0;
}

/* Tensors must live until phase two has put the work on the stream. */
static bool handles_live(const aclsim_call *call, const char **dead) {
    for (int i = 0; i < call->op->count; i++) {
        char kind = call->op->kinds[i];
        if ((kind == 'T' || kind == 'L') && call->arguments[i].handle && !aclsim_is(call->arguments[i].handle, kind_of(kind))) {
            *dead = call->op->names[i];
            return false;
        }
    }
    return true;
}

aclnnStatus aclsim_execute(const aclsim_operator *op, void *workspace, uint64_t size, void *handle, aclrtStream stream) {
    aclsim_scope scope __attribute__((cleanup(aclsim_leave))) = aclsim_enter(op->name, true);
    aclOpExecutor *executor = handle;
    /* executor == NULL is 161001. */
    if (!executor) REFUSE(ACLNN_PARAM_NULLPTR, "%s: executor is a null pointer", op->name);
    /* Phase two deletes an executor that is not repeatable: a second call is a use after free. */
    if (!aclsim_is(executor, KIND_EXECUTOR)) REFUSE(ACLNN_PARAM_INVALID, "%s: the executor was used already, or is none", op->name);
    const char *dead = NULL;
    aclnnStatus status = 0;
    if (executor->call->op != op) status = aclsim_error(ACLNN_PARAM_INVALID, "%s: the executor was made by %s", op->name, executor->call->op->phase_one);
    /* workspaceSize > 0 without a workspace is 161001, and the executor is deleted. */
    else if (size && !workspace) status = aclsim_error(ACLNN_PARAM_NULLPTR, "%s: workspace is a null pointer", op->name);
    else if (size < executor->call->workspace_size)
        status = aclsim_error(ACLNN_PARAM_INVALID, "%s: the workspace has %llu bytes, phase one asked for %llu", op->name,
                              (unsigned long long)size, (unsigned long long)executor->call->workspace_size);
    else if (!handles_live(executor->call, &dead)) status = aclsim_error(ACLNN_PARAM_INVALID, "%s: %s was destroyed before phase two", op->name, dead);
    else status = aclsim_stream_of(stream, &stream);
    if (!status && scope.injected) status = aclsim_error(scope.injected, "%s failed on demand", op->name);
    if (status) {
        executor_free(executor);
        return status;
    }
    aclsim_call *call = executor->repeatable ? call_copy(executor->call) : executor->call;
    call->workspace = workspace;
    call->device = aclsim_stream_device(stream);
    if (!executor->repeatable) {
        executor->call = NULL;
        aclsim_cache_fill(executor->place);
        executor->place = (aclsim_place){0, 0};
        executor_free(executor);
    }
    aclsim_enqueue(stream, op->name, run_call, free, call);
    return 0;
}

/* ---- Executors that are used again ---- */

/* NULL is 561103. A deleted executor crashes: the nearest code is 161002. */
#define NEED_EXECUTOR() \
    do { if (!executor) REFUSE(ACLNN_INNER_NULLPTR, "%s: executor is a null pointer", scope.name); \
        if (!aclsim_is(executor, KIND_EXECUTOR)) REFUSE(ACLNN_PARAM_INVALID, "%s: the executor is gone, or is none", scope.name); } while (0)

/* aclSetAclOpExecutorRepeatable: phase two may be called many times from now on, and keeps the executor, whose call leaves the
 * cache. What the cache has answered, and what the AI CPU computes, is refused with 561000. */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
    CALL(aclSetAclOpExecutorRepeatable);
    FAIL_FIRST();
    NEED_EXECUTOR();
    if (executor->wraps) REFUSE(ACLNN_INNER, "%s: the cache answered %s", scope.name, executor->call->op->phase_one);
    if (executor->on_ai_cpu) REFUSE(ACLNN_INNER, "%s: the AI CPU computes %s", scope.name, executor->call->op->name);
    executor->repeatable = true;
    aclsim_cache_drop(executor->place);
    executor->place = (aclsim_place){0, 0};
    return 0;
}

/* For repeatable executors, and for those whose phase two was never called. */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
    CALL(aclDestroyAclOpExecutor);
    NEED_EXECUTOR();
    executor_free(executor);
    FAIL_LAST();
}

enum { INPUTS = 1, OUTPUTS = 2 };

/* The n-th tensor among inputs, outputs, or inputs and then outputs; the elements of lists count one by one. */
static aclTensor *nth(aclsim_call *call, size_t index, int which, const void **handle) {
    for (int pass = INPUTS; pass <= OUTPUTS; pass++) {
        if (!(pass & which)) continue;
        for (int i = 0; i < call->op->count; i++) {
            char kind = call->op->kinds[i], role = call->op->roles[i];
            bool written = role == 'o' || role == 'O', in_place = role == 'r';
            if (kind != 'T' && kind != 'L') continue;
            if (pass == INPUTS ? written : !written && !in_place) continue;
            for (int64_t j = 0; j < call->arguments[i].count; j++)
                if (index-- == 0) {
                    *handle = kind == 'T' ? call->arguments[i].handle : ((const aclTensorList *)call->arguments[i].handle)->values[j];
                    return &call->arguments[i].tensors[j];
                }
        }
    }
    return NULL;
}

/* Every descriptor that was copied from the tensor gets the address: an operand in place is an input and an output. */
static void set_address(aclsim_call *call, const void *handle, void *address) {
    for (int i = 0; i < call->op->count; i++) {
        if (call->op->kinds[i] == 'T' && call->arguments[i].handle == handle && call->arguments[i].count) call->arguments[i].tensors->data = address;
        if (call->op->kinds[i] == 'L' && call->arguments[i].handle)
            for (int64_t j = 0; j < call->arguments[i].count; j++)
                if (((const aclTensorList *)call->arguments[i].handle)->values[j] == handle) call->arguments[i].tensors[j].data = address;
    }
}

/* aclSetInputTensorAddr and its variants: a null executor or tensor is 561103; a destroyed one, as above. */
static aclnnStatus set_nth(const char *name, aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address, int which) {
    if (!executor || !tensor || !address) REFUSE(ACLNN_INNER_NULLPTR, "%s: executor, tensor and addr must be given", name);
    if (!aclsim_is(executor, KIND_EXECUTOR)) REFUSE(ACLNN_PARAM_INVALID, "%s: the executor is gone, or is none", name);
    if (!aclsim_is(tensor, KIND_TENSOR)) REFUSE(ACLNN_PARAM_INVALID, "%s: the tensor is destroyed, or is none", name);
    const void *handle = NULL;
    aclTensor *found = nth(executor->call, index, which, &handle);
    /* An index out of range is 161002. */
    if (!found) REFUSE(ACLNN_PARAM_INVALID, "%s: %s has no tensor %d", name, executor->call->op->phase_one, (int)index);
    if (handle != tensor) REFUSE(ACLNN_PARAM_INVALID, "%s: tensor %d of %s is another one", name, (int)index, executor->call->op->phase_one);
    if ((uintptr_t)address % 32) REFUSE(ACLNN_PARAM_INVALID, "%s: %p is not aligned to 32 bytes", name, address);
    tensor->data = address;
    /* The copy that the cache has made of the addresses stays as it is. */
    if (!executor->wraps) set_address(executor->call, tensor, address);
    return 0;
}

#define SETTER(function, which) \
    aclnnStatus function(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *addr) { \
        CALL(function); \
        FAIL_FIRST(); \
        return set_nth(scope.name, executor, index, tensor, addr, which); \
    } \

SETTER(aclSetInputTensorAddr, INPUTS)
SETTER(aclSetOutputTensorAddr, OUTPUTS)
SETTER(aclSetTensorAddr, INPUTS | OUTPUTS)
