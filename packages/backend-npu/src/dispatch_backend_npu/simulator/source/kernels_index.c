/* Indexing: elements are read from, and written to, positions that indices name. */
#include "tensor.h"

static cell added(cell a, cell b, bool real) { return real ? (cell){.f = a.f + b.f} : (cell){.i = a.i + b.i}; }
static cell multiplied(cell a, cell b, bool real) { return real ? (cell){.f = a.f * b.f} : (cell){.i = a.i * b.i}; }

/* ---- One dim, one vector of indices ---- */

static aclnnStatus check_dim(const aclsim_call *call, int i) {
    const int rank = tensor(call, 0)->rank;
    const int64_t dim = wrapped(integer(call, i), rank);
    return dim < 0 || dim >= (rank ? rank : 1) ? bad(call, "dim is out of range") : 0;
}

aclnnStatus check_index_select(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *index = tensor(call, 2);
    PASS_ON(check_dim(call, 1));
    PASS_ON(needs_integers(call, 2));
    if (index->rank > 1) return bad(call, "index is a vector");
    int64_t sizes[MAX_DIMS], dim = wrapped(integer(call, 1), self->rank);
    for (int d = 0; d < self->rank; d++) sizes[d] = d == dim ? aclsim_numel(index) : self->sizes[d];
    return same_sizes(call, 3, sizes, self->rank);
}

/* A tensor without dims is treated as one with one dim of size 1. */
static aclTensor at_least_one(const aclTensor *view) {
    aclTensor one = *view;
    if (!one.rank) one.rank = 1, one.sizes[0] = 1, one.strides[0] = 0;
    return one;
}

void kernel_index_select(aclsim_call *call) {
    const aclTensor self = at_least_one(tensor(call, 0)), out = at_least_one(tensor(call, 3));
    const int dim = (int)wrapped(integer(call, 1), self.rank);
    const bool real = moves_real(&self);
    const int64_t count = aclsim_numel(&out);
    const cell *index = load(tensor(call, 2), false);
    cell *cells = scratch((size_t)count * sizeof *cells);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < count; i++) {
        positions(&out, i, where);
        where[dim] = in_range(index[where[dim]].i, self.sizes[dim]);
        cells[i] = read_at(&self, place(&self, where), real);
    }
    store(&out, cells, real);
    scratch_done();
}

void kernel_index_add(aclsim_call *call) {
    const aclTensor self = at_least_one(tensor(call, 0)), source = at_least_one(tensor(call, 3)), out = at_least_one(tensor(call, 5));
    const int dim = (int)wrapped(integer(call, 1), self.rank);
    const bool real = computes_real(call);
    const cell alpha = scalar_cell(call, 4, real);
    const cell *index = load(tensor(call, 2), false), *values = load(&source, real);
    copy_all(&out, &self, real);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < aclsim_numel(&source); i++) {
        positions(&source, i, where);
        where[dim] = in_range(index[where[dim]].i, self.sizes[dim]);
        const int64_t at = place(&out, where);
        write_at(&out, at, added(read_at(&out, at, real), multiplied(alpha, values[i], real), real), real);
    }
    scratch_done();
}

/* The rows of the source replace those that the indices name. */
aclnnStatus check_index_copy(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *index = tensor(call, 2);
    PASS_ON(check_dim(call, 1));
    PASS_ON(needs_integers(call, 2));
    int64_t sizes[MAX_DIMS], dim = wrapped(integer(call, 1), self->rank);
    for (int d = 0; d < self->rank; d++) sizes[d] = d == dim ? aclsim_numel(index) : self->sizes[d];
    return self->rank ? same_sizes(call, 3, sizes, self->rank) : 0;
}

void kernel_index_copy(aclsim_call *call) {
    const aclTensor self = at_least_one(tensor(call, 0)), source = at_least_one(tensor(call, 3));
    const int dim = (int)wrapped(integer(call, 1), self.rank);
    const bool real = moves_real(&self);
    const cell *index = load(tensor(call, 2), false), *values = load(&source, real);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < aclsim_numel(&source); i++) {
        positions(&source, i, where);
        where[dim] = in_range(index[where[dim]].i, self.sizes[dim]);
        write_at(&self, place(&self, where), values[i], real);
    }
    scratch_done();
}

/* ---- One dim, a tensor of indices ---- */

aclnnStatus check_gather(aclsim_call *call) {
    PASS_ON(check_dim(call, 1));
    PASS_ON(needs_integers(call, 2));
    return same_sizes(call, 3, tensor(call, 2)->sizes, tensor(call, 2)->rank);
}

void kernel_gather(aclsim_call *call) {
    const aclTensor self = at_least_one(tensor(call, 0)), index = at_least_one(tensor(call, 2));
    const int dim = (int)wrapped(integer(call, 1), self.rank);
    const bool real = moves_real(&self);
    const int64_t count = aclsim_numel(&index);
    const cell *indices = load(&index, false);
    cell *out = scratch((size_t)count * sizeof *out);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < count; i++) {
        positions(&index, i, where);
        where[dim] = in_range(indices[i].i, self.sizes[dim]);
        out[i] = read_at(&self, place(&self, where), real);
    }
    store(tensor(call, 3), out, real);
    scratch_done();
}

/* reduce: 0 replaces, 1 adds, 2 multiplies. */
static void scatter(const aclTensor *to, int64_t dim_given, const aclTensor *index_given, const aclTensor *source, cell value, int64_t reduce, bool real) {
    const aclTensor self = at_least_one(to), index = at_least_one(index_given);
    const int dim = (int)wrapped(dim_given, self.rank);
    const int64_t count = aclsim_numel(&index);
    const cell *indices = load(&index, false);
    cell *values = scratch((size_t)count * sizeof *values);
    int64_t where[MAX_DIMS];
    /* The values are read before anything is written: the source may be the target. */
    const aclTensor from = source ? at_least_one(source) : self;
    for (int64_t i = 0; i < count; i++) {
        positions(&index, i, where);
        values[i] = source ? read_at(&from, place(&from, where), real) : value;
    }
    for (int64_t i = 0; i < count; i++) {
        positions(&index, i, where);
        where[dim] = in_range(indices[i].i, self.sizes[dim]);
        const int64_t at = place(&self, where);
        cell now = read_at(&self, at, real);
        write_at(&self, at, reduce == 1 ? added(now, values[i], real) : reduce == 2 ? multiplied(now, values[i], real) : values[i], real);
    }
    scratch_done();
}

aclnnStatus check_scatter(aclsim_call *call) {
    PASS_ON(check_dim(call, 1));
    PASS_ON(needs_integers(call, 2));
    const bool reduces = call->op->count > 4 && call->op->kinds[4] == 'n';
    return reduces && (integer(call, 4) < 0 || integer(call, 4) > 2) ? bad(call, "reduce is 0, 1 or 2") : 0;
}

void kernel_scatter(aclsim_call *call) {
    scatter(tensor(call, 0), integer(call, 1), tensor(call, 2), tensor(call, 3), (cell){.i = 0}, integer(call, 4), computes_real(call));
}

void kernel_scatter_value(aclsim_call *call) {
    const bool real = computes_real(call);
    scatter(tensor(call, 0), integer(call, 1), tensor(call, 2), NULL, scalar_cell(call, 3, real), integer(call, 4), real);
}

/* The arguments of these end with the reduction and the result. */
aclnnStatus check_scatter_out(aclsim_call *call) {
    PASS_ON(check_scatter(call));
    return same_sizes(call, 5, tensor(call, 0)->sizes, tensor(call, 0)->rank);
}

void kernel_scatter_out(aclsim_call *call) {
    const bool real = computes_real(call);
    copy_all(tensor(call, 5), tensor(call, 0), real);
    scatter(tensor(call, 5), integer(call, 1), tensor(call, 2), tensor(call, 3), (cell){.i = 0}, integer(call, 4), real);
}

void kernel_scatter_value_out(aclsim_call *call) {
    const bool real = computes_real(call);
    copy_all(tensor(call, 5), tensor(call, 0), real);
    scatter(tensor(call, 5), integer(call, 1), tensor(call, 2), NULL, scalar_cell(call, 3, real), integer(call, 4), real);
}

void kernel_scatter_add(aclsim_call *call) {
    const bool real = computes_real(call);
    copy_all(tensor(call, 4), tensor(call, 0), real);
    scatter(tensor(call, 4), integer(call, 1), tensor(call, 2), tensor(call, 3), (cell){.i = 0}, 1, real);
}

aclnnStatus check_take(aclsim_call *call) {
    PASS_ON(needs_integers(call, 1));
    return same_sizes(call, 2, tensor(call, 1)->sizes, tensor(call, 1)->rank);
}

void kernel_take(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const bool real = moves_real(self);
    const int64_t count = aclsim_numel(tensor(call, 1)), size = aclsim_numel(self);
    const cell *index = load(tensor(call, 1), false);
    cell *out = scratch((size_t)count * sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = read_at(self, element(self, in_range(index[i].i, size)), real);
    store(tensor(call, 2), out, real);
    scratch_done();
}

aclnnStatus check_put(aclsim_call *call) {
    PASS_ON(needs_integers(call, 1));
    if (tensor(call, 0)->dtype != tensor(call, 2)->dtype) return bad(call, "self and source have different data types");
    return aclsim_numel(tensor(call, 1)) == aclsim_numel(tensor(call, 2)) ? 0 : bad(call, "source has another number of elements than index");
}

void kernel_put(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const bool real = moves_real(self), accumulate = integer(call, 3);
    const int64_t count = aclsim_numel(tensor(call, 1)), size = aclsim_numel(self);
    const cell *index = load(tensor(call, 1), false), *values = load(tensor(call, 2), real);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = element(self, in_range(index[i].i, size));
        write_at(self, at, accumulate ? added(read_at(self, at, real), values[i], real) : values[i], real);
    }
    scratch_done();
}

/* ---- A list of indices, one a dim; a gap (a tensor without elements) takes the whole dim ----
 *
 * The indices broadcast. Their dims come where the first of them stands where they stand side by side, else first. */

typedef struct {
    int dims;                       /* of self that are indexed */
    int dim[MAX_DIMS];
    const cell *index[MAX_DIMS];
    int rank;                       /* of the indices' common shape */
    int64_t sizes[MAX_DIMS], count;
    int kept, keep[MAX_DIMS];       /* the dims that are taken whole */
    int before;                     /* how many of them come before the indices' dims */
    int result_rank;
    int64_t result[MAX_DIMS * 2];
} selection;

static bool is_gap(const aclTensor *index) {
    return index->rank == 1 && index->sizes[0] == 0;
}

static aclnnStatus select_places(const aclsim_call *call, const aclTensor *self, int list, bool reads, selection *s) {
    const aclsim_argument *indices = &call->arguments[list];
    memset(s, 0, sizeof *s);
    s->count = 1;
    if (indices->count > self->rank) return bad(call, "there are more indices than dimensions");
    bool apart = false;
    for (int d = 0; d < self->rank; d++) {
        const aclTensor *index = d < indices->count ? &indices->tensors[d] : NULL;
        if (!index || is_gap(index)) {
            s->keep[s->kept++] = d;
            continue;
        }
        if (index->dtype != ACL_INT64 && index->dtype != ACL_INT32) return bad(call, "indices must hold int64 or int32");
        if (s->dims && s->dim[s->dims - 1] != d - 1) apart = true;
        if (!s->dims) s->before = s->kept;
        s->dim[s->dims++] = d;
        if (index->rank > s->rank) {
            for (int k = s->rank - 1; k >= 0; k--) s->sizes[k + index->rank - s->rank] = s->sizes[k];
            for (int k = 0; k < index->rank - s->rank; k++) s->sizes[k] = 1;
            s->rank = index->rank;
        }
        for (int k = 0; k < index->rank; k++) {
            int64_t *size = &s->sizes[s->rank - index->rank + k];
            if (index->sizes[k] == 1 || index->sizes[k] == *size) continue;
            if (*size != 1) return bad(call, "the indices' shapes do not broadcast");
            *size = index->sizes[k];
        }
    }
    if (!s->dims) return bad(call, "there is no index");
    if (apart) s->before = 0;
    for (int k = 0; k < s->rank; k++) s->count *= s->sizes[k];
    if (s->rank + s->kept > MAX_DIMS) return bad(call, "the result has too many dimensions");
    for (int k = 0; k < s->before; k++) s->result[s->result_rank++] = self->sizes[s->keep[k]];
    for (int k = 0; k < s->rank; k++) s->result[s->result_rank++] = s->sizes[k];
    for (int k = s->before; k < s->kept; k++) s->result[s->result_rank++] = self->sizes[s->keep[k]];
    for (int k = 0; k < s->dims && reads; k++) {
        const aclTensor wide = expanded(&indices->tensors[s->dim[k]], s->sizes, s->rank);
        s->index[k] = load(&wide, false);
    }
    return 0;
}

/* The offset in self of the element of the result at a position. */
static int64_t selected(const aclTensor *self, const selection *s, const int64_t *where) {
    int64_t nth = 0, at = self->offset;
    for (int k = 0; k < s->rank; k++) nth = nth * s->sizes[k] + where[s->before + k];
    for (int k = 0; k < s->dims; k++) at += in_range(s->index[k][nth].i, self->sizes[s->dim[k]]) * self->strides[s->dim[k]];
    for (int k = 0; k < s->kept; k++) at += where[k < s->before ? k : k + s->rank] * self->strides[s->keep[k]];
    return at;
}

aclnnStatus check_index(aclsim_call *call) {
    selection s;
    PASS_ON(select_places(call, tensor(call, 0), 1, false, &s));
    return same_sizes(call, 2, s.result, s.result_rank);
}

void kernel_index(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 2);
    const bool real = moves_real(self);
    const int64_t count = aclsim_numel(out);
    selection s;
    int64_t where[MAX_DIMS];
    if (select_places(call, self, 1, true, &s)) return;
    cell *cells = scratch((size_t)count * sizeof *cells);
    for (int64_t i = 0; i < count; i++) {
        positions(out, i, where);
        cells[i] = read_at(self, selected(self, &s, where), real);
    }
    store(out, cells, real);
    scratch_done();
}

aclnnStatus check_index_put(aclsim_call *call) {
    selection s;
    const aclTensor *values = tensor(call, 2);
    PASS_ON(select_places(call, tensor(call, 0), 1, false, &s));
    for (int d = 0; d < values->rank; d++) {
        int at = s.result_rank - values->rank + d;
        if (at < 0 ? values->sizes[d] != 1 : values->sizes[d] != 1 && values->sizes[d] != s.result[at])
            return bad(call, "values do not broadcast to what is indexed");
    }
    return 0;
}

void kernel_index_put(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const bool real = moves_real(self), accumulate = integer(call, 3);
    selection s;
    int64_t where[MAX_DIMS];
    if (select_places(call, self, 1, true, &s)) return;
    aclTensor target = {.rank = s.result_rank};
    for (int d = 0; d < s.result_rank; d++) target.sizes[d] = s.result[d];
    const aclTensor values = expanded(tensor(call, 2), target.sizes, target.rank);
    const cell *from = load(&values, real);
    for (int64_t i = 0; i < aclsim_numel(&target); i++) {
        positions(&target, i, where);
        const int64_t at = selected(self, &s, where);
        write_at(self, at, accumulate ? added(read_at(self, at, real), from[i], real) : from[i], real);
    }
    scratch_done();
}

/* ---- Positions and elements of a mask: the result may have room for more, which stays as it is ---- */

static int64_t count_true(const cell *cells, int64_t count, bool real) {
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) found += real ? cells[i].f != 0 : cells[i].i != 0;
    return found;
}

aclnnStatus check_nonzero(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 1);
    if (out->dtype != ACL_INT64) return bad(call, "out must be of int64");
    return out->rank == 2 && out->sizes[0] == self->rank ? 0 : bad(call, "out has a row for each dimension");
}

/* The rows lie one behind the other, each as long as there are positions. */
void kernel_nonzero(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const bool real = moves_real(self);
    const int64_t count = aclsim_numel(self);
    const cell *cells = load(self, real);
    const int64_t found = count_true(cells, count, real);
    aclTensor packed = *tensor(call, 1);
    int64_t where[MAX_DIMS], n = 0;
    if (found * self->rank <= packed.storage - packed.offset)
        for (int64_t i = 0; i < count; i++) {
            if (!(real ? cells[i].f != 0 : cells[i].i != 0)) continue;
            positions(self, i, where);
            for (int d = 0; d < self->rank; d++) write_at(&packed, packed.offset + d * found + n, (cell){.i = where[d]}, false);
            n++;
        }
    scratch_done();
}

aclnnStatus check_masked_select(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *mask = tensor(call, 1), *out = tensor(call, 2);
    aclTensor wide;
    if (mask->dtype != ACL_BOOL && mask->dtype != ACL_UINT8) return bad(call, "mask must be of bool or uint8");
    if (out->rank != 1) return bad(call, "out must be a vector");
    if (self->dtype != out->dtype) return bad(call, "self and out have different dtypes");
    if (broadcast(call, &wide) < 0) return bad(call, "the shapes of self and mask do not broadcast");
    return aclsim_numel(out) == aclsim_numel(&wide) ? 0 : bad(call, "out has room for every element");
}

void kernel_masked_select(aclsim_call *call) {
    aclTensor wide;
    broadcast(call, &wide);
    const aclTensor self = expanded(tensor(call, 0), wide.sizes, wide.rank), mask = expanded(tensor(call, 1), wide.sizes, wide.rank);
    aclTensor out = *tensor(call, 2);
    const bool real = moves_real(&self);
    const cell *cells = load(&self, real), *kept = load(&mask, false);
    int64_t n = 0;
    for (int64_t i = 0; i < aclsim_numel(&wide); i++)
        if (kept[i].i) write_at(&out, out.offset + out.strides[0] * n++, cells[i], real);
    scratch_done();
}

aclnnStatus check_masked_scatter(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *mask = tensor(call, 1);
    if (mask->dtype != ACL_BOOL && mask->dtype != ACL_UINT8) return bad(call, "mask must be of bool or uint8");
    if (tensor(call, 2)->dtype != self->dtype) return bad(call, "source has another dtype than self");
    if (mask->rank > self->rank) return bad(call, "mask has more dimensions than self");
    for (int d = 1; d <= mask->rank; d++)
        if (mask->sizes[mask->rank - d] != 1 && mask->sizes[mask->rank - d] != self->sizes[self->rank - d]) return bad(call, "mask does not broadcast to self");
    return 0;
}

void kernel_masked_scatter(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const aclTensor mask = expanded(tensor(call, 1), self->sizes, self->rank);
    const bool real = moves_real(self);
    cell *cells = load(self, real);
    const cell *kept = load(&mask, false), *source = load(tensor(call, 2), real);
    const int64_t most = aclsim_numel(tensor(call, 2));
    int64_t n = 0;
    for (int64_t i = 0; i < aclsim_numel(self); i++)
        if (kept[i].i && n < most) cells[i] = source[n++];
    store(self, cells, real);
    scratch_done();
}
