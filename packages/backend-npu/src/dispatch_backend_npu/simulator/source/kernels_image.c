/* Images: padding, and windows as columns. */
#include "tensor.h"

/* ---- Padding by a value; the last dim's comes first ---- */

aclnnStatus check_constant_pad(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t count = length(call, 1);
    if (count % 2 || count / 2 > self->rank) return bad(call, "pad has two numbers a dimension");
    int64_t sizes[MAX_DIMS];
    for (int d = 0; d < self->rank; d++) {
        const int64_t at = 2 * (self->rank - 1 - d);
        sizes[d] = self->sizes[d] + (at < count ? values(call, 1)[at] + values(call, 1)[at + 1] : 0);
    }
    return same_sizes(call, 3, sizes, self->rank);
}

void kernel_constant_pad(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, 3);
    const bool real = moves_real(self);
    const cell value = scalar_cell(call, 2, real);
    const int64_t count = aclsim_numel(out);
    cell *cells = scratch((size_t)(count ? count : 1) * sizeof *cells);
    int64_t where[MAX_DIMS];
    for (int64_t i = 0; i < count; i++) {
        bool inside = true;
        positions(out, i, where);
        for (int d = 0; d < self->rank; d++) {
            const int64_t at = 2 * (self->rank - 1 - d);
            where[d] -= at < length(call, 1) ? values(call, 1)[at] : 0;
            inside = inside && where[d] >= 0 && where[d] < self->sizes[d];
        }
        cells[i] = inside ? read_at(self, place(self, where), real) : value;
    }
    store(out, cells, real);
    scratch_done();
}
