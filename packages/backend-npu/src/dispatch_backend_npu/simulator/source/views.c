/* libnnopbase: the operators by which the toolkit makes a strided operand contiguous, by the operand's descriptor.
 *
 * It looks for a chain of fast ones: a slice (with a step where the elements of a row lie apart), a transposition, an
 * expansion. For a slice it imagines the rows that the view was cut from, and counts how many the storage holds: a
 * storage that ends with the view lacks the rest of its last row, and AsStrided, the slow one for any view, is taken.
 */
#include "aclsim.h"

typedef struct { int64_t size, stride; } extent;

/* Dimensions of one element do not count; those that are expanded come back last. */
static int real_dims(const aclTensor *view, extent *dims, bool *expands) {
    int count = 0;
    for (int i = 0; i < view->rank; i++) {
        if (!view->strides[i]) *expands = true;
        else if (view->sizes[i] != 1) dims[count++] = (extent){view->sizes[i], view->strides[i]};
    }
    return count;
}

static bool is_dense(const extent *dims, int count) {
    int64_t step = 1;
    for (int i = count - 1; i >= 0; step *= dims[i--].size)
        if (dims[i].stride != step) return false;
    return true;
}

/* By strides, from the largest; return whether something has moved. */
static bool sort(extent *dims, int count) {
    bool moved = false;
    for (int i = 1; i < count; i++)
        for (int j = i; j && dims[j - 1].stride < dims[j].stride; j--) {
            extent held = dims[j];
            dims[j] = dims[j - 1];
            dims[j - 1] = held;
            moved = true;
        }
    return moved;
}

static int64_t divisor(int64_t a, int64_t b) { return b ? divisor(b, a % b) : a; }

/* Whether the view is a box of an array whose strides are the view's own, with as many rows as the storage has. */
static bool is_box(const extent *dims, int count, int64_t offset, int64_t storage) {
    for (int i = 0; i < count; i++) {
        const int64_t wide = i ? dims[i - 1].stride / dims[i].stride : storage / dims[0].stride;
        if (offset / dims[i].stride + dims[i].size > wide) return false;
        offset %= dims[i].stride;
    }
    return true;
}

/* The same with steps, in an array whose rows are as long as the strides of all dimensions but the last have in common. */
static bool is_stepped_box(const extent *dims, int count, int64_t offset, int64_t storage, int64_t row) {
    int64_t sizes[MAX_DIMS + 1], strides[MAX_DIMS + 1], step = row;
    sizes[count - 1] = row;
    strides[count - 1] = 1;
    for (int i = count - 2; i >= 0; i--) {
        strides[i] = step;
        sizes[i] = i ? dims[i - 1].stride / step : storage / step;
        step *= sizes[i];
    }
    for (int i = 0; i < count; i++) {
        if (dims[i].stride % strides[i]) return false;
        const int64_t begin = offset / strides[i];
        if (begin + (dims[i].size - 1) * (dims[i].stride / strides[i]) >= sizes[i] || dims[i].size > sizes[i]) return false;
        offset %= strides[i];
    }
    return true;
}

aclsim_reading aclsim_reading_of(const aclTensor *view) {
    extent dims[MAX_DIMS + 1];
    bool expands = false;
    if (!aclsim_numel(view)) return READ_AS_IT_IS;
    for (int i = 0; i < view->rank; i++) if (view->strides[i] < 0) return READ_BY_AS_STRIDED;
    int count = real_dims(view, dims, &expands);
    if (is_dense(dims, count)) return expands ? READ_BY_MOVES : READ_AS_IT_IS;
    const bool turned = sort(dims, count);
    if (turned && is_dense(dims, count)) return READ_BY_MOVES;
    if (count == 1) dims[count++] = (extent){1, 1};
    bool divides = dims[count - 1].stride == 1;
    int64_t row = dims[0].stride;
    for (int i = 1; i < count; i++) {
        if (dims[i - 1].stride % dims[i].stride) divides = false;
        if (dims[i - 1].stride < dims[i].stride * (dims[i].size - 1)) return READ_BY_AS_STRIDED; /* they overlap */
        if (i < count - 1) row = divisor(row, dims[i].stride);
    }
    if (divides) {
        /* Where rows of whole pieces would be turned, too, one AsStrided is taken for both. */
        const bool at_once = turned && view->strides[view->rank - 1] == 1 && view->sizes[view->rank - 1] % 64 == 0;
        return is_box(dims, count, view->offset, view->storage) && !at_once ? READ_BY_SLICE : READ_BY_AS_STRIDED;
    }
    if (row > 1 && row >= dims[count - 1].stride * dims[count - 1].size && is_stepped_box(dims, count, view->offset, view->storage, row))
        return READ_BY_SLICE;
    return READ_BY_AS_STRIDED;
}
