/* Losses; reduction is 0 for none, 1 for mean, 2 for sum. */
#include "tensor.h"

/* A loss is a map whose result may be reduced: by argument `reduction`, 0 for none, 1 for the mean, 2 for the sum. */
aclnnStatus check_loss(aclsim_call *call, int reduction) {
    aclTensor wide;
    if (reduction < 0 || reduction > 2) return bad(call, "reduction is 0, 1 or 2");
    if (!reduction) return check_map(call);
    if (broadcast(call, &wide) < 0) return bad(call, "the operands' shapes do not broadcast");
    return aclsim_numel(tensor(call, output(call, 0))) == 1 ? 0 : bad(call, "out must have one element");
}

void store_loss(const aclsim_call *call, const cell *cells, int64_t count, int64_t reduction) {
    cell total = {.f = 0};
    for (int64_t i = 0; i < count && reduction; i++) total.f += cells[i].f;
    if (reduction == 1) total.f /= (double)count;
    store(tensor(call, output(call, 0)), reduction ? &total : cells, true);
}

aclnnStatus check_nll_loss(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *target = tensor(call, 1), *weight = tensor(call, 2);
    const int64_t reduction = integer(call, 3);
    if (self->rank < 1 || self->rank > 2 || target->rank != self->rank - 1) return bad(call, "self is (N, C) or (C), target (N) or ()");
    if (self->rank == 2 && target->sizes[0] != self->sizes[0]) return bad(call, "self and target have different batches");
    if (aclsim_numel(weight) != self->sizes[self->rank - 1]) return bad(call, "weight has one element a class");
    if (aclsim_is_real(target->dtype)) return bad(call, "target must hold integers");
    if (reduction < 0 || reduction > 2) return bad(call, "reduction is 0, 1 or 2");
    if (reduction || self->rank == 1) PASS_ON(aclsim_numel(tensor(call, 5)) == 1 ? 0 : bad(call, "out must have one element"));
    else PASS_ON(same_sizes(call, 5, target->sizes, target->rank));
    return aclsim_numel(tensor(call, 6)) == 1 ? 0 : bad(call, "totalWeightOut must have one element");
}

void kernel_nll_loss(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t classes = self->sizes[self->rank - 1], reduction = integer(call, 3), ignored = integer(call, 4);
    const int64_t count = aclsim_numel(tensor(call, 1));
    const cell *x = load(self, true), *target = load(tensor(call, 1), false), *weight = load(tensor(call, 2), true);
    cell *losses = scratch((size_t)(count ? count : 1) * sizeof *losses), total = {.f = 0};
    double loss = 0;
    for (int64_t n = 0; n < count; n++) {
        const int64_t class = target[n].i;
        const bool counts = class != ignored && class >= 0 && class < classes;
        losses[n].f = counts ? -x[n * classes + class].f * weight[class].f : 0;
        loss += losses[n].f;
        total.f += counts ? weight[class].f : 0;
    }
    if (reduction || self->rank == 1) losses[0].f = reduction == 1 ? loss / total.f : loss;
    store(tensor(call, 5), losses, true);
    store(tensor(call, 6), &total, true);
    scratch_done();
}

aclnnStatus check_nll_loss_backward(aclsim_call *call) {
    const aclTensor *self = tensor(call, 1);
    if (self->rank < 1 || self->rank > 2 || tensor(call, 2)->rank != self->rank - 1) return bad(call, "self is (N, C) or (C), target (N) or ()");
    if (aclsim_numel(tensor(call, 3)) != self->sizes[self->rank - 1]) return bad(call, "weight has one element a class");
    return same_sizes(call, 7, self->sizes, self->rank);
}

void kernel_nll_loss_backward(aclsim_call *call) {
    const aclTensor *self = tensor(call, 1);
    const int64_t classes = self->sizes[self->rank - 1], reduction = integer(call, 4), ignored = integer(call, 5);
    const int64_t count = aclsim_numel(tensor(call, 2)), gradients = aclsim_numel(tensor(call, 0));
    const cell *g = load(tensor(call, 0), true), *target = load(tensor(call, 2), false), *weight = load(tensor(call, 3), true);
    const double total = load(tensor(call, 6), true)[0].f;
    cell *out = scratch((size_t)(count * classes) * sizeof *out);
    for (int64_t i = 0; i < count * classes; i++) out[i].f = 0;
    for (int64_t n = 0; n < count; n++) {
        const int64_t class = target[n].i;
        if (class == ignored || class < 0 || class >= classes) continue;
        out[n * classes + class].f = -weight[class].f * g[gradients > 1 ? n : 0].f / (reduction == 1 ? total : 1);
    }
    store(tensor(call, 7), out, true);
    scratch_done();
}

void kernel_mse_loss_backward(aclsim_call *call) {
    const aclTensor *out = tensor(call, 4);
    const aclTensor g = expanded(tensor(call, 0), out->sizes, out->rank), a = expanded(tensor(call, 1), out->sizes, out->rank),
                    b = expanded(tensor(call, 2), out->sizes, out->rank);
    cell *x = load(&a, true);
    const cell *y = load(&b, true), *gradient = load(&g, true);
    const int64_t count = aclsim_numel(out);
    const double scale = integer(call, 3) == 1 ? 2.0 / (double)count : 2.0;
    for (int64_t i = 0; i < count; i++) x[i].f = scale * (x[i].f - y[i].f) * gradient[i].f;
    store(out, x, true);
    scratch_done();
}

void kernel_smooth_l1_loss_backward(aclsim_call *call) {
    const aclTensor *out = tensor(call, 5);
    const aclTensor g = expanded(tensor(call, 0), out->sizes, out->rank), a = expanded(tensor(call, 1), out->sizes, out->rank),
                    b = expanded(tensor(call, 2), out->sizes, out->rank);
    cell *x = load(&a, true);
    const cell *y = load(&b, true), *gradient = load(&g, true);
    const int64_t count = aclsim_numel(out);
    const double scale = integer(call, 3) == 1 ? 1.0 / (double)count : 1.0, beta = call->arguments[4].real;
    for (int64_t i = 0; i < count; i++) {
        const double away = x[i].f - y[i].f;
        x[i].f = scale * gradient[i].f * (fabs(away) < beta ? away / beta : away > 0 ? 1 : away < 0 ? -1 : away);
    }
    store(out, x, true);
    scratch_done();
}
