/* Order: sorting, the element at a place of the order, and the place of an element. */
#include "tensor.h"

typedef struct { cell value; int64_t place; } ranked;
static bool sort_real, sort_descending;

/* Equal elements keep their order; a nan is larger than everything. */
static int compare(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    int order;
    if (sort_real) {
        bool nx = x->value.f != x->value.f, ny = y->value.f != y->value.f;
        order = nx || ny ? nx - ny : (x->value.f > y->value.f) - (x->value.f < y->value.f);
    } else {
        order = (x->value.i > y->value.i) - (x->value.i < y->value.i);
    }
    if (sort_descending) order = -order;
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static void sort(aclsim_call *call, int64_t dim, bool descending, int64_t keep) {
    const bool real = sort_real = aclsim_is_real(tensor(call, 0)->dtype);
    sort_descending = descending;
    const aclTensor in = turned(tensor(call, 0), dim), values = turned(tensor(call, output(call, 0)), dim),
                    places = turned(tensor(call, output(call, 1)), dim);
    const cell *x = load(&in, real);
    const int64_t n = length_of(&in), count = n ? aclsim_numel(&in) / n : 0;
    ranked *row = scratch((size_t)n * sizeof *row);
    cell *value = scratch((size_t)(count * keep) * sizeof *value), *place = scratch((size_t)(count * keep) * sizeof *place);
    for (int64_t r = 0; r < count; r++) {
        for (int64_t i = 0; i < n; i++) row[i] = (ranked){x[r * n + i], i};
        qsort(row, (size_t)n, sizeof *row, compare);
        for (int64_t i = 0; i < keep; i++) {
            value[r * keep + i] = row[i].value;
            place[r * keep + i].i = row[i].place;
        }
    }
    store(&values, value, real);
    store(&places, place, false);
    scratch_done();
}

void kernel_sort(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = integer(call, 2);
    sort(call, dim, integer(call, 3), self->rank ? self->sizes[wrapped(dim, self->rank)] : 1);
}

void kernel_topk(aclsim_call *call) { sort(call, integer(call, 2), integer(call, 3), integer(call, 1)); }

aclnnStatus check_topk(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    int64_t dim = wrapped(integer(call, 2), self->rank), k = integer(call, 1), sizes[MAX_DIMS];
    if (dim < 0 || dim >= (self->rank ? self->rank : 1)) return bad(call, "dim is out of range");
    if (k < 0 || k > (self->rank ? self->sizes[dim] : 1)) return bad(call, "k is out of range");
    for (int d = 0; d < self->rank; d++) sizes[d] = d == dim ? k : self->sizes[d];
    PASS_ON(same_sizes(call, 5, sizes, self->rank));
    return same_sizes(call, 6, sizes, self->rank);
}

/* ---- One element of each row: the k-th of its order ---- */

/* The element k of each row, from 0 on, and its place; a nan is the median of its row. */
static void pick(const aclTensor *in, int64_t k, bool median, const aclTensor *values, const aclTensor *places) {
    const bool real = sort_real = aclsim_is_real(in->dtype);
    sort_descending = false;
    const cell *x = load(in, real);
    const int64_t n = length_of(in), count = n ? aclsim_numel(in) / n : 0;
    ranked *row = scratch((size_t)n * sizeof *row);
    cell *value = zeros(count), *at = zeros(count);
    for (int64_t r = 0; r < count; r++) {
        for (int64_t i = 0; i < n; i++) row[i] = (ranked){x[r * n + i], i};
        qsort(row, (size_t)n, sizeof *row, compare);
        int64_t chosen = k;
        for (int64_t i = n - 1; i >= 0 && median && real && row[i].value.f != row[i].value.f; i--) chosen = i;
        value[r] = row[chosen].value;
        at[r].i = row[chosen].place;
    }
    store(values, value, real);
    if (places) store(places, at, false);
    scratch_done();
}

aclnnStatus check_pick(aclsim_call *call) {
    const bool median = call->op->count == 5;
    const aclTensor *self = tensor(call, 0);
    const int at = median ? 1 : 2;
    const int64_t dim = wrapped(integer(call, at), self->rank), k = median ? 1 : integer(call, 1);
    if (dim < 0 || dim >= self->rank) return bad(call, "dim is out of range");
    if (k < 1 || k > self->sizes[dim]) return bad(call, "k is out of range");
    int64_t sizes[MAX_DIMS];
    int rank = 0;
    for (int d = 0; d < self->rank; d++)
        if (d != dim || integer(call, at + 1)) sizes[rank++] = d == dim ? 1 : self->sizes[d];
    PASS_ON(same_sizes(call, at + 2, sizes, rank));
    return same_sizes(call, at + 3, sizes, rank);
}

void kernel_kthvalue(aclsim_call *call) {
    const aclTensor in = turned(tensor(call, 0), integer(call, 2));
    pick(&in, integer(call, 1) - 1, false, tensor(call, 4), tensor(call, 5));
}

void kernel_median_dim(aclsim_call *call) {
    const aclTensor in = turned(tensor(call, 0), integer(call, 1));
    pick(&in, (length_of(&in) - 1) / 2, true, tensor(call, 3), tensor(call, 4));
}

void kernel_median(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t n = aclsim_numel(self);
    const bool real = sort_real = aclsim_is_real(self->dtype);
    sort_descending = false;
    const cell *x = load(self, real);
    ranked *row = scratch((size_t)n * sizeof *row);
    for (int64_t i = 0; i < n; i++) row[i] = (ranked){x[i], i};
    qsort(row, (size_t)n, sizeof *row, compare);
    int64_t chosen = (n - 1) / 2;
    if (real && row[n - 1].value.f != row[n - 1].value.f) chosen = n - 1;
    store(tensor(call, 1), &row[chosen].value, real);
    scratch_done();
}

/* ---- The place of an element in a sorted row ---- */

aclnnStatus check_search_sorted(aclsim_call *call) {
    const aclTensor *sorted = tensor(call, 0), *self = tensor(call, 1), *out = tensor(call, 5);
    if (out->dtype != (integer(call, 2) ? ACL_INT32 : ACL_INT64)) return bad(call, "out holds int64, or int32 with outInt32");
    if (sorted->rank != 1 && sorted->rank != self->rank) return bad(call, "self has other dimensions than sortedSequence");
    for (int d = 0; d < sorted->rank - 1; d++)
        if (sorted->sizes[d] != self->sizes[d]) return bad(call, "self has other rows than sortedSequence");
    if (given(call, 4)) PASS_ON(same_sizes(call, 4, sorted->sizes, sorted->rank));
    return same_sizes(call, 5, self->sizes, self->rank);
}

void kernel_search_sorted(aclsim_call *call) {
    const aclTensor *sorted = tensor(call, 0), *self = tensor(call, 1);
    const bool real = computes_real(call), right = integer(call, 3);
    const cell *rows = load(sorted, real), *x = load(self, real), *order = given(call, 4) ? load(tensor(call, 4), false) : NULL;
    const int64_t n = length_of(sorted), count = aclsim_numel(self), width = sorted->rank == 1 ? count : length_of(self);
    cell *places = zeros(count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = width ? i / width * n : 0;
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            const cell at = rows[begin + (order ? order[begin + middle].i : middle)];
            const bool reached = real ? (right ? at.f > x[i].f : at.f >= x[i].f) : right ? at.i > x[i].i : at.i >= x[i].i;
            if (reached) high = middle;
            else low = middle + 1;
        }
        places[i].i = low;
    }
    store(tensor(call, 5), places, false);
    scratch_done();
}
