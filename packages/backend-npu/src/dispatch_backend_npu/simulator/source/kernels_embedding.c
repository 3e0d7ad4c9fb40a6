/* Embedding: the rows of a matrix that indices name. */
#include "tensor.h"

aclnnStatus check_embedding(aclsim_call *call) {
    const aclTensor *weight = tensor(call, 0), *indices = tensor(call, 1);
    int64_t sizes[MAX_DIMS];
    if (weight->rank != 2) return bad(call, "weight is a matrix");
    if (indices->rank + 1 > MAX_DIMS) return bad(call, "indices have too many dimensions");
    PASS_ON(needs_integers(call, 1));
    for (int d = 0; d < indices->rank; d++) sizes[d] = indices->sizes[d];
    sizes[indices->rank] = weight->sizes[1];
    return same_sizes(call, 2, sizes, indices->rank + 1);
}

void kernel_embedding(aclsim_call *call) {
    const aclTensor *weight = tensor(call, 0);
    const bool real = moves_real(weight);
    const int64_t width = weight->sizes[1], count = aclsim_numel(tensor(call, 1));
    const cell *rows = load(weight, real), *indices = load(tensor(call, 1), false);
    cell *out = scratch((size_t)(count * width) * sizeof *out);
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * width, rows + in_range(indices[i].i, weight->sizes[0]) * width, (size_t)width * sizeof *out);
    store(tensor(call, 2), out, real);
    scratch_done();
}

void kernel_embedding_backward(aclsim_call *call) {
    const aclTensor *gradient = tensor(call, 0), *out = tensor(call, 5);
    const int64_t count = aclsim_numel(tensor(call, 1)), rows = integer(call, 2), padding = integer(call, 3);
    const int64_t width = gradient->rank ? gradient->sizes[gradient->rank - 1] : 1;
    const bool scaled = integer(call, 4);
    const cell *g = load(gradient, true), *indices = load(tensor(call, 1), false);
    cell *sums = scratch((size_t)(rows * width) * sizeof *sums);
    int64_t *seen = scratch((size_t)rows * sizeof *seen);
    memset(sums, 0, (size_t)(rows * width) * sizeof *sums);
    memset(seen, 0, (size_t)rows * sizeof *seen);
    for (int64_t i = 0; i < count; i++) seen[in_range(indices[i].i, rows)]++;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = in_range(indices[i].i, rows);
        if (indices[i].i == padding) continue;
        for (int64_t j = 0; j < width; j++) sums[row * width + j].f += g[i * width + j].f / (scaled ? (double)seen[row] : 1);
    }
    store(out, sums, true);
    scratch_done();
}

aclnnStatus check_embedding_backward(aclsim_call *call) {
    const aclTensor *gradient = tensor(call, 0);
    PASS_ON(needs_integers(call, 1));
    if (!gradient->rank) return bad(call, "grad has a dimension for the embedding");
    return same_sizes(call, 5, (int64_t[]){integer(call, 2), gradient->sizes[gradient->rank - 1]}, 2);
}

aclnnStatus check_embedding_renorm(aclsim_call *call) {
    PASS_ON(needs_integers(call, 1));
    return tensor(call, 0)->rank == 2 ? 0 : bad(call, "self is a matrix");
}

/* A row that indices name, and whose norm is larger, is shortened to it, once. */
void kernel_embedding_renorm(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t rows = self->sizes[0], width = self->sizes[1], count = aclsim_numel(tensor(call, 1));
    const double most = call->arguments[2].real, p = call->arguments[3].real;
    cell *weight = load(self, true), *seen = zeros(rows);
    const cell *indices = load(tensor(call, 1), false);
    for (int64_t i = 0; i < count; i++) seen[in_range(indices[i].i, rows)].i = 1;
    for (int64_t r = 0; r < rows; r++) {
        double norm = 0;
        for (int64_t j = 0; j < width; j++) norm = isinf(p) ? fmax(norm, fabs(weight[r * width + j].f)) : norm + pow(fabs(weight[r * width + j].f), p);
        norm = isinf(p) ? norm : pow(norm, 1 / p);
        if (seen[r].i && norm > most) for (int64_t j = 0; j < width; j++) weight[r * width + j].f *= most / (norm + 1e-7);
    }
    store(self, weight, true);
    scratch_done();
}

/* ---- Each slice along a dim whose norm is larger is shortened to it ---- */

aclnnStatus check_renorm(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t dim = wrapped(integer(call, 2), self->rank);
    if (self->rank < 2) return bad(call, "self has two dimensions at least");
    if (dim < 0 || dim >= self->rank) return bad(call, "dim is out of range");
    if (scalar_real(call, 1) < 0 || scalar_real(call, 3) < 0) return bad(call, "p and maxNorm are not negative");
    return same_sizes(call, 4, self->sizes, self->rank);
}

void kernel_renorm(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 4);
    const int64_t dim = wrapped(integer(call, 2), self->rank), slices = self->sizes[dim];
    const double p = scalar_real(call, 1), most = scalar_real(call, 3);
    for (int64_t s = 0; s < slices; s++) {
        const aclTensor from = narrowed(self, (int)dim, s, 1), to = narrowed(out, (int)dim, s, 1);
        const int64_t count = aclsim_numel(&from);
        cell *x = load(&from, true);
        double norm = 0;
        for (int64_t i = 0; i < count; i++) norm = isinf(p) ? fmax(norm, fabs(x[i].f)) : norm + pow(fabs(x[i].f), p);
        norm = isinf(p) ? norm : pow(norm, 1 / p);
        if (norm > most) for (int64_t i = 0; i < count; i++) x[i].f *= most / (norm + 1e-7);
        store(&to, x, true);
    }
    scratch_done();
}
