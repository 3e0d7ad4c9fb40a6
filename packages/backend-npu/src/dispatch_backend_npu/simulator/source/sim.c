/* The entry of every call: one lock, faults on demand, the call log, counters of what is alive, and error messages.
 *
 * The functions named aclsim* with capitals (aclsimReset, aclsimFailNth, ...) are for tests; control.py wraps them.
 */
#include "aclsim.h"

#include <pthread.h>
#include <time.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
}

/* ---- Faults: the n-th call of a function, or of any (an empty name), returns a code of the caller's choice. ---- */

enum { MAX_FAULTS = 16 };
typedef struct { char name[96]; int64_t left; int code; } fault;
static fault faults[MAX_FAULTS];
static int fault_count;
static int64_t task_fault_left;
static int task_fault_code;
static int64_t hang_left;
static uint64_t hangs = 1;
static int64_t calls;

static int injected(const char *name) {
    int code = 0;
    for (int i = 0; i < fault_count; i++) {
        fault *f = &faults[i];
        if (f->left > 0 && (!f->name[0] || !strcmp(f->name, name)) && --f->left == 0) code = f->code;
    }
    return code;
}

/* ---- The log: names in the order of the calls; the work that streams execute is logged as "run NAME". ---- */

enum { LOG_SIZE = 1 << 16 };
typedef struct { const char *prefix, *name; } entry;
static entry entries[LOG_SIZE];
static uint64_t logged;

void aclsim_note(const char *prefix, const char *name) {
    entries[logged++ % LOG_SIZE] = (entry){prefix, name};
}

aclsim_scope aclsim_enter(const char *name, bool can_fail) {
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
    aclsim_scope scope = {name, 0};
    aclsim_note("", name);
    if (can_fail) {
        calls++;
        if (fault_count) scope.injected = injected(name);
    }
    return scope;
}

aclsim_scope aclsim_enter_quietly(const char *name) {
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
    return (aclsim_scope){name, 0};
}

void aclsim_leave(aclsim_scope *scope) {
    (void)scope;
    pthread_mutex_unlock(&lock);
}

int aclsim_task_fault(void) {
    if (task_fault_left > 0 && --task_fault_left == 0) return task_fault_code;
    return 0;
}

uint64_t aclsim_task_hang(void) {
    return hang_left > 0 && --hang_left == 0 ? hangs : 0;
}

bool aclsim_hangs(uint64_t mark) { return mark == hangs; }

void aclsim_pause(void) {
    pthread_mutex_unlock(&lock);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    pthread_mutex_lock(&lock);
}

/* ---- Messages: kept per thread, read once (aclGetRecentErrMsg is read-and-clear). ---- */

static __thread char message[512], taken[512];

int aclsim_error(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(message, sizeof message, "[simulator] ");
    vsnprintf(message + used, sizeof message - (size_t)used, format, arguments);
    va_end(arguments);
    return code;
}

const char *aclsim_message(void) { return message; }

void aclsim_set_message(const char *text) { snprintf(message, sizeof message, "%s", text); }

const char *aclsim_take_message(void) {
    if (!message[0]) return NULL;
    memcpy(taken, message, sizeof taken);
    message[0] = 0;
    return taken;
}

/* ---- Handles ---- */

int64_t aclsim_live[KIND_COUNT];
static const uint32_t ALIVE = 0xac15a11eu, DEAD = 0xdeadac15u;

/* Released handles wait in a ring before their memory is freed: a late use finds the mark DEAD. */
enum { RING = 8192 };
static void *ring[RING];
static uint32_t ring_at;

void *aclsim_handle_new(aclsim_kind kind, size_t size) {
    aclsim_handle *handle = calloc(1, size);
    if (!handle) return NULL;
    handle->mark = ALIVE;
    handle->kind = kind;
    aclsim_live[kind]++;
    return handle;
}

/* The handle is dead; its memory is not freed yet. */
void aclsim_handle_kill(void *pointer) {
    aclsim_handle *handle = pointer;
    handle->mark = DEAD;
    aclsim_live[handle->kind]--;
}

/* Contexts and streams are few, and threads and events refer to them: their memory is never freed. */
void aclsim_handle_bury(void *pointer) {
    const int32_t kind = ((aclsim_handle *)pointer)->kind;
    if (kind == KIND_CONTEXT || kind == KIND_STREAM) return;
    free(ring[ring_at]);
    ring[ring_at] = pointer;
    ring_at = (ring_at + 1) % RING;
}

void aclsim_handle_free(void *pointer) {
    aclsim_handle_kill(pointer);
    aclsim_handle_bury(pointer);
}

bool aclsim_is(const void *handle, aclsim_kind kind) {
    const aclsim_handle *head = handle;
    return head && head->mark == ALIVE && head->kind == (int32_t)kind;
}

/* ---- For tests ---- */

#define TEST_FUNCTION(name) aclsim_scope scope __attribute__((cleanup(aclsim_leave), unused)) = aclsim_enter_quietly(name)

bool aclsim_left_out[BEHAVIOUR_COUNT], aclsim_out_of_range;
int64_t aclsim_readings[READING_COUNT], aclsim_first_phases[2];

/* Clear the log, the counts, every fault and the cache of first phases, and let hanging work go on; objects stay alive, and
 * everything that was left out is back. */
void aclsimReset(void) {
    TEST_FUNCTION("aclsimReset");
    fault_count = 0;
    task_fault_left = 0;
    hang_left = 0;
    hangs++;
    calls = 0;
    logged = 0;
    memset(aclsim_left_out, 0, sizeof aclsim_left_out);
    memset(aclsim_readings, 0, sizeof aclsim_readings);
    memset(aclsim_first_phases, 0, sizeof aclsim_first_phases);
    aclsim_cache_clear();
    aclsim_memory_limit(0);
}

void aclsimLeaveOut(int behaviour, bool is_left_out) {
    TEST_FUNCTION("aclsimLeaveOut");
    aclsim_left_out[behaviour] = is_left_out;
}

/* In the order of aclsim_reading. */
void aclsimReadings(int64_t out[READING_COUNT]) {
    TEST_FUNCTION("aclsimReadings");
    memcpy(out, aclsim_readings, sizeof aclsim_readings);
}

void aclsimFirstPhases(int64_t out[2]) {
    TEST_FUNCTION("aclsimFirstPhases");
    memcpy(out, aclsim_first_phases, sizeof aclsim_first_phases);
}

void aclsimFailNth(const char *name, int64_t n, int code) {
    TEST_FUNCTION("aclsimFailNth");
    if (fault_count == MAX_FAULTS) fault_count = 0;
    fault *f = &faults[fault_count++];
    snprintf(f->name, sizeof f->name, "%s", name ? name : "");
    f->left = n;
    f->code = code;
}

/* The n-th piece of work that a stream executes faults: the next synchronisation reports it. */
void aclsimFailTask(int64_t n, int code) {
    TEST_FUNCTION("aclsimFailTask");
    task_fault_left = n;
    task_fault_code = code;
}

/* The n-th piece of work that a stream executes is never done, until aclsimReset. */
void aclsimHangTask(int64_t n) {
    TEST_FUNCTION("aclsimHangTask");
    hang_left = n;
}

int64_t aclsimCalls(void) { TEST_FUNCTION("aclsimCalls"); return calls; }

/* Write how many objects of each kind are alive, in the order of aclsim_kind; return the number of kinds. */
int aclsimCounts(int64_t *counts, int room) {
    TEST_FUNCTION("aclsimCounts");
    for (int i = 0; i < KIND_COUNT && i < room; i++) counts[i] = aclsim_live[i];
    return KIND_COUNT;
}

/* Live bytes, most live bytes, capacity. */
void aclsimMemory(uint64_t out[3]) { TEST_FUNCTION("aclsimMemory"); aclsim_memory_counts(out); }

void aclsimSetCapacity(uint64_t bytes) { TEST_FUNCTION("aclsimSetCapacity"); aclsim_memory_limit(bytes); }

/* Write the log, one name a line, as far as there is room; return the size of the whole log. */
int64_t aclsimLog(char *buffer, int64_t room) {
    TEST_FUNCTION("aclsimLog");
    int64_t used = 0;
    for (uint64_t i = logged > LOG_SIZE ? logged - LOG_SIZE : 0; i < logged; i++) {
        const entry *e = &entries[i % LOG_SIZE];
        int64_t size = (int64_t)(strlen(e->prefix) + strlen(e->name) + 1);
        if (used + size < room) sprintf(buffer + used, "%s%s\n", e->prefix, e->name);
        used += size;
    }
    return used + 1;
}
