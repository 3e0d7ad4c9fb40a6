/* Distinct elements and entries, how often they come, and rows of zeros with a one. */
#include "tensor.h"

/* ---- Distinct entries ---- */

/* Entries of `width` cells each, and the order in which they are sorted. */
static const cell *entries;
static int64_t entry_width;
static bool entries_real;

static int compare_entries(const void *a, const void *b) {
    const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;
    for (int64_t i = 0; i < entry_width; i++) {
        const cell x = entries[one * entry_width + i], y = entries[two * entry_width + i];
        const int order = entries_real ? (x.f > y.f) - (x.f < y.f) : (x.i > y.i) - (x.i < y.i);
        if (order) return order;
    }
    return 0;
}

static int compare_in_order(const void *a, const void *b) {
    const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;
    const int order = compare_entries(a, b);
    return order ? order : (one > two) - (one < two);
}

/* The first `count` entries of `values`, and of the other results where there are any, as one dim or along `dim`. */
static void find_distinct(const aclTensor *rows, int64_t count, int64_t width, bool sorted, const aclTensor *values, int dim,
                          const aclTensor *inverse, const aclTensor *counts) {
    const bool real = entries_real = moves_real(rows);
    const cell *x = entries = load(rows, real);
    entry_width = width;
    int64_t *order = scratch((size_t)count * sizeof *order), found = 0;
    for (int64_t i = 0; i < count; i++) order[i] = i;
    if (sorted) qsort(order, (size_t)count, sizeof *order, compare_in_order);
    cell *kept = zeros(count * width), *places = zeros(count), *times = zeros(count);
    for (int64_t i = 0; i < count; i++) {
        if (i && !compare_entries(&order[i - 1], &order[i])) times[found - 1].i++;
        else {
            memcpy(kept + found * width, x + order[i] * width, (size_t)width * sizeof *kept);
            times[found++].i = 1;
        }
        places[order[i]].i = found - 1;
    }
    /* The result is packed as an array of its own sizes, at the beginning of what was given for it. */
    aclTensor packed = *values, lead = *values;
    int64_t stride = 1;
    packed.sizes[dim] = found;
    for (int d = packed.rank - 1; d >= 0; d--) packed.strides[d] = stride, stride *= packed.sizes[d];
    lead.sizes[0] = packed.sizes[dim], lead.strides[0] = packed.strides[dim];
    for (int d = 0, at = 1; d < packed.rank; d++) if (d != dim) lead.sizes[at] = packed.sizes[d], lead.strides[at++] = packed.strides[d];
    store(&lead, kept, real);
    if (inverse) store(inverse, places, false);
    if (counts) {
        aclTensor part = *counts;
        part.sizes[0] = found;
        store(&part, times, false);
    }
    scratch_done();
}

static aclnnStatus check_contiguous(const aclsim_call *call, int i) {
    const aclTensor *each = tensor(call, i);
    int64_t stride = 1;
    for (int d = each->rank - 1; d >= 0; d--) {
        if (each->sizes[d] != 1 && each->strides[d] != stride) return bad(call, "self is contiguous");
        stride *= each->sizes[d];
    }
    return 0;
}

static aclnnStatus check_distinct(aclsim_call *call, int values) {
    if (tensor(call, 0)->dtype != tensor(call, values)->dtype) return bad(call, "self and valueOut have different data types");
    for (int i = 1; i < 3; i++)
        if (tensor(call, values + i)->dtype != ACL_INT64) return bad(call, "inverseOut and countsOut hold int64");
    return 0;
}

aclnnStatus check_unique(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t count = aclsim_numel(self);
    PASS_ON(check_distinct(call, 4));
    PASS_ON(check_contiguous(call, 0));
    PASS_ON(same_sizes(call, 4, &count, 1));
    if (integer(call, 2)) PASS_ON(same_sizes(call, 5, self->sizes, self->rank));
    return integer(call, 3) ? same_sizes(call, 6, &count, 1) : 0;
}

void kernel_unique(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    find_distinct(self, aclsim_numel(self), 1, true, tensor(call, 4), 0, integer(call, 2) ? tensor(call, 5) : NULL,
                  integer(call, 3) ? tensor(call, 6) : NULL);
}

/* The dim 1000 means none: self is flattened. */
aclnnStatus check_unique_consecutive(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = integer(call, 3), flat = aclsim_numel(self);
    PASS_ON(check_distinct(call, 4));
    if (dim == 1000) PASS_ON(same_sizes(call, 4, &flat, 1));
    else if (wrapped(dim, self->rank) < 0 || wrapped(dim, self->rank) >= self->rank) return bad(call, "dim is out of range");
    else PASS_ON(same_sizes(call, 4, self->sizes, self->rank));
    const int64_t count = dim == 1000 ? flat : self->sizes[wrapped(dim, self->rank)];
    if (integer(call, 1)) PASS_ON(dim == 1000 ? same_sizes(call, 5, self->sizes, self->rank) : same_sizes(call, 5, &count, 1));
    return integer(call, 2) ? same_sizes(call, 6, &count, 1) : 0;
}

static void along(aclsim_call *call, int64_t dim, bool sorted, bool inverse, bool counts) {
    const aclTensor *self = tensor(call, 0);
    aclTensor first = *self;
    dim = wrapped(dim, self->rank);
    first.sizes[0] = self->sizes[dim], first.strides[0] = self->strides[dim];
    for (int d = 0, at = 1; d < self->rank; d++) if (d != dim) first.sizes[at] = self->sizes[d], first.strides[at++] = self->strides[d];
    const int64_t count = self->sizes[dim];
    find_distinct(&first, count, count ? aclsim_numel(self) / count : 0, sorted, tensor(call, 4), (int)dim,
                  inverse ? tensor(call, 5) : NULL, counts ? tensor(call, 6) : NULL);
}

void kernel_unique_consecutive(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *inverse = integer(call, 1) ? tensor(call, 5) : NULL, *counts = integer(call, 2) ? tensor(call, 6) : NULL;
    if (integer(call, 3) == 1000) find_distinct(self, aclsim_numel(self), 1, false, tensor(call, 4), 0, inverse, counts);
    else along(call, integer(call, 3), false, inverse, counts);
}

aclnnStatus check_unique_dim(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = wrapped(integer(call, 3), self->rank);
    PASS_ON(check_distinct(call, 4));
    if (dim < 0 || dim >= self->rank) return bad(call, "dim is out of range");
    PASS_ON(same_sizes(call, 4, self->sizes, self->rank));
    PASS_ON(same_sizes(call, 5, &self->sizes[dim], 1));
    return same_sizes(call, 6, &self->sizes[dim], 1);
}

void kernel_unique_dim(aclsim_call *call) { along(call, integer(call, 3), true, integer(call, 2), true); }

/* ---- How often each integer comes ---- */

aclnnStatus check_bincount(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 3);
    if (self->rank != 1 || out->rank != 1) return bad(call, "self and out are vectors");
    if (given(call, 1)) PASS_ON(same_sizes(call, 1, self->sizes, 1));
    return out->sizes[0] < integer(call, 2) ? bad(call, "out has minlength elements at least") : 0;
}

void kernel_bincount(aclsim_call *call) {
    const aclTensor *out = tensor(call, 3);
    const bool real = moves_real(out);
    const int64_t count = aclsim_numel(tensor(call, 0));
    const cell *x = load(tensor(call, 0), false), *weights = given(call, 1) ? load_as(tensor(call, 1), out->dtype, real) : NULL;
    cell *sums = zeros(out->sizes[0]);
    for (int64_t i = 0; i < count; i++) {
        cell *to = sums + in_range(x[i].i, out->sizes[0]);
        if (real) to->f += weights ? weights[i].f : 1;
        else to->i += weights ? weights[i].i : 1;
    }
    store(out, sums, real);
    scratch_done();
}

/* ---- A row for each integer: a one at its place, if it has one ---- */

aclnnStatus check_one_hot(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 5);
    const int64_t classes = integer(call, 1), axis = integer(call, 4) < 0 ? self->rank : integer(call, 4);
    int64_t sizes[MAX_DIMS];
    if (integer(call, 4) < -1 || axis > self->rank || self->rank + 1 > MAX_DIMS) return bad(call, "axis is out of range");
    if (classes < 0 || (!classes && !aclsim_numel(self))) return bad(call, "numClasses is negative");
    for (int i = 2; i < 4; i++)
        if (tensor(call, i)->dtype != out->dtype) return bad(call, "onValue, offValue and out have different data types");
    for (int d = 0; d <= self->rank; d++) sizes[d] = d == axis ? classes : self->sizes[d - (d > axis)];
    return same_sizes(call, 5, sizes, self->rank + 1);
}

void kernel_one_hot(aclsim_call *call) {
    const aclTensor *out = tensor(call, 5);
    const int64_t axis = integer(call, 4) < 0 ? out->rank - 1 : integer(call, 4), classes = integer(call, 1);
    const aclTensor rows = turned(out, axis);
    const bool real = moves_real(out);
    const int64_t count = aclsim_numel(tensor(call, 0));
    const cell *x = load(tensor(call, 0), false), on = load(tensor(call, 2), real)[0], off = load(tensor(call, 3), real)[0];
    cell *cells = scratch((size_t)(count * classes) * sizeof *cells);
    for (int64_t i = 0; i < count * classes; i++) cells[i] = x[i / classes].i == i % classes ? on : off;
    store(&rows, cells, real);
    scratch_done();
}

/* ---- Each index, as often as it is to be repeated ---- */

aclnnStatus check_repeat_places(aclsim_call *call) {
    const aclTensor *repeats = tensor(call, 0), *out = tensor(call, 2);
    const int64_t size = integer(call, 1);
    if (repeats->rank != 1) return bad(call, "repeats is a vector");
    if (repeats->dtype != out->dtype) return bad(call, "repeats and out have different data types");
    return same_sizes(call, 2, &size, 1);
}

void kernel_repeat_places(aclsim_call *call) {
    const aclTensor *repeats = tensor(call, 0);
    const int64_t count = aclsim_numel(repeats), size = integer(call, 1);
    const cell *times = load(repeats, false);
    cell *places = zeros(size);
    for (int64_t i = 0, at = 0; i < count; i++)
        for (int64_t k = 0; k < times[i].i && at < size; k++) places[at++].i = i;
    store(tensor(call, 2), places, false);
    scratch_done();
}

/* ---- Each element or entry, as often as it is to be repeated ---- */

static aclnnStatus check_repeats(aclsim_call *call, int64_t size, int out) {
    const aclTensor *repeats = tensor(call, 1);
    if (tensor(call, 0)->dtype != tensor(call, out)->dtype) return bad(call, "self and out have different data types");
    if (repeats->rank > 1) return bad(call, "repeats is a number or a vector");
    if (aclsim_numel(repeats) != 1 && aclsim_numel(repeats) != size) return bad(call, "repeats has one element, or one for each entry");
    return 0;
}

aclnnStatus check_repeat_flat(aclsim_call *call) {
    const int64_t size = integer(call, 2);
    PASS_ON(check_repeats(call, aclsim_numel(tensor(call, 0)), 3));
    return same_sizes(call, 3, &size, 1);
}

aclnnStatus check_repeat_along(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = wrapped(integer(call, 2), self->rank);
    int64_t sizes[MAX_DIMS];
    if (dim < 0 || dim >= self->rank) return bad(call, "dim is out of range");
    PASS_ON(check_repeats(call, self->sizes[dim], 4));
    for (int d = 0; d < self->rank; d++) sizes[d] = d == dim ? integer(call, 3) : self->sizes[d];
    return same_sizes(call, 4, sizes, self->rank);
}

static void repeat(const cell *x, int64_t rows, int64_t length, const cell *times, bool one, int64_t size, const aclTensor *out, bool real) {
    cell *cells = zeros(rows * size);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0, at = 0; i < length; i++)
            for (int64_t k = 0; k < times[one ? 0 : i].i && at < size; k++) cells[row * size + at++] = x[row * length + i];
    store(out, cells, real);
    scratch_done();
}

void kernel_repeat_flat(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *repeats = tensor(call, 1);
    const bool real = moves_real(self);
    repeat(load(self, real), 1, aclsim_numel(self), load(repeats, false), aclsim_numel(repeats) == 1, integer(call, 2), tensor(call, 3), real);
}

void kernel_repeat_along(aclsim_call *call) {
    const aclTensor *repeats = tensor(call, 1);
    const aclTensor self = turned(tensor(call, 0), integer(call, 2)), out = turned(tensor(call, 4), integer(call, 2));
    const bool real = moves_real(&self);
    const int64_t length = length_of(&self);
    repeat(load(&self, real), length ? aclsim_numel(&self) / length : 0, length, load(repeats, false), aclsim_numel(repeats) == 1, integer(call, 3), &out, real);
}
