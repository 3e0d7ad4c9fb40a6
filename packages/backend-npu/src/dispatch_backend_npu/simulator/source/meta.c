/* libnnopbase: the descriptors that operators take (tensors, scalars, arrays, lists). */
#include "aclsim.h"

#include <stdlib.h>

/* ACLNN_ERR_INNER_NULLPTR, 561103, is the code of a null pointer in place of an object. */
static aclnnStatus null_pointer(const char *function, const char *what) {
    return aclsim_error(ACLNN_INNER_NULLPTR, "%s: %s is a null pointer", function, what);
}

/* A null pointer is 561103. The use of a destroyed object is undefined in the documents, and crashes: the nearest code is 161002. */
#define NEED(pointer) \
    do { if (!(pointer)) return null_pointer(scope.name, #pointer); } while (0)
#define NEED_KIND(pointer, kind) \
    do { NEED(pointer); if (!aclsim_is(pointer, kind)) \
        REFUSE(ACLNN_PARAM_INVALID, "%s: %s is destroyed already, or something else", scope.name, #pointer); } while (0)

/* ---- Tensors ---- */

/* Strides and offset are in elements. Without strides they are contiguous. NULL dims with a count give no tensor, as do a
 * negative count and more dimensions than the eight that the operators document. */
static bool describe(aclTensor *tensor, const int64_t *sizes, uint64_t rank, aclDataType dtype, const int64_t *strides,
                     int64_t offset, aclFormat format, const int64_t *storage_sizes, uint64_t storage_rank, void *data) {
    if ((rank && !sizes) || (storage_rank && !storage_sizes)) {
        aclsim_error(ACLNN_PARAM_NULLPTR, "aclCreateTensor: dims are a null pointer, but their number is not 0");
        return false;
    }
    if (rank > MAX_DIMS || storage_rank > MAX_DIMS) {
        aclsim_error(ACLNN_PARAM_INVALID, "aclCreateTensor: more than %d dimensions", MAX_DIMS);
        return false;
    }
    tensor->dtype = dtype;
    tensor->format = format;
    tensor->rank = (int32_t)rank;
    tensor->offset = offset;
    tensor->storage_rank = (int32_t)storage_rank;
    tensor->storage = 1;
    tensor->data = data;
    for (uint64_t i = 0; i < storage_rank; i++) {
        tensor->storage_sizes[i] = storage_sizes[i];
        tensor->storage *= storage_sizes[i];
    }
    int64_t step = 1;
    for (int32_t i = (int32_t)rank - 1; i >= 0; i--) {
        if (sizes[i] < 0) {
            aclsim_error(ACLNN_PARAM_INVALID, "aclCreateTensor: dimension %d is %lld", i, (long long)sizes[i]);
            return false;
        }
        tensor->sizes[i] = sizes[i];
        tensor->strides[i] = strides ? strides[i] : step;
        step *= sizes[i];
    }
    return true;
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    CALL(aclCreateTensor);
    if (scope.injected) return NULL;
    aclTensor *tensor = aclsim_handle_new(KIND_TENSOR, sizeof *tensor);
    if (tensor && !describe(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData)) {
        aclsim_handle_free(tensor);
        return NULL;
    }
    return tensor;
}

/* aclDestroyX(NULL) succeeds. The elements of a list are destroyed with the list, not alone. */
aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    CALL(aclDestroyTensor);
    if (tensor) {
        NEED_KIND(tensor, KIND_TENSOR);
        if (tensor->in_list) REFUSE(ACLNN_PARAM_INVALID, "aclDestroyTensor: the tensor belongs to a list, which destroys it");
        aclsim_handle_free((void *)tensor);
    }
    FAIL_LAST();
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
    CALL(aclSetRawTensorAddr);
    FAIL_FIRST();
    NEED_KIND(tensor, KIND_TENSOR);
    tensor->data = addr;
    return 0;
}

/* ---- Scalars: the value is copied; two raw bytes for the half types ---- */

/* aclCreateScalar: NULL gives NULL. */
aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
    CALL(aclCreateScalar);
    if (scope.injected || !value) return NULL;
    double real = 0;
    int64_t integer = 0;
#define INTEGER(type) { type v; memcpy(&v, value, sizeof v); integer = (int64_t)v; real = (double)v; } break
#define REAL(type, convert) { type v; memcpy(&v, value, sizeof v); real = (double)convert(v); } break
    switch ((int)dataType) {
        case ACL_FLOAT: REAL(float, );
        case ACL_DOUBLE: REAL(double, );
        case ACL_FLOAT16: REAL(uint16_t, aclsim_from_half);
        case ACL_BF16: REAL(uint16_t, aclsim_from_bfloat);
        case ACL_BOOL: { uint8_t v = *(uint8_t *)value; integer = v != 0; real = v != 0; } break;
        case ACL_INT8: INTEGER(int8_t);
        case ACL_UINT8: INTEGER(uint8_t);
        case ACL_INT16: INTEGER(int16_t);
        case ACL_UINT16: INTEGER(uint16_t);
        case ACL_INT32: INTEGER(int32_t);
        case ACL_UINT32: INTEGER(uint32_t);
        case ACL_INT64: INTEGER(int64_t);
        case ACL_UINT64: INTEGER(uint64_t);
        default:
            aclsim_error(ACLNN_PARAM_INVALID, "aclCreateScalar: the simulator has no scalars of data type %d", (int)dataType);
            return NULL;
    }
    if (aclsim_is_real(dataType)) integer = real >= -9e18 && real <= 9e18 ? (int64_t)real : 0;
    aclScalar *scalar = aclsim_handle_new(KIND_SCALAR, sizeof *scalar);
    scalar->dtype = dataType;
    scalar->real = real;
    scalar->integer = integer;
    return scalar;
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
    CALL(aclDestroyScalar);
    if (scalar) {
        NEED_KIND(scalar, KIND_SCALAR);
        aclsim_handle_free((void *)scalar);
    }
    FAIL_LAST();
}

/* ---- Arrays: values are copied; an empty array is allowed ---- */

#define ARRAY(type, element, kind, create, destroy) \
    type *create(const element *value, uint64_t size) { \
        CALL(create); \
        if (scope.injected || (size && !value)) return NULL; \
        type *array = aclsim_handle_new(kind, sizeof *array + size * sizeof *value); \
        array->size = size; \
        if (size) memcpy(array->values, value, size * sizeof *value); \
        return array; \
    } \
    aclnnStatus destroy(const type *array) { \
        CALL(destroy); \
        if (array) { \
            NEED_KIND(array, kind); \
            aclsim_handle_free((void *)array); \
        } \
        FAIL_LAST(); \
    }

ARRAY(aclIntArray, int64_t, KIND_INT_ARRAY, aclCreateIntArray, aclDestroyIntArray)
ARRAY(aclBoolArray, bool, KIND_BOOL_ARRAY, aclCreateBoolArray, aclDestroyBoolArray)

/* ---- Lists: they own their elements, and destroy them; an element may be NULL ---- */

/* aclCreateTensorList: owns its elements, so that no tensor can be in two lists. */
#define LIST(type, element, kind, element_kind, create, destroy) \
    type *create(const element *const *value, uint64_t size) { \
        CALL(create); \
        if (scope.injected || (size && !value)) return NULL; \
        for (uint64_t i = 0; i < size; i++) \
            if (value[i] && (!aclsim_is(value[i], element_kind) || value[i]->in_list)) { \
                aclsim_error(ACLNN_PARAM_INVALID, #create ": element %d is destroyed, or in a list already", (int)i); \
                return NULL; \
            } \
        type *list = aclsim_handle_new(kind, sizeof *list + size * sizeof *value); \
        list->size = size; \
        for (uint64_t i = 0; i < size; i++) \
            if ((list->values[i] = (element *)value[i])) list->values[i]->in_list = true; \
        return list; \
    } \
    aclnnStatus destroy(const type *array) { \
        CALL(destroy); \
        if (array) { \
            NEED_KIND(array, kind); \
            for (uint64_t i = 0; i < array->size; i++) \
                if (array->values[i]) aclsim_handle_free(array->values[i]); \
            aclsim_handle_free((void *)array); \
        } \
        FAIL_LAST(); \
    }

LIST(aclTensorList, aclTensor, KIND_TENSOR_LIST, KIND_TENSOR, aclCreateTensorList, aclDestroyTensorList)
