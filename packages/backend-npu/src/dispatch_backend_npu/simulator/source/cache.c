/* The cache of first phases, as libnnopbase keeps one for each thread: a call that has run answers the first phases of equal
 * ones, with an executor that only wraps what is cached.
 *
 * Calls are equal that have the operator, the descriptions of all tensors (not their addresses), and all numbers in common,
 * and the same tensor in the same arguments. An executor that never ran, or that was made repeatable, leaves the cache.
 */
#include "aclsim.h"

#include <stdlib.h>

typedef struct entry {
    struct entry *next, *older, *newer;
    aclsim_place place;
    bool answers;
    size_t size;
    char key[];
} entry;

enum { BUCKETS = 1 << 12, LIMIT = 10000 };
static entry *buckets[BUCKETS], *oldest, *newest;
static int64_t count;
static uint64_t tickets, threads;
static __thread uint64_t thread;

/* ---- Keys ---- */

typedef struct { char *bytes; size_t size, room; } key;

static void add(key *k, const void *data, size_t size) {
    if (k->size + size > k->room) {
        k->room = (k->size + size) * 2;
        k->bytes = realloc(k->bytes, k->room);
    }
    memcpy(k->bytes + k->size, data, size);
    k->size += size;
}

static void add_number(key *k, int64_t number) { add(k, &number, sizeof number); }

static void add_tensor(key *k, const aclTensor *t) {
    const int64_t numbers[] = {t->dtype, t->format, t->offset, t->rank, t->storage_rank};
    add(k, numbers, sizeof numbers);
    add(k, t->sizes, (size_t)t->rank * sizeof *t->sizes);
    add(k, t->strides, (size_t)t->rank * sizeof *t->strides);
    add(k, t->storage_sizes, (size_t)t->storage_rank * sizeof *t->storage_sizes);
}

/* Which argument has the tensor first. */
static int first_with(const aclsim_call *call, const void *handle) {
    int i = 0;
    while (call->op->kinds[i] != 'T' || call->arguments[i].handle != handle) i++;
    return i;
}

static key key_of(const aclsim_call *call) {
    key k = {NULL, 0, 0};
    if (!thread) thread = ++threads;
    add_number(&k, (int64_t)thread);
    add(&k, &call->op, sizeof call->op);
    for (int i = 0; i < call->op->count; i++) {
        const aclsim_argument *a = &call->arguments[i];
        const char kind = call->op->kinds[i];
        if (kind == 'd' || kind == 'n') {
            add(&k, &a->integer, sizeof a->integer); /* a double has as many bytes */
            continue;
        }
        add_number(&k, kind == 's' ? a->text ? (int64_t)strlen(a->text) : -1 : a->handle ? a->count : -1);
        if (kind == 'T' && a->handle) add_number(&k, first_with(call, a->handle));
        if (kind == 'T' || kind == 'L') for (int64_t j = 0; j < a->count; j++) add_tensor(&k, &a->tensors[j]);
        if (kind == 'I' || kind == 'B') add(&k, a->values, (size_t)a->count * sizeof *a->values);
        if (kind == 's' && a->text) add(&k, a->text, strlen(a->text));
        if (kind == 'S' && a->handle) {
            add_number(&k, a->scalar_dtype);
            add(&k, &a->scalar_real, sizeof a->scalar_real);
            add_number(&k, a->scalar_integer);
        }
    }
    return k;
}

static uint64_t hash_of(const key *k) {
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < k->size; i++) hash = (hash ^ (unsigned char)k->bytes[i]) * 1099511628211ull;
    return hash;
}

/* ---- Entries ---- */

static entry **at_place(aclsim_place place) {
    entry **at = &buckets[place.hash % BUCKETS];
    while (*at && (*at)->place.ticket != place.ticket) at = &(*at)->next;
    return at;
}

void aclsim_cache_fill(aclsim_place place) {
    entry *found = place.ticket ? *at_place(place) : NULL;
    if (found) found->answers = true;
}

void aclsim_cache_drop(aclsim_place place) {
    entry **at = place.ticket ? at_place(place) : NULL;
    if (!at || !*at) return;
    entry *gone = *at;
    *at = gone->next;
    if (gone->older) gone->older->newer = gone->newer; else oldest = gone->newer;
    if (gone->newer) gone->newer->older = gone->older; else newest = gone->older;
    free(gone);
    count--;
}

void aclsim_cache_clear(void) {
    while (oldest) aclsim_cache_drop(oldest->place);
}

bool aclsim_cache_answers(const aclsim_call *call, aclsim_place *place) {
    key k = key_of(call);
    const uint64_t hash = hash_of(&k);
    entry *found = buckets[hash % BUCKETS];
    while (found && (found->place.hash != hash || found->size != k.size || memcmp(found->key, k.bytes, k.size))) found = found->next;
    const bool answers = found && found->answers;
    if (!found) {
        if (count == LIMIT) aclsim_cache_drop(oldest->place);
        entry *made = calloc(1, sizeof *made + k.size);
        *place = made->place = (aclsim_place){hash, ++tickets};
        made->size = k.size;
        memcpy(made->key, k.bytes, k.size);
        made->next = buckets[hash % BUCKETS];
        buckets[hash % BUCKETS] = made;
        made->older = newest;
        if (newest) newest->newer = made; else oldest = made;
        newest = made;
        count++;
    }
    free(k.bytes);
    return answers;
}
