/* Steps of optimizers. */
#include "tensor.h"

aclnnStatus check_adam(aclsim_call *call) {
    const aclTensor *var = tensor(call, 0);
    PASS_ON(needs_short_floats(call, 0));
    for (int i = 1; i <= 4; i++) {
        if (i == 3 && !given(call, 3)) continue;
        if (tensor(call, i)->dtype != var->dtype) return bad(call, "the tensors have different dtypes");
        PASS_ON(same_sizes(call, i, var->sizes, var->rank));
    }
    if (var->rank < 1) return bad(call, "varRef has at least one dimension");
    if (integer(call, 11) && !given(call, 3)) return bad(call, "amsgrad needs maxGradNormOptionalRef");
    const aclTensor *step = tensor(call, 5);
    if (step->dtype != ACL_FLOAT && step->dtype != ACL_INT64) return bad(call, "step must be of float or int64");
    return aclsim_numel(step) == 1 ? 0 : bad(call, "step has one element");
}

/* The decay is that of AdamW: of the parameter itself, beside the gradient's step. Tensor step has the number of steps before this
 * one: the kernel adds 1 to it. The step is rounded before the learning rate multiplies it: so it has the same bits where the rate is
 * 1 here, and multiplies later. */
void kernel_adam(aclsim_call *call) {
    const aclTensor *var = tensor(call, 0);
    const bool amsgrad = integer(call, 11);
    cell *x = load(var, true), *m = load(tensor(call, 1), true), *v = load(tensor(call, 2), true);
    cell *most = amsgrad ? load(tensor(call, 3), true) : NULL;
    const cell *grad = load(tensor(call, 4), true);
    const double step = load_as(tensor(call, 5), ACL_FLOAT, true)[0].f + 1, sign = integer(call, 12) ? -1 : 1;
    const double lr = call->arguments[6].real, beta1 = call->arguments[7].real, beta2 = call->arguments[8].real;
    const double decay = call->arguments[9].real, eps = call->arguments[10].real;
    const double size = 1 / (1 - pow(beta1, step)), left = 1 - pow(beta2, step);
    const double kept = held(var->dtype, (cell){.f = 1 - lr * decay}, true).f;
    for (int64_t i = 0; i < aclsim_numel(var); i++) {
        const double g = sign * grad[i].f;
        m[i].f = beta1 * m[i].f + (1 - beta1) * g;
        v[i].f = beta2 * v[i].f + (1 - beta2) * g * g;
        double square = v[i].f;
        if (most) square = most[i].f = MAX(most[i].f, square);
        const cell way = {.f = size * m[i].f / (sqrt(square / left) + eps)}, decayed = {.f = x[i].f * kept};
        x[i].f = held(var->dtype, decayed, true).f - lr * held(var->dtype, way, true).f;
    }
    store(var, x, true);
    store(tensor(call, 1), m, true);
    store(tensor(call, 2), v, true);
    if (most) store(tensor(call, 3), most, true);
    scratch_done();
}
