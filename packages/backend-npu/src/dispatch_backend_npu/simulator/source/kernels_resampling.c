/* Resampling: an element of the result is a sum of one, two or four elements along each dim, weighted. */
#include "tensor.h"

enum { SPATIAL = 3 };
typedef enum { NEAREST, LINEAR, CUBIC } method;
typedef struct { int count; int64_t places[4]; double shares[4]; } taps;

static int64_t within(int64_t place, int64_t size) { return place < 0 ? 0 : place < size ? place : size - 1; }

/* The cubic convolution kernel with a = -0.75. */
static double cubic(double away) {
    const double a = -0.75, x = fabs(away);
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* The elements of a dim of `size` that each of `count` elements is made of. */
static taps *line(method how, int64_t size, int64_t count, double scale, bool corners) {
    taps *found = scratch((size_t)(count ? count : 1) * sizeof *found);
    const double ratio = corners ? (count > 1 ? (double)(size - 1) / (double)(count - 1) : 0) : scale > 0 ? 1 / scale : (double)size / (double)count;
    for (int64_t o = 0; o < count; o++) {
        if (how == NEAREST) {
            found[o] = (taps){1, {within((int64_t)floorf((float)o * (float)ratio), size)}, {1}};
            continue;
        }
        double at = corners ? ratio * (double)o : ratio * ((double)o + 0.5) - 0.5;
        if (how == LINEAR && at < 0) at = 0;
        const int64_t low = (int64_t)floor(at);
        const double share = at - (double)low;
        if (how == LINEAR) {
            found[o] = (taps){2, {within(low, size), within(low + 1, size)}, {1 - share, share}};
            continue;
        }
        found[o].count = 4;
        for (int k = 0; k < 4; k++) found[o].places[k] = within(low - 1 + k, size), found[o].shares[k] = cubic(share + 1 - k);
    }
    return found;
}

/* `coarse` is read for each element of `fine`, or added to, the other way round; the scales begin at argument `scales`. */
static void resample(const aclsim_call *call, method how, const aclTensor *coarse, const aclTensor *fine, int scales, bool corners, bool backward) {
    const int dims = fine->rank - 2;
    const aclTensor *result = backward ? coarse : fine;
    const taps *lines[SPATIAL];
    for (int d = 0; d < dims; d++)
        lines[d] = line(how, coarse->sizes[2 + d], fine->sizes[2 + d], scales < 0 ? 0 : call->arguments[scales + d].real, corners);
    cell *operand = load(backward ? fine : coarse, true), *sums = zeros(aclsim_numel(result));
    cell *x = backward ? sums : operand, *y = backward ? operand : sums;
    const int64_t count = aclsim_numel(fine);
    for (int64_t i = 0; i < count; i++) {
        const taps *here[SPATIAL];
        int64_t plane = i;
        int corners_of = 1;
        for (int d = dims - 1; d >= 0; d--) {
            here[d] = &lines[d][plane % fine->sizes[2 + d]];
            plane /= fine->sizes[2 + d];
            corners_of *= here[d]->count;
        }
        for (int k = 0; k < corners_of; k++) {
            int64_t at = plane;
            double share = 1;
            for (int d = 0, rest = k; d < dims; rest /= here[d]->count, d++) {
                const int n = rest % here[d]->count;
                at = at * coarse->sizes[2 + d] + here[d]->places[n];
                share *= here[d]->shares[n];
            }
            if (share == 0) continue;
            if (backward) x[at].f += share * y[i].f;
            else y[i].f += share * x[at].f;
        }
    }
    store(result, sums, true);
    scratch_done();
}

static aclnnStatus check_fine(const aclsim_call *call, const aclTensor *coarse, const aclTensor *fine, int dims, int scales) {
    if (length(call, 1) != dims || fine->rank != dims + 2 || coarse->rank != dims + 2) return bad(call, "outputSize has a number for each dimension after the first two");
    if (fine->dtype != coarse->dtype) return bad(call, "the tensors have different types");
    for (int d = 0; d < dims + 2; d++) {
        if (d > 1 && (coarse->sizes[d] < 1 || fine->sizes[d] < 1)) return bad(call, "an image is empty");
        if (fine->sizes[d] != (d < 2 ? coarse->sizes[d] : values(call, 1)[d - 2])) return bad(call, "an image has another size than outputSize");
        const double scale = d < 2 || scales < 0 ? 0 : call->arguments[scales + d - 2].real;
        if (scale > 0 && (int64_t)floor((double)coarse->sizes[d] * scale) != fine->sizes[d]) return bad(call, "a scale is not that of the sizes");
    }
    return 0;
}

static aclnnStatus check_coarse(const aclsim_call *call, int dims, int scales) {
    if (length(call, 2) != dims + 2) return bad(call, "inputSize has a number for each dimension");
    PASS_ON(same_sizes(call, scales + dims, values(call, 2), dims + 2));
    return check_fine(call, tensor(call, scales + dims), tensor(call, 0), dims, scales);
}

static aclnnStatus check_shrinking(const aclsim_call *call, const aclTensor *large, const aclTensor *small, int64_t factor) {
    for (int d = 2; d < large->rank; d++)
        if (large->sizes[d] > factor * small->sizes[d]) return bad(call, "an image shrinks too much");
    return 0;
}

aclnnStatus check_upsample_nearest1(aclsim_call *call) { return check_fine(call, tensor(call, 0), tensor(call, 2), 1, -1); }
aclnnStatus check_upsample_nearest2(aclsim_call *call) { return check_fine(call, tensor(call, 0), tensor(call, 2), 2, -1); }
aclnnStatus check_upsample_nearest1_backward(aclsim_call *call) { return check_coarse(call, 1, 3); }
aclnnStatus check_upsample_nearest2_backward(aclsim_call *call) { return check_coarse(call, 2, 3); }

/* A scale of 0 is one, unlike everywhere else: that of no elements. */
aclnnStatus check_upsample_linear1(aclsim_call *call) {
    if (call->arguments[3].real == 0) return bad(call, "a scale is not that of the sizes");
    return check_fine(call, tensor(call, 0), tensor(call, 4), 1, 3);
}

aclnnStatus check_upsample_linear2(aclsim_call *call) { return check_fine(call, tensor(call, 0), tensor(call, 5), 2, 3); }

aclnnStatus check_upsample_linear3(aclsim_call *call) {
    PASS_ON(check_fine(call, tensor(call, 0), tensor(call, 6), 3, 3));
    return check_shrinking(call, tensor(call, 0), tensor(call, 6), 50);
}

aclnnStatus check_upsample_linear1_backward(aclsim_call *call) {
    PASS_ON(check_coarse(call, 1, 4));
    if (tensor(call, 0)->dtype == ACL_BF16 && tensor(call, 0)->sizes[2] != tensor(call, 5)->sizes[2]) return bad(call, "bfloat16 keeps its size");
    return check_shrinking(call, tensor(call, 0), tensor(call, 5), 500);
}

aclnnStatus check_upsample_linear2_backward(aclsim_call *call) { return check_coarse(call, 2, 4); }
aclnnStatus check_upsample_linear3_backward(aclsim_call *call) { return check_coarse(call, 3, 4); }

void kernel_upsample_nearest(aclsim_call *call) { resample(call, NEAREST, tensor(call, 0), tensor(call, 2), -1, false, false); }

void kernel_upsample_nearest_backward(aclsim_call *call) {
    const aclTensor *fine = tensor(call, 0);
    resample(call, NEAREST, tensor(call, fine->rank + 1), fine, 3, false, true);
}

static void forward(const aclsim_call *call, method how) {
    const aclTensor *coarse = tensor(call, 0);
    resample(call, how, coarse, tensor(call, coarse->rank + 1), 3, integer(call, 2), false);
}

static void backward(const aclsim_call *call, method how) {
    const aclTensor *fine = tensor(call, 0);
    resample(call, how, tensor(call, fine->rank + 2), fine, 4, integer(call, 3), true);
}

void kernel_upsample_linear(aclsim_call *call) { forward(call, LINEAR); }
void kernel_upsample_linear_backward(aclsim_call *call) { backward(call, LINEAR); }
void kernel_upsample_cubic(aclsim_call *call) { forward(call, CUBIC); }
void kernel_upsample_cubic_backward(aclsim_call *call) { backward(call, CUBIC); }
