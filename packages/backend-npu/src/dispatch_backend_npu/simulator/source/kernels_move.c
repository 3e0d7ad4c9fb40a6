/* Joining, moving and creating tensors: operators that move elements instead of computing with them. */
#include "tensor.h"

/* ---- Joining and moving ---- */

/* A tensor of shape (0) is ignored, as in torch. */
static bool is_empty(const aclTensor *part) { return part->rank == 1 && part->sizes[0] == 0; }

aclnnStatus check_cat(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const int64_t dim = wrapped(integer(call, 1), out->rank);
    int64_t length = 0;
    if (!call->arguments[0].count) return bad(call, "there is nothing to join");
    if (dim < 0 || dim >= out->rank) return bad(call, "dim is out of range");
    for (int64_t i = 0; i < call->arguments[0].count; i++) {
        const aclTensor *part = &call->arguments[0].tensors[i];
        if (is_empty(part)) continue;
        if (part->rank != out->rank) return bad(call, "the tensors have different numbers of dimensions");
        for (int d = 0; d < out->rank; d++)
            if (d != dim && part->sizes[d] != out->sizes[d]) return bad(call, "the tensors have different sizes");
        length += part->sizes[dim];
    }
    return length == out->sizes[dim] ? 0 : bad(call, "out has another length than the tensors together");
}

void kernel_cat(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const int dim = (int)wrapped(integer(call, 1), out->rank);
    const bool real = computes_real(call);
    int64_t at = 0;
    for (int64_t i = 0; i < call->arguments[0].count; i++) {
        const aclTensor *part = &call->arguments[0].tensors[i];
        if (is_empty(part)) continue;
        const aclTensor to = narrowed(out, dim, at, part->sizes[dim]);
        copy_all(&to, part, real);
        at += part->sizes[dim];
        scratch_done();
    }
}

aclnnStatus check_stack(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const int64_t dim = wrapped(integer(call, 1), out->rank);
    if (!call->arguments[0].count) return bad(call, "there is nothing to join");
    if (dim < 0 || dim >= out->rank) return bad(call, "dim is out of range");
    if (out->sizes[dim] != call->arguments[0].count) return bad(call, "out has another length than there are tensors");
    const aclTensor rest = without_dims(out, &dim, 1);
    for (int64_t i = 0; i < call->arguments[0].count; i++) {
        const aclTensor *part = &call->arguments[0].tensors[i];
        bool same = part->rank == rest.rank;
        for (int d = 0; d < rest.rank && same; d++) same = part->sizes[d] == rest.sizes[d];
        if (!same) return bad(call, "the tensors have different shapes");
    }
    return 0;
}

void kernel_stack(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const int64_t dim = wrapped(integer(call, 1), out->rank);
    const bool real = computes_real(call);
    for (int64_t i = 0; i < call->arguments[0].count; i++) {
        const aclTensor slice = narrowed(out, (int)dim, i, 1), to = without_dims(&slice, &dim, 1);
        copy_all(&to, &call->arguments[0].tensors[i], real);
        scratch_done();
    }
}

/* The result is the operand with each position changed: `from` maps it to the position in the operand. */
static void move(aclsim_call *call, void (*from)(const aclsim_call *, const aclTensor *self, int64_t *where)) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, output(call, 0));
    const bool real = moves_real(self);
    const int64_t count = aclsim_numel(out);
    cell *cells = scratch((size_t)count * sizeof *cells);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < count; i++) {
        positions(out, i, where);
        from(call, self, where);
        cells[i] = read_at(self, place(self, where), real);
    }
    store(out, cells, real);
    scratch_done();
}

static void from_flipped(const aclsim_call *call, const aclTensor *self, int64_t *where) {
    for (int64_t i = 0; i < call->arguments[1].count; i++) {
        const int64_t dim = wrapped(call->arguments[1].values[i], self->rank);
        where[dim] = self->sizes[dim] - 1 - where[dim];
    }
}

void kernel_flip(aclsim_call *call) { move(call, from_flipped); }

/* Without dims, roll takes the tensor as one row. */
static void from_rolled(const aclsim_call *call, const aclTensor *self, int64_t *where) {
    const aclsim_argument *shifts = &call->arguments[1], *dims = &call->arguments[2];
    if (!dims->count) {
        int64_t nth = 0, total = aclsim_numel(self);
        for (int d = 0; d < self->rank; d++) nth = nth * self->sizes[d] + where[d];
        positions(self, modulo_whole(nth - (shifts->count ? shifts->values[0] : 0), total), where);
        return;
    }
    for (int64_t i = 0; i < dims->count; i++) {
        const int64_t dim = wrapped(dims->values[i], self->rank);
        where[dim] = modulo_whole(where[dim] - shifts->values[i], self->sizes[dim]);
    }
}

void kernel_roll(aclsim_call *call) { move(call, from_rolled); }

aclnnStatus check_repeat(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const aclsim_argument *repeats = &call->arguments[1];
    int64_t sizes[MAX_DIMS];
    const int rank = (int)repeats->count;
    if (rank < self->rank || rank > MAX_DIMS) return bad(call, "repeats are fewer than the dimensions");
    for (int d = 0; d < rank; d++) sizes[d] = repeats->values[d] * (d < rank - self->rank ? 1 : self->sizes[d - rank + self->rank]);
    return same_sizes(call, 2, sizes, rank);
}

void kernel_repeat(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 2);
    const bool real = moves_real(self);
    const int64_t count = aclsim_numel(out);
    const int more = out->rank - self->rank;
    cell *cells = scratch((size_t)count * sizeof *cells);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < count; i++) {
        positions(out, i, where);
        for (int d = 0; d < self->rank; d++) where[d] = where[d + more] % self->sizes[d];
        cells[i] = read_at(self, place(self, where), real);
    }
    store(out, cells, real);
    scratch_done();
}

static void triangle(aclsim_call *call, bool upper) {
    const aclTensor *self = tensor(call, 0);
    const bool real = moves_real(self);
    const int64_t diagonal = integer(call, 1), rows = self->sizes[self->rank - 2], columns = self->sizes[self->rank - 1];
    cell *cells = load(self, real);
    for (int64_t i = 0; i < aclsim_numel(self); i++) {
        const int64_t row = i / columns % rows, column = i % columns;
        if (upper ? column - row < diagonal : column - row > diagonal) cells[i].i = 0; /* all bits clear: 0 and 0.0 */
    }
    store(tensor(call, output(call, 0)), cells, real);
    scratch_done();
}

void kernel_tril(aclsim_call *call) { triangle(call, false); }
void kernel_triu(aclsim_call *call) { triangle(call, true); }

/* ---- The second half of a dim gates the first ---- */

aclnnStatus check_glu(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = wrapped(integer(call, 1), self->rank);
    if (dim < 0 || dim >= self->rank || self->sizes[dim] % 2) return bad(call, "dim is out of range, or its size is odd");
    return same_sizes(call, 2, narrowed(self, (int)dim, 0, self->sizes[dim] / 2).sizes, self->rank);
}

void kernel_glu(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int dim = (int)wrapped(integer(call, 1), self->rank);
    const int64_t half = self->sizes[dim] / 2, count = aclsim_numel(tensor(call, 2));
    const aclTensor first = narrowed(self, dim, 0, half), second = narrowed(self, dim, half, half);
    cell *x = load(&first, true);
    const cell *gate = load(&second, true);
    for (int64_t i = 0; i < count; i++) x[i].f *= SIGMOID(gate[i].f);
    store(tensor(call, 2), x, true);
    scratch_done();
}

/* ---- Creation ---- */

void kernel_arange(aclsim_call *call) {
    const aclTensor *out = tensor(call, 3);
    const bool real = computes_real(call);
    const cell start = scalar_cell(call, 0, real), step = scalar_cell(call, 2, real);
    const int64_t count = aclsim_numel(out);
    cell *cells = scratch((size_t)count * sizeof *cells);
    for (int64_t i = 0; i < count; i++) {
        if (real) cells[i].f = start.f + (double)i * step.f;
        else cells[i].i = start.i + i * step.i;
    }
    store(out, cells, real);
    scratch_done();
}

aclnnStatus check_arange(aclsim_call *call) {
    const double start = scalar_real(call, 0), end = scalar_real(call, 1), step = scalar_real(call, 2);
    if (step == 0) return bad(call, "step is 0");
    const double length = ceil((end - start) / step);
    return length == (double)aclsim_numel(tensor(call, 3)) || (length < 0 && aclsim_numel(tensor(call, 3)) == 0)
        ? 0 : bad(call, "out has another length than start, end and step give");
}

void kernel_linspace(aclsim_call *call) {
    const aclTensor *out = tensor(call, 3);
    const bool whole = !aclsim_is_real(out->dtype);
    const double start = whole ? (double)scalar_integer(call, 0) : scalar_real(call, 0),
                 end = whole ? (double)scalar_integer(call, 1) : scalar_real(call, 1);
    const int64_t count = integer(call, 2);
    cell *cells = scratch((size_t)count * sizeof *cells);
    for (int64_t i = 0; i < count; i++)
        cells[i].f = count == 1 ? start : i < count / 2 ? start + (double)i * ((end - start) / (double)(count - 1))
                                                        : end - (double)(count - 1 - i) * ((end - start) / (double)(count - 1));
    store(out, cells, true);
    scratch_done();
}

aclnnStatus check_linspace(aclsim_call *call) {
    return same_sizes(call, 3, (int64_t[]){integer(call, 2)}, 1);
}

void kernel_eye(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const int64_t count = aclsim_numel(out), columns = out->sizes[1];
    cell *cells = scratch((size_t)count * sizeof *cells);
    for (int64_t i = 0; i < count; i++) cells[i].i = i / columns == i % columns;
    store(out, cells, false);
    scratch_done();
}

aclnnStatus check_eye(aclsim_call *call) { return same_sizes(call, 2, (int64_t[]){integer(call, 0), integer(call, 1)}, 2); }
