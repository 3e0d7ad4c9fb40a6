/* Random numbers: Philox4x32 of ten rounds, by seed and offset.
 *
 * Its key is the seed. Its counter is the offset, in the upper half, and the number of the step, in the lower one: streams of
 * different offsets never meet. Each step gives four words. Numbers are drawn as floats of 24 bits, as the device's unit does, and
 * converted afterwards.
 */
#include "tensor.h"

static void philox(uint64_t seed, uint64_t offset, uint64_t step, uint32_t words[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {(uint32_t)step, (uint32_t)(step >> 32), (uint32_t)offset, (uint32_t)(offset >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)0xD2511F53u * c[0], second = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(second >> 32) ^ c[1] ^ key[0], (uint32_t)second,
                                  (uint32_t)(first >> 32) ^ c[3] ^ key[1], (uint32_t)first};
        memcpy(c, next, sizeof c);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    memcpy(words, c, sizeof c);
}

/* The stream of a call: seed and offset are numbers, or tensors of one element when the work is done, with a number that is added
 * to the offset. */
typedef struct { uint64_t seed, offset; } random_stream;

static random_stream by_numbers(const aclsim_call *call, int seed) {
    return (random_stream){(uint64_t)integer(call, seed), (uint64_t)integer(call, seed + 1)};
}

static random_stream by_tensors(const aclsim_call *call, int seed) {
    return (random_stream){(uint64_t)load(tensor(call, seed), false)[0].i,
                           (uint64_t)load(tensor(call, seed + 1), false)[0].i + (uint64_t)integer(call, seed + 2)};
}

/* Return `count` numbers from 0 to below 1. */
static cell *draw(random_stream stream, int64_t count) {
    cell *cells = scratch((size_t)(count + 4) * sizeof *cells);
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t words[4];
        philox(stream.seed, stream.offset, (uint64_t)i / 4, words);
        for (int k = 0; k < 4; k++) cells[i + k].f = (double)(words[k] >> 8) * 0x1p-24;
    }
    return cells;
}

static aclnnStatus check_offset(const aclsim_call *call, int64_t offset) {
    return offset % 4 ? bad(call, "offset is not a multiple of 4") : 0;
}

static aclnnStatus check_tensors(const aclsim_call *call, int seed) {
    for (int i = seed; i < seed + 2; i++) {
        const aclTensor *each = tensor(call, i);
        if (each->dtype != ACL_INT64 && each->dtype != ACL_UINT64) return bad(call, "seedTensor and offsetTensor are of int64 or uint64");
        if (each->rank != 1 || each->sizes[0] != 1) return bad(call, "seedTensor and offsetTensor have one element");
    }
    return check_offset(call, integer(call, seed + 2));
}

/* A kernel, and its check, for seeds that are numbers, and those for tensors: argument `seed` is the seed. */
#define BOTH(name, seed) \
    void kernel_##name(aclsim_call *call) { name(call, by_numbers(call, seed)); } \
    void kernel_##name##_by_tensors(aclsim_call *call) { name(call, by_tensors(call, seed)); }
#define CHECK_BOTH(name, seed) \
    aclnnStatus check_##name(aclsim_call *call) { PASS_ON(name##_fits(call)); return check_offset(call, integer(call, seed + 1)); } \
    aclnnStatus check_##name##_by_tensors(aclsim_call *call) { PASS_ON(name##_fits(call)); return check_tensors(call, seed); }

/* Numbers are stored by way of floats: integers lose their fractions. */
static void store_floats(const aclTensor *view, cell *cells) {
    const bool real = aclsim_is_real(view->dtype);
    for (int64_t i = 0; i < aclsim_numel(view); i++) {
        const float value = (float)cells[i].f;
        if (real) cells[i].f = value;
        else cells[i].i = (int64_t)value;
    }
    store(view, cells, real);
    scratch_done();
}

static aclnnStatus uniform_fits(aclsim_call *call) {
    return call->arguments[1].real > call->arguments[2].real ? bad(call, "from is greater than to") : 0;
}
CHECK_BOTH(uniform, 3)

static void fill_uniform(aclsim_call *call, random_stream from_stream) {
    const aclTensor *self = tensor(call, 0);
    const float from = (float)call->arguments[1].real, to = (float)call->arguments[2].real;
    cell *cells = draw(from_stream, aclsim_numel(self));
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = from + (float)cells[i].f * (to - from);
    store_floats(self, cells);
}
BOTH(fill_uniform, 3)

static aclnnStatus normal_fits(aclsim_call *call) { return call->arguments[2].real < 0 ? bad(call, "std is negative") : 0; }
CHECK_BOTH(normal, 3)

/* Two words give two numbers (Box and Muller). */
static void fill_normal(aclsim_call *call, random_stream from_stream) {
    const aclTensor *self = tensor(call, 0);
    const double mean = call->arguments[1].real, std = call->arguments[2].real;
    cell *cells = draw(from_stream, aclsim_numel(self));
    for (int64_t i = 0; i < aclsim_numel(self); i += 2) {
        const double radius = sqrt(-2 * log(1 - cells[i].f)), angle = 2 * M_PI * cells[i + 1].f;
        cells[i].f = mean + std * radius * cos(angle);
        cells[i + 1].f = mean + std * radius * sin(angle);
    }
    store_floats(self, cells);
}
BOTH(fill_normal, 3)

aclnnStatus check_bernoulli(aclsim_call *call) {
    const double chance = scalar_real(call, 1);
    if (!(chance >= 0 && chance <= 1)) return bad(call, "prob is not between 0 and 1");
    return check_offset(call, integer(call, 3));
}

void kernel_fill_bernoulli(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const double chance = scalar_real(call, 1);
    cell *cells = draw(by_numbers(call, 2), aclsim_numel(self));
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = cells[i].f < chance;
    store_floats(self, cells);
}

static aclnnStatus integers_fits(aclsim_call *call) {
    return integer(call, 1) >= integer(call, 2) ? bad(call, "from is not less than to") : 0;
}
CHECK_BOTH(integers, 3)

static void fill_integers(aclsim_call *call, random_stream from_stream) {
    const aclTensor *self = tensor(call, 0);
    const float from = (float)integer(call, 1), to = (float)integer(call, 2);
    cell *cells = draw(from_stream, aclsim_numel(self));
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = trunc((double)(from + (float)cells[i].f * (to - from)));
    store_floats(self, cells);
}
BOTH(fill_integers, 3)

aclnnStatus check_permutation(aclsim_call *call) {
    const int64_t count = integer(call, 0);
    PASS_ON(check_offset(call, integer(call, 2)));
    return same_sizes(call, 3, &count, 1);
}

/* Each element changes places with one before it, or with none. */
void kernel_permutation(aclsim_call *call) {
    const aclTensor *out = tensor(call, 3);
    const int64_t count = integer(call, 0);
    const bool real = aclsim_is_real(out->dtype);
    cell *order = scratch((size_t)(count ? count : 1) * sizeof *order);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        philox((uint64_t)integer(call, 1), (uint64_t)integer(call, 2), (uint64_t)i, words);
        const int64_t other = (int64_t)((((uint64_t)words[0] << 32) | words[1]) % (uint64_t)(i + 1));
        order[i] = order[other];
        if (real) order[other].f = (double)i;
        else order[other].i = i;
    }
    store(out, order, real);
    scratch_done();
}

/* ---- Dropout: a bit for each element, 1 where it stays; bits are a multiple of 128 ---- */

static int64_t mask_bytes(int64_t count) { return (count + 127) / 128 * 16; }

static aclnnStatus check_chance(const aclsim_call *call, double chance) {
    return chance >= 0 && chance <= 1 ? 0 : bad(call, "prob is not between 0 and 1");
}

static int64_t mask_elements(const aclsim_call *call) {
    int64_t count = 1;
    for (int64_t i = 0; i < length(call, 0); i++) count *= values(call, 0)[i];
    return count;
}

static aclnnStatus mask_fits(aclsim_call *call, const aclTensor *out) {
    PASS_ON(check_chance(call, call->arguments[1].real));
    if (length(call, 0) < 1 || length(call, 0) > MAX_DIMS) return bad(call, "shape has 1 to 8 numbers");
    if (out->dtype != ACL_UINT8) return bad(call, "out must be of uint8");
    return aclsim_numel(out) == mask_bytes(mask_elements(call)) ? 0 : bad(call, "out has one bit an element, in whole 128 bits");
}

aclnnStatus check_dropout_mask(aclsim_call *call) {
    PASS_ON(mask_fits(call, tensor(call, 4)));
    return check_offset(call, integer(call, 3));
}

aclnnStatus check_dropout_mask_by_tensors(aclsim_call *call) {
    PASS_ON(mask_fits(call, tensor(call, 6)));
    const int64_t dtype = integer(call, 5);
    if (dtype != ACL_FLOAT && dtype != ACL_FLOAT16 && dtype != ACL_BF16) return bad(call, "probDataType is float, float16 or bfloat16");
    return check_tensors(call, 2);
}

static void fill_mask(const aclsim_call *call, random_stream from_stream, const aclTensor *out) {
    const double chance = call->arguments[1].real;
    const int64_t bytes = aclsim_numel(out);
    const cell *draws = draw(from_stream, bytes * 8);
    cell *bits = zeros(bytes);
    for (int64_t i = 0; i < bytes * 8; i++) bits[i / 8].i |= (int64_t)(draws[i].f >= chance) << i % 8;
    store(out, bits, false);
    scratch_done();
}

void kernel_dropout_mask(aclsim_call *call) { fill_mask(call, by_numbers(call, 2), tensor(call, 4)); }
void kernel_dropout_mask_by_tensors(aclsim_call *call) { fill_mask(call, by_tensors(call, 2), tensor(call, 6)); }

aclnnStatus check_dropout(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *mask = tensor(call, 1);
    PASS_ON(check_chance(call, call->arguments[2].real));
    PASS_ON(needs_short_floats(call, 0));
    if (mask->dtype != ACL_UINT8) return bad(call, "mask must be of uint8");
    if (aclsim_numel(mask) < mask_bytes(aclsim_numel(self))) return bad(call, "mask has too few bits");
    return same_sizes(call, 3, self->sizes, self->rank);
}

void kernel_dropout(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const double chance = call->arguments[2].real;
    const cell *bits = load(tensor(call, 1), false);
    cell *cells = load(self, true);
    for (int64_t i = 0; i < aclsim_numel(self); i++) {
        const bool stays = (bits[i / 8].i >> i % 8 & 1) && chance < 1;
        cells[i].f = stays || chance == 0 ? cells[i].f / (1 - chance) : 0;
    }
    store(tensor(call, 3), cells, true);
    scratch_done();
}
