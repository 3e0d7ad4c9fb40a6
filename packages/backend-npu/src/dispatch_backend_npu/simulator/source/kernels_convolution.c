/* Convolution, and the windows of images as columns. */
#include "tensor.h"

/* ---- Convolution: products of a small image and a large one, which position o * stride - padding + k * dilation joins.
 * A convolution gives the small image, a transposed one the large. ---- */

typedef struct {
    int rank; /* of the images, without batch and channels */
    int64_t batch, channels, per_group, groups; /* channels of the small image; those of the large one in a group */
    int64_t small[3], large[3], kernel[3], stride[3], padding[3], dilation[3];
    bool transposed;
} convolution;

/* The numbers of arguments: input, weight, stride (padding and dilation follow, then transposed), groups, and the result. */
static convolution read_convolution(const aclsim_call *call, int input, int weight, int stride, int groups, const aclTensor *result) {
    const aclTensor *x = tensor(call, input), *w = tensor(call, weight);
    convolution c = {.rank = x->rank - 2, .groups = integer(call, groups), .transposed = integer(call, stride + 3)};
    const aclTensor *small = c.transposed ? x : result, *large = c.transposed ? result : x;
    c.batch = x->sizes[0], c.channels = w->sizes[0], c.per_group = w->sizes[1];
    for (int d = 0; d < 3; d++) c.small[d] = c.large[d] = c.kernel[d] = c.stride[d] = c.dilation[d] = 1;
    for (int d = 0; d < c.rank; d++) {
        c.small[d] = small->sizes[d + 2], c.large[d] = large->sizes[d + 2], c.kernel[d] = w->sizes[d + 2];
        c.stride[d] = nth(call, stride, d), c.padding[d] = nth(call, stride + 1, d), c.dilation[d] = nth(call, stride + 2, d);
    }
    return c;
}

typedef enum { SMALL, LARGE, WEIGHT } convolution_part;

/* Add each product of two of the parts to the third. */
static void correlate(const convolution *c, cell *small, cell *large, cell *weight, convolution_part sum) {
    const int64_t points = c->small[0] * c->small[1] * c->small[2], taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t in_group = c->channels / c->groups;
    for (int64_t n = 0; n < c->batch * c->channels * points; n++) {
        const int64_t point = n % points, channel = n / points % c->channels, item = n / points / c->channels;
        const int64_t o[3] = {point / c->small[2] / c->small[1], point / c->small[2] % c->small[1], point % c->small[2]};
        for (int64_t m = 0; m < c->per_group * taps; m++) {
            const int64_t tap = m % taps, other = channel / in_group * c->per_group + m / taps;
            const int64_t k[3] = {tap / c->kernel[2] / c->kernel[1], tap / c->kernel[2] % c->kernel[1], tap % c->kernel[2]};
            int64_t at = item * c->groups * c->per_group + other;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                const int64_t i = o[d] * c->stride[d] - c->padding[d] + k[d] * c->dilation[d];
                inside = inside && i >= 0 && i < c->large[d];
                at = at * c->large[d] + i;
            }
            if (!inside) continue;
            double *s = &small[n].f, *l = &large[at].f, *w = &weight[channel * c->per_group * taps + m].f;
            if (sum == SMALL) *s += *l * *w;
            else if (sum == LARGE) *l += *s * *w;
            else *w += *s * *l;
        }
    }
}

static aclnnStatus check_convolution_of(aclsim_call *call, int input, int weight, int stride, int groups, const aclTensor *result) {
    const aclTensor *x = tensor(call, input), *w = tensor(call, weight);
    PASS_ON(check_images(call, input));
    PASS_ON(needs_short_floats(call, input));
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank || result->rank != x->rank) return bad(call, "images have 3 to 5 dimensions");
    if (x->dtype != w->dtype || result->dtype != x->dtype) return bad(call, "input, weight and result have one data type");
    for (int i = stride; i < stride + 3; i++)
        if (length(call, i) != x->rank - 2) return bad(call, "stride, padding and dilation have a number for each dimension");
    const convolution c = read_convolution(call, input, weight, stride, groups, result);
    if (c.groups < 1 || c.channels % c.groups) return bad(call, "groups do not divide the channels");
    const aclTensor *small = c.transposed ? x : result, *large = c.transposed ? result : x;
    if (small->sizes[1] != c.channels || large->sizes[1] != c.per_group * c.groups || small->sizes[0] != large->sizes[0])
        return bad(call, "the channels do not fit the weight");
    for (int d = 0; d < c.rank; d++) {
        if (c.stride[d] < 1 || c.dilation[d] < 1 || c.padding[d] < 0) return bad(call, "stride and dilation are positive");
        const int64_t added = c.transposed ? nth(call, stride + 4, d) : 0;
        const int64_t reach = c.large[d] - added + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1;
        if (reach < 0 || reach / c.stride[d] + 1 != c.small[d]) return bad(call, "the result has another size than the operands give");
    }
    return 0;
}

aclnnStatus check_convolution(aclsim_call *call) {
    PASS_ON(check_convolution_of(call, 0, 1, 3, 8, tensor(call, 9)));
    return !given(call, 2) || (tensor(call, 2)->rank == 1 && tensor(call, 2)->sizes[0] == tensor(call, 9)->sizes[1])
               ? 0 : bad(call, "bias has one element a channel");
}

void kernel_convolution(aclsim_call *call) {
    const aclTensor *out = tensor(call, 9);
    const convolution c = read_convolution(call, 0, 1, 3, 8, out);
    const int64_t count = aclsim_numel(out), channels = out->sizes[1], area = c.batch && channels ? count / c.batch / channels : 0;
    cell *x = load(tensor(call, 0), true), *w = load(tensor(call, 1), true), *y = zeros(count);
    correlate(&c, c.transposed ? x : y, c.transposed ? y : x, w, c.transposed ? LARGE : SMALL);
    if (given(call, 2)) {
        const cell *bias = load(tensor(call, 2), true);
        for (int64_t i = 0; i < count; i++) y[i].f += bias[i / area % channels].f;
    }
    store(out, y, true);
    scratch_done();
}

aclnnStatus check_convolution_backward(aclsim_call *call) {
    const aclTensor *x = tensor(call, 1), *w = tensor(call, 2);
    PASS_ON(check_mask(call, 10, 12));
    PASS_ON(check_convolution_of(call, 1, 2, 4, 9, tensor(call, 0)));
    if (given(call, 12)) PASS_ON(same_sizes(call, 12, x->sizes, x->rank));
    if (given(call, 13)) PASS_ON(same_sizes(call, 13, w->sizes, w->rank));
    return given(call, 14) ? same_sizes(call, 14, values(call, 3), 1) : 0;
}

void kernel_convolution_backward(aclsim_call *call) {
    const aclTensor *gradient = tensor(call, 0);
    const convolution c = read_convolution(call, 1, 2, 4, 9, gradient);
    const int64_t count = aclsim_numel(gradient), channels = gradient->sizes[1], area = count ? count / c.batch / channels : 1;
    cell *g = load(gradient, true), *x = load(tensor(call, 1), true), *w = load(tensor(call, 2), true);
    const int64_t *mask = values(call, 10);
    if (mask[0]) {
        cell *sums = zeros(aclsim_numel(tensor(call, 1)));
        correlate(&c, c.transposed ? sums : g, c.transposed ? g : sums, w, c.transposed ? SMALL : LARGE);
        store(tensor(call, 12), sums, true);
    }
    if (mask[1]) {
        cell *sums = zeros(aclsim_numel(tensor(call, 2)));
        correlate(&c, c.transposed ? x : g, c.transposed ? g : x, sums, WEIGHT);
        store(tensor(call, 13), sums, true);
    }
    if (mask[2]) {
        cell *sums = zeros(channels);
        for (int64_t i = 0; i < count; i++) sums[i / area % channels].f += g[i].f;
        store(tensor(call, 14), sums, true);
    }
    scratch_done();
}

/* ---- The windows of an image as columns, and their sum as an image ---- */

/* The arguments are kernel, dilation, padding and stride, from `kernel` on. */
static aclnnStatus check_columns(const aclsim_call *call, const aclTensor *image, int columns, int kernel) {
    for (int i = kernel; i < kernel + 4; i++) if (length(call, i) != 2) return bad(call, "windows have two numbers");
    int64_t sizes[3] = {image->sizes[0], image->sizes[image->rank - 3], 1};
    for (int d = 0; d < 2; d++) {
        const int64_t width = nth(call, kernel, d), dilation = nth(call, kernel + 1, d), padding = nth(call, kernel + 2, d), stride = nth(call, kernel + 3, d);
        sizes[1] *= width;
        sizes[2] *= (image->sizes[image->rank - 2 + d] + 2 * padding - dilation * (width - 1) - 1) / stride + 1;
    }
    return image->rank == 4 ? same_sizes(call, columns, sizes, 3) : same_sizes(call, columns, sizes + 1, 2);
}

static void move_columns(const aclsim_call *call, const aclTensor *image, cell *x, cell *y, int kernel, bool backward) {
    int64_t count[2], size[2];
    for (int d = 0; d < 2; d++) {
        size[d] = image->sizes[image->rank - 2 + d];
        count[d] = (size[d] + 2 * nth(call, kernel + 2, d) - nth(call, kernel + 1, d) * (nth(call, kernel, d) - 1) - 1) / nth(call, kernel + 3, d) + 1;
    }
    const int64_t planes = aclsim_numel(image) / (size[0] * size[1]), taps = nth(call, kernel, 0) * nth(call, kernel, 1);
    for (int64_t i = 0; i < planes * taps * count[0] * count[1]; i++) {
        const int64_t o[2] = {i / count[1] % count[0], i % count[1]}, tap = i / (count[0] * count[1]) % taps;
        const int64_t k[2] = {tap / nth(call, kernel, 1), tap % nth(call, kernel, 1)};
        int64_t at = i / (count[0] * count[1]) / taps;
        bool inside = true;
        for (int d = 0; d < 2; d++) {
            const int64_t p = o[d] * nth(call, kernel + 3, d) - nth(call, kernel + 2, d) + k[d] * nth(call, kernel + 1, d);
            inside = inside && p >= 0 && p < size[d];
            at = at * size[d] + p;
        }
        if (inside && backward) x[at].f += y[i].f;
        else if (inside) y[i] = x[at];
    }
}

aclnnStatus check_im2col(aclsim_call *call) {
    return check_columns(call, tensor(call, 0), 5, 1);
}

void kernel_im2col(aclsim_call *call) {
    const bool real = aclsim_is_real(tensor(call, 0)->dtype);
    cell *x = load(tensor(call, 0), real), *y = zeros(aclsim_numel(tensor(call, 5)));
    move_columns(call, tensor(call, 0), x, y, 1, false);
    store(tensor(call, 5), y, real);
    scratch_done();
}

aclnnStatus check_col2im(aclsim_call *call) {
    const aclTensor *image = tensor(call, 6);
    PASS_ON(needs_short_floats(call, 0));
    if (image->rank < 3) return bad(call, "an image has 3 or 4 dimensions");
    if (length(call, 1) != 2 || values(call, 1)[0] != image->sizes[image->rank - 2] || values(call, 1)[1] != image->sizes[image->rank - 1])
        return bad(call, "out has another size than inputSize");
    return check_columns(call, image, 0, 2);
}

void kernel_col2im(aclsim_call *call) {
    const aclTensor *image = tensor(call, 6);
    cell *y = load(tensor(call, 0), true), *x = zeros(aclsim_numel(image));
    move_columns(call, image, x, y, 2, true);
    store(image, x, true);
    scratch_done();
}
