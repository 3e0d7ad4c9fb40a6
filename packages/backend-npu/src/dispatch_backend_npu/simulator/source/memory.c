/* libascendcl: device memory, pinned host memory, copies.
 *
 * Device memory is host memory. A sorted list of its allocations is kept, so that the addresses of every copy and operator
 * can be looked up: memory outside of one live allocation is refused, because hardware would fault on it.
 */
#include "aclsim.h"

#include <stdlib.h>

typedef struct { char *address; size_t size; int32_t device; size_t pages; } block;
typedef struct { block *blocks; size_t count, room; } block_list;

static block_list on_device, on_host;
static uint64_t live_bytes, most_bytes;
static const uint64_t DEFAULT_CAPACITY = 4ull << 30;
static uint64_t capacity = 4ull << 30;

void aclsim_memory_counts(uint64_t out[3]) {
    out[0] = live_bytes;
    out[1] = most_bytes;
    out[2] = capacity;
}

void aclsim_memory_limit(uint64_t bytes) {
    capacity = bytes ? bytes : DEFAULT_CAPACITY;
    most_bytes = live_bytes;
}

/* The index of the first block that begins after the address. */
static size_t after(const block_list *list, const void *address) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->blocks[middle].address <= (const char *)address) low = middle + 1; else high = middle;
    }
    return low;
}

static block *find(const block_list *list, const void *address) {
    size_t at = after(list, address);
    if (!at) return NULL;
    block *found = &list->blocks[at - 1];
    return (const char *)address < found->address + found->size ? found : NULL;
}

static void insert(block_list *list, block added) {
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 256;
        list->blocks = realloc(list->blocks, list->room * sizeof *list->blocks);
    }
    size_t at = after(list, added.address);
    memmove(&list->blocks[at + 1], &list->blocks[at], (list->count - at) * sizeof *list->blocks);
    list->blocks[at] = added;
    list->count++;
}

static void erase(block_list *list, block *gone) {
    size_t at = (size_t)(gone - list->blocks);
    memmove(gone, gone + 1, (list->count - at - 1) * sizeof *list->blocks);
    list->count--;
}

bool aclsim_on_device(const void *address, size_t size, int32_t device) {
    const block *found = find(&on_device, address);
    return found && (device < 0 || found->device == device) && size <= (size_t)(found->address + found->size - (const char *)address);
}

/* ---- Blocks that kernels have worked with: parts of allocations, which the caller has carved ---- */

static block_list carved;

static bool reaches(const block *first, const char *next) { return first->address + aclsim_guarded(first->size) > next; }

/* Only of allocations of up to a large page, whose blocks are carved once: longer ones may be split and merged, by callers that
 * do not tell when. There, writes past the end of a block are found by the wrong numbers in the next. */
bool aclsim_guards_overlap(const void *address, size_t size) {
    const block *whole = find(&on_device, address);
    if (whole && whole->size > 2 << 20) return false;
    size_t at = after(&carved, address);
    block *known = at ? &carved.blocks[at - 1] : NULL;
    if (known && known->address == address) {
        known->size = size; /* the memory of one block after another, or of several in turns */
    } else {
        insert(&carved, (block){(char *)address, size, 0, 0});
        at++;
    }
    const block *self = &carved.blocks[at - 1];
    return (at > 1 && reaches(self - 1, self->address)) || (at < carved.count && reaches(self, self[1].address));
}

static void forget_carved(const block *gone) {
    size_t first = after(&carved, gone->address - 1), last = after(&carved, gone->address + gone->size - 1);
    memmove(&carved.blocks[first], &carved.blocks[last], (carved.count - last) * sizeof *carved.blocks);
    carved.count -= last - first;
}

/* ---- Allocation ---- */

/* The memory that an allocation takes: whole pages of 2 MiB above 1 MiB, unless the policy is NORMAL_ONLY, else of 4 KiB. */
static size_t whole_pages(size_t size, int policy) {
    const size_t page = size > 1 << 20 && (policy & 0xff) != 2 ? 2 << 20 : 4096;
    return aclsim_left_out[PAGES] ? size : (size + page - 1) / page * page;
}

/* aclrtMalloc: rounds up to 32 bytes, adds 32, and takes whole pages, of which the rest is not the caller's. Memory is aligned to
 * 64 bytes and not initialised: it is filled with a pattern that is a large number in every dtype. */
aclError aclrtMalloc(void **devPtr, size_t size, int policy) {
    CALL(aclrtMalloc);
    FAIL_FIRST();
    aclsim_context *context;
    /* aclrtMalloc: a null pointer, and a size of 0, are refused with 100000. */
    if (!devPtr) REFUSE(INVALID_PARAM, "aclrtMalloc: devPtr is a null pointer");
    if (!size) REFUSE(INVALID_PARAM, "aclrtMalloc: the size is 0");
    /* aclrtMemMallocPolicy: 0 to 7, and types of memory in the higher bits. */
    if ((policy & 0xff) > 7) REFUSE(INVALID_PARAM, "aclrtMalloc: there is no policy %d", policy);
    PASS_ON(aclsim_current(&context));
    /* Out of device memory is 207001. */
    if (size > SIZE_MAX / 2) REFUSE(RT_MEMORY_ALLOCATION, "aclrtMalloc: %zu bytes are more than there can be", size);
    size_t rounded = aclsim_guarded(size), pages = whole_pages(rounded, policy);
    if (live_bytes + pages > capacity)
        REFUSE(RT_MEMORY_ALLOCATION, "aclrtMalloc: %zu bytes asked for, %llu of %llu in use", size,
               (unsigned long long)live_bytes, (unsigned long long)capacity);
    void *memory;
    if (posix_memalign(&memory, 64, rounded)) REFUSE(RT_MEMORY_ALLOCATION, "aclrtMalloc: the host has no %zu bytes", rounded);
    memset(memory, 0x5b, rounded);
    insert(&on_device, (block){memory, rounded, context->device, pages});
    live_bytes += pages;
    if (live_bytes > most_bytes) most_bytes = live_bytes;
    aclsim_live[KIND_DEVICE_MEMORY]++;
    *devPtr = memory;
    return 0;
}

/* aclrtFree: NULL is refused with 100000; does not synchronise, so work that still uses the memory will fault. */
aclError aclrtFree(void *devPtr) {
    CALL(aclrtFree);
    aclsim_context *context;
    if (!devPtr) REFUSE(INVALID_PARAM, "aclrtFree: devPtr is a null pointer");
    PASS_ON(aclsim_current(&context));
    block *found = find(&on_device, devPtr);
    if (!found || found->address != devPtr) REFUSE(RT_PARAM_INVALID, "aclrtFree: %p is no allocation, or freed already", devPtr);
    live_bytes -= found->pages;
    forget_carved(found);
    aclsim_live[KIND_DEVICE_MEMORY]--;
    memset(devPtr, 0x5b, found->size < 4096 ? found->size : 4096);
    free(devPtr);
    erase(&on_device, found);
    FAIL_LAST();
}

/* aclrtMallocHost: the same refusals as aclrtMalloc; out of host memory is 200000. */
aclError aclrtMallocHost(void **hostPtr, size_t size) {
    CALL(aclrtMallocHost);
    FAIL_FIRST();
    aclsim_context *context;
    if (!hostPtr) REFUSE(INVALID_PARAM, "aclrtMallocHost: hostPtr is a null pointer");
    if (!size) REFUSE(INVALID_PARAM, "aclrtMallocHost: the size is 0");
    PASS_ON(aclsim_current(&context));
    void *memory;
    if (size > SIZE_MAX / 2 || posix_memalign(&memory, 64, size)) REFUSE(BAD_ALLOC, "aclrtMallocHost: the host has no %zu bytes", size);
    memset(memory, 0x5b, size);
    insert(&on_host, (block){memory, size, -1, 0});
    aclsim_live[KIND_HOST_MEMORY]++;
    *hostPtr = memory;
    return 0;
}

/* aclrtFreeHost: as aclrtFree, for memory of aclrtMallocHost. */
aclError aclrtFreeHost(void *hostPtr) {
    CALL(aclrtFreeHost);
    aclsim_context *context;
    if (!hostPtr) REFUSE(INVALID_PARAM, "aclrtFreeHost: hostPtr is a null pointer");
    PASS_ON(aclsim_current(&context));
    block *found = find(&on_host, hostPtr);
    if (!found || found->address != hostPtr) REFUSE(RT_PARAM_INVALID, "aclrtFreeHost: %p is no pinned memory, or freed already", hostPtr);
    aclsim_live[KIND_HOST_MEMORY]--;
    free(hostPtr);
    erase(&on_host, found);
    FAIL_LAST();
}

/* aclrtGetMemInfo: free and total bytes of the current device. */
aclError aclrtGetMemInfo(int attr, size_t *free_bytes, size_t *total) {
    CALL(aclrtGetMemInfo);
    FAIL_FIRST();
    aclsim_context *context;
    if (!free_bytes || !total) REFUSE(INVALID_PARAM, "aclrtGetMemInfo: free and total must be given");
    if (attr < 0 || attr > 17) REFUSE(RT_PARAM_INVALID, "aclrtGetMemInfo: there is no attribute %d", attr);
    PASS_ON(aclsim_current(&context));
    *free_bytes = capacity > live_bytes ? capacity - live_bytes : 0;
    *total = capacity;
    return 0;
}

/* ---- Copies ---- */

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT, BUFFERED_TO_DEVICE, INNER_DEVICE, INTER_DEVICE };

static bool reads_device(int kind) { return kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE || kind >= INNER_DEVICE; }
static bool writes_device(int kind) { return kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE || kind >= BUFFERED_TO_DEVICE; }

/* Device memory must lie in one allocation from end to end; the other side is host memory. */
static aclError check_side(const char *name, const char *side, const void *address, size_t count, bool device, bool known) {
    if (!known) device = find(&on_device, address) != NULL;
    if (device && !aclsim_on_device(address, count, -1))
        REFUSE(RT_PARAM_INVALID, "%s: %zu bytes at %s %p are not within one live device allocation", name, count, side, address);
    if (!device && find(&on_device, address))
        REFUSE(RT_PARAM_INVALID, "%s: %s %p is device memory, but the kind says host", name, side, address);
    const block *pinned = device ? NULL : find(&on_host, address);
    if (pinned && count > (size_t)(pinned->address + pinned->size - (const char *)address))
        REFUSE(RT_PARAM_INVALID, "%s: %zu bytes at %s %p go past the end of the pinned memory", name, count, side, address);
    return 0;
}

static aclError check_copy(const char *name, void *dst, size_t dest_max, const void *src, size_t count, int kind) {
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    /* aclrtMemcpy: the kind is checked for its range; a null pointer is 100000. */
    if (kind < HOST_TO_HOST || kind > INTER_DEVICE) REFUSE(RT_PARAM_INVALID, "%s: there is no kind %d", name, kind);
    if (!dst || !src) REFUSE(INVALID_PARAM, "%s: %s is a null pointer", name, dst ? "src" : "dst");
    /* count > destMax is 107000. */
    if (count > dest_max) REFUSE(RT_PARAM_INVALID, "%s: count is %zu, but destMax %zu", name, count, dest_max);
    PASS_ON(check_side(name, "dst", dst, count, writes_device(kind), kind != DEFAULT));
    PASS_ON(check_side(name, "src", src, count, reads_device(kind), kind != DEFAULT));
    const block *to = find(&on_device, dst), *from = find(&on_device, src);
    if (to && from && (!aclsim_reaches(to->device, from->device) || !aclsim_reaches(from->device, to->device)))
        REFUSE(RT_FEATURE_NOT_SUPPORT, "%s: from device %d to %d without peer access", name, from->device, to->device);
    return 0;
}

/* aclrtMemcpy: count 0 succeeds without a check of the pointers. It does not synchronise streams: queued work has not
 * happened, and the copy does not see its results. */
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, int kind) {
    CALL(aclrtMemcpy);
    FAIL_FIRST();
    if (aclsim_is_capturing()) REFUSE(RT_STREAM_CAPTURED, "aclrtMemcpy: this thread captures a stream");
    if (!count) return 0;
    PASS_ON(check_copy(scope.name, dst, destMax, src, count, kind));
    memmove(dst, src, count);
    return 0;
}

typedef enum { PAGEABLE, PINNED, DEVICE } side;
typedef struct { void *dst; const void *src; size_t count; side from, to; } copy_task;

static side side_of(const void *address) { return find(&on_device, address) ? DEVICE : find(&on_host, address) ? PINNED : PAGEABLE; }

/* Whether memory is still the allocation that it was when the copy was queued. */
static bool still(const void *address, size_t count, side was) {
    return was == PAGEABLE || (was == DEVICE ? aclsim_on_device(address, count, -1) : find(&on_host, address) != NULL);
}

/* aclrtFree does not wait for streams: memory that was freed before the work begins is a fault of the device, 507015. */
static int run_copy(void *data) {
    copy_task *task = data;
    if (!still(task->src, task->count, task->from) || !still(task->dst, task->count, task->to))
        return aclsim_error(RT_AICORE_EXCEPTION, "aclrtMemcpyAsync: the memory was freed before the stream got to the copy");
    memmove(task->dst, task->src, task->count);
    return 0;
}

/* aclrtMemcpyAsync: truly asynchronous with pinned host memory only; with other host memory it waits for the stream and
 * copies at once. Host to host is 207000. */
aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, int kind, aclrtStream stream) {
    CALL(aclrtMemcpyAsync);
    FAIL_FIRST();
    PASS_ON(aclsim_stream_of(stream, &stream));
    if (!count) return 0;
    PASS_ON(check_copy(scope.name, dst, destMax, src, count, kind));
    copy_task task = {dst, src, count, side_of(src), side_of(dst)};
    if (task.from != DEVICE && task.to != DEVICE) REFUSE(RT_FEATURE_NOT_SUPPORT, "aclrtMemcpyAsync: host to host is not supported");
    /* Within a capture only pinned memory of the host can be copied from and to: 107027. */
    if (*aclsim_stream_model(stream) && (task.from == PAGEABLE || task.to == PAGEABLE))
        REFUSE(RT_STREAM_CAPTURED, "aclrtMemcpyAsync: the stream is captured, and the host's memory is not pinned");
    copy_task *queued = malloc(sizeof *queued);
    *queued = task;
    aclsim_enqueue(stream, "aclrtMemcpyAsync", run_copy, free, queued);
    return task.from == PAGEABLE || task.to == PAGEABLE ? aclsim_stream_drain(stream, -1) : 0;
}

/* aclrtMemset and aclrtMemsetAsync: the memory is checked like the destination of a copy. */
static aclError check_fill(const char *name, void *pointer, size_t max_count, size_t count) {
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    if (!pointer) REFUSE(INVALID_PARAM, "%s: devPtr is a null pointer", name);
    if (count > max_count) REFUSE(RT_PARAM_INVALID, "%s: count is %zu, but maxCount %zu", name, count, max_count);
    if (!aclsim_on_device(pointer, count, -1))
        REFUSE(RT_PARAM_INVALID, "%s: %zu bytes at %p are not within one live device allocation", name, count, pointer);
    return 0;
}

typedef struct { void *pointer; int32_t value; size_t count; } fill_task;

/* The same holds for memory that is filled. */
static int run_fill(void *data) {
    fill_task *task = data;
    if (!aclsim_on_device(task->pointer, task->count, -1))
        return aclsim_error(RT_AICORE_EXCEPTION, "aclrtMemsetAsync: the memory was freed before the stream got to it");
    memset(task->pointer, task->value, task->count);
    return 0;
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    CALL(aclrtMemsetAsync);
    FAIL_FIRST();
    PASS_ON(aclsim_stream_of(stream, &stream));
    PASS_ON(check_fill(scope.name, devPtr, maxCount, count));
    fill_task *queued = malloc(sizeof *queued);
    *queued = (fill_task){devPtr, value, count};
    aclsim_enqueue(stream, "aclrtMemsetAsync", run_fill, free, queued);
    return 0;
}
