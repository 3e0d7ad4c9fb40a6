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

/* Return `count` numbers from 0 to below 1. */
static cell *draw(uint64_t seed, uint64_t offset, int64_t count) {
    cell *cells = scratch((size_t)(count + 4) * sizeof *cells);
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t words[4];
        philox(seed, offset, (uint64_t)i / 4, words);
        for (int k = 0; k < 4; k++) cells[i + k].f = (double)(words[k] >> 8) * 0x1p-24;
    }
    return cells;
}

static cell *draw_for(const aclsim_call *call, const aclTensor *filled, int seed) {
    return draw((uint64_t)integer(call, seed), (uint64_t)integer(call, seed + 1), aclsim_numel(filled));
}

static aclnnStatus check_offset(const aclsim_call *call, int64_t offset) {
    return offset % 4 ? bad(call, "offset is not a multiple of 4") : 0;
}

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

aclnnStatus check_uniform(aclsim_call *call) {
    if (call->arguments[1].real > call->arguments[2].real) return bad(call, "from is greater than to");
    return check_offset(call, integer(call, 4));
}

void kernel_fill_uniform(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const float from = (float)call->arguments[1].real, to = (float)call->arguments[2].real;
    cell *cells = draw_for(call, self, 3);
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = from + (float)cells[i].f * (to - from);
    store_floats(self, cells);
}

aclnnStatus check_normal(aclsim_call *call) {
    if (call->arguments[2].real < 0) return bad(call, "std is negative");
    return check_offset(call, integer(call, 4));
}

/* Two words give two numbers (Box and Muller). */
void kernel_fill_normal(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const double mean = call->arguments[1].real, std = call->arguments[2].real;
    cell *cells = draw_for(call, self, 3);
    for (int64_t i = 0; i < aclsim_numel(self); i += 2) {
        const double radius = sqrt(-2 * log(1 - cells[i].f)), angle = 2 * M_PI * cells[i + 1].f;
        cells[i].f = mean + std * radius * cos(angle);
        cells[i + 1].f = mean + std * radius * sin(angle);
    }
    store_floats(self, cells);
}

aclnnStatus check_bernoulli(aclsim_call *call) {
    const double chance = scalar_real(call, 1);
    if (!(chance >= 0 && chance <= 1)) return bad(call, "prob is not between 0 and 1");
    return check_offset(call, integer(call, 3));
}

void kernel_fill_bernoulli(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const double chance = scalar_real(call, 1);
    cell *cells = draw_for(call, self, 2);
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = cells[i].f < chance;
    store_floats(self, cells);
}

aclnnStatus check_integers(aclsim_call *call) {
    if (integer(call, 1) >= integer(call, 2)) return bad(call, "from is not less than to");
    return check_offset(call, integer(call, 4));
}

void kernel_fill_integers(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const float from = (float)integer(call, 1), to = (float)integer(call, 2);
    cell *cells = draw_for(call, self, 3);
    for (int64_t i = 0; i < aclsim_numel(self); i++) cells[i].f = trunc((double)(from + (float)cells[i].f * (to - from)));
    store_floats(self, cells);
}

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

aclnnStatus check_dropout_mask(aclsim_call *call) {
    const aclTensor *out = tensor(call, 4);
    PASS_ON(check_chance(call, call->arguments[1].real));
    PASS_ON(check_offset(call, integer(call, 3)));
    if (length(call, 0) < 1 || length(call, 0) > MAX_DIMS) return bad(call, "shape has 1 to 8 numbers");
    if (out->dtype != ACL_UINT8) return bad(call, "out must be of uint8");
    return aclsim_numel(out) == mask_bytes(mask_elements(call)) ? 0 : bad(call, "out has one bit an element, in whole 128 bits");
}

void kernel_dropout_mask(aclsim_call *call) {
    const aclTensor *out = tensor(call, 4);
    const double chance = call->arguments[1].real;
    const int64_t bytes = aclsim_numel(out);
    const cell *draws = draw((uint64_t)integer(call, 2), (uint64_t)integer(call, 3), bytes * 8);
    cell *bits = zeros(bytes);
    for (int64_t i = 0; i < bytes * 8; i++) bits[i / 8].i |= (int64_t)(draws[i].f >= chance) << i % 8;
    store(out, bits, false);
    scratch_done();
}

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
