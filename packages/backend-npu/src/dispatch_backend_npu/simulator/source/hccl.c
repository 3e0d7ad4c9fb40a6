/* libhccl: collectives between the processes of one machine, in memory that they share.
 *
 * A communicator's memory has no name: the root makes it and tells its number in the root info, by which the other ranks open
 * it below /proc, so that nothing is left behind however a process ends. Each rank has an area of its own in it, writes what
 * the others read there, and holds a lock on the byte of its number, which the system takes back when the process ends: that is
 * how the others see that it is gone. A communicator does its calls one by one, in the order in which they were made.
 *
 * A call is work on a stream. Where it waits for another rank it is tried again, and fails when HCCL_EXEC_TIMEOUT seconds are
 * over, or when the other rank has failed or gone; the next synchronisation reports that. A thread does work that a stream
 * has had for some time, because another process may wait for it.
 */
#include "hccl.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static communicator *communicators;

double hccl_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    double found = text && text[0] ? atof(text) : otherwise;
    return found > 0 ? found : 1e9; /* 0 is no limit */
}

char *hccl_area(const communicator *comm, uint32_t rank) { return (char *)comm->shared + HEADER + rank * AREA; }

/* A rank of this process has no lock that the process itself could see. */
static bool is_gone(const communicator *comm, uint32_t rank) {
    if (comm->shared->slots[rank].process == getpid()) return false;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    return fcntl(comm->file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

int hccl_fail(communicator *comm, HcclResult error, int code) {
    comm->error = error;
    atomic_store(&comm->shared->slots[comm->rank].failed, true);
    return code;
}

/* Fail because a rank is gone; other ranks that wait for this one are told which it was. */
static int fail_without(hccl_call *call, uint32_t gone) {
    communicator *comm = call->comm;
    aclsim_error(0, "%s: rank %u is gone, without which rank %u cannot go on", call->name, gone, comm->rank);
    atomic_store(&comm->shared->slots[comm->rank].culprit, gone + 1);
    return hccl_fail(comm, HCCL_E_REMOTE, RT_SUSPECT_REMOTE_ERROR);
}

/* Whether to go on waiting for a rank: NOT_YET, or the code of a failure. */
int hccl_await(hccl_call *call, uint32_t rank) {
    communicator *comm = call->comm;
    hccl_slot *slot = &comm->shared->slots[rank];
    if (call->last_look == rank + 1) return fail_without(call, rank);
    if (atomic_load(&slot->failed) && rank != comm->rank) {
        const uint32_t culprit = atomic_load(&slot->culprit);
        if (culprit) return fail_without(call, culprit - 1);
        aclsim_error(0, "%s: a call of rank %u has failed, for which rank %u waits", call->name, rank, comm->rank);
        return hccl_fail(comm, HCCL_E_REMOTE, RT_SUSPECT_REMOTE_ERROR);
    }
    if (is_gone(comm, rank)) call->last_look = rank + 1;
    if (hccl_now() < call->deadline) return NOT_YET;
    aclsim_error(0, "%s: rank %u has waited for rank %u for %g s, HCCL_EXEC_TIMEOUT", call->name, comm->rank, rank, comm->limit);
    return hccl_fail(comm, HCCL_E_TIMEOUT, RT_FFTS_PLUS_TIMEOUT);
}

/* ---- Calls as work on streams ---- */

/* Calls are done in their order, and none after one that has failed. */
static int run_call(void *data) {
    hccl_call *call = data;
    communicator *comm = call->comm;
    if (comm->error) {
        aclsim_error(0, "%s: the communicator has failed before", call->name);
        call->is_done = true;
        return RT_SUSPECT_REMOTE_ERROR;
    }
    if (comm->turn != call->ticket) return NOT_YET;
    if (call->deadline == 0) call->deadline = hccl_now() + comm->limit;
    int code = call->run(call);
    if (code == NOT_YET) return code;
    call->is_done = true;
    comm->turn++;
    return code;
}

/* Close a file that no other rank of this process uses: that takes the process's locks on it. */
static void leave(int file) {
    for (communicator *comm = communicators; comm; comm = comm->next)
        if (comm->file == file) return;
    close(file);
}

static void free_if_unused(communicator *comm) {
    if (comm->is_open || comm->first) return;
    for (communicator **at = &communicators; *at; at = &(*at)->next)
        if (*at == comm) {
            *at = comm->next;
            break;
        }
    munmap(comm->shared, HEADER + comm->ranks * AREA);
    leave(comm->file);
    aclsim_handle_free(comm);
}

static void release_call(void *data) {
    hccl_call *call = data;
    communicator *comm = call->comm;
    if (!call->is_done && !comm->error) hccl_fail(comm, HCCL_E_INTERNAL, 0); /* its stream was destroyed */
    for (hccl_call **at = &comm->first; *at; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    free(call);
    free_if_unused(comm);
}

enum { TICK_NS = 2000000 };
static const double PATIENCE = 0.02;

/* Do the work that has been on a stream for some time, as another process may wait for it. */
static void *progress(void *nothing) {
    for (;;) {
        nanosleep(&(struct timespec){0, TICK_NS}, NULL);
        aclsim_scope scope __attribute__((cleanup(aclsim_leave), unused)) = aclsim_enter_quietly("progress");
        const double now = hccl_now();
    again:
        for (communicator *comm = communicators; comm; comm = comm->next)
            if (comm->first && now - comm->first->made > PATIENCE) {
                hccl_call *first = comm->first;
                aclsim_stream_advance(first->stream);
                if (!aclsim_is(comm, KIND_COMMUNICATOR) || comm->first != first) goto again; /* the list may have changed */
            }
    }
    return nothing;
}

static void start_progress(void) {
    pthread_t thread;
    if (!pthread_create(&thread, NULL, progress, NULL)) pthread_detach(thread);
}

/* A null pointer is HCCL_E_PTR, what is no communicator HCCL_E_PARA. */
static HcclResult communicator_of(const char *name, HcclComm handle, communicator **found) {
    if (!handle) REFUSE(HCCL_E_PTR, "%s: comm is a null pointer", name);
    if (!aclsim_is(handle, KIND_COMMUNICATOR) || !((communicator *)handle)->is_open)
        REFUSE(HCCL_E_PARA, "%s: no communicator, or a destroyed one", name);
    *found = handle;
    return 0;
}

/* Buffers lie in one allocation of the communicator's device. */
HcclResult hccl_check_memory(const communicator *comm, const char *name, const char *what, const void *address, uint64_t size) {
    if (!size) return 0;
    if (!address) REFUSE(HCCL_E_PTR, "%s: %s is a null pointer", name, what);
    if (size > AREA) REFUSE(HCCL_E_MEMORY, "%s: %s has %llu bytes, more than the simulator exchanges", name, what, (unsigned long long)size);
    if (!aclsim_on_device(address, size, comm->device)) REFUSE(HCCL_E_PARA, "%s: %s is no memory of the communicator's device", name, what);
    return 0;
}

/* The stream is one of the communicator's device; captures of collectives are newer than CANN 8.1. */
static HcclResult enqueue(const char *name, HcclComm handle, aclrtStream stream, const hccl_call *given, size_t items) {
    communicator *comm;
    PASS_ON(communicator_of(name, handle, &comm));
    if (aclsim_stream_of(stream, &stream)) return HCCL_E_RUNTIME;
    if (aclsim_stream_device(stream) != comm->device) REFUSE(HCCL_E_PARA, "%s: the stream is one of another device", name);
    if (*aclsim_stream_model(stream)) REFUSE(HCCL_E_NOT_SUPPORT, "%s: the stream is captured", name);
    hccl_call *call = calloc(1, sizeof *call + items * sizeof *call->items);
    *call = *given;
    call->name = name;
    call->comm = comm;
    call->stream = stream;
    call->ticket = comm->issued++;
    call->made = hccl_now();
    hccl_call **at = &comm->first;
    while (*at) at = &(*at)->next;
    *at = call;
    for (size_t i = 0; i < items; i++) call->items[i].item = given->given[i];
    aclsim_enqueue(stream, name, run_call, release_call, call);
    return 0;
}

/* ---- Communicators ---- */

typedef struct { uint64_t number; int32_t process, file; } root_info;
static uint64_t roots;

/* HcclGetRootInfo: the memory lives in this process until a rank of the process has opened it, or the process ends. */
HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
    CALL(HcclGetRootInfo);
    FAIL_FIRST();
    if (!rootInfo) REFUSE(HCCL_E_PTR, "HcclGetRootInfo: rootInfo is a null pointer");
    int file = memfd_create("aclsim-hccl", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)(HEADER + MAX_RANKS * AREA))) REFUSE(HCCL_E_SYSCALL, "HcclGetRootInfo: no shared memory");
    root_info made = {((uint64_t)getpid() << 32) + ++roots, getpid(), file};
    if (pwrite(file, &made.number, sizeof made.number, 0) != sizeof made.number) REFUSE(HCCL_E_SYSCALL, "HcclGetRootInfo: cannot write");
    memset(rootInfo, 0, sizeof *rootInfo);
    memcpy(rootInfo, &made, sizeof made);
    return 0;
}

static bool is_complete(const shared_memory *shared, uint32_t ranks) {
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (!atomic_load(&shared->slots[rank].is_here)) return false;
    return true;
}

/* Return the ranks that have not come, as text. */
static const char *missing(const shared_memory *shared, uint32_t ranks) {
    static char text[256];
    int used = 0;
    for (uint32_t rank = 0; rank < ranks && used < 200; rank++)
        if (!atomic_load(&shared->slots[rank].is_here)) used += snprintf(text + used, sizeof text - (size_t)used, "%s%u", used ? ", " : "", rank);
    return text;
}

/* HcclCommInitRootInfo: waits until all ranks have come, for HCCL_CONNECT_TIMEOUT seconds (120); each rank comes once. */
HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CALL(HcclCommInitRootInfo);
    FAIL_FIRST();
    if (!rootInfo || !comm) REFUSE(HCCL_E_PTR, "%s: a null pointer", scope.name);
    if (!nRanks || nRanks > MAX_RANKS || rank >= nRanks) REFUSE(HCCL_E_PARA, "%s: there is no rank %u of %u", scope.name, rank, nRanks);
    aclsim_context *context;
    if (aclsim_current(&context)) return HCCL_E_RUNTIME;
    root_info root;
    memcpy(&root, rootInfo, sizeof root);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", root.process, root.file);
    /* Closing a second file for the same memory would take the first one's locks. */
    int file = root.process == getpid() ? root.file : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) REFUSE(HCCL_E_TCP_CONNECT, "%s: the process that made the root info is gone", scope.name);
    shared_memory *shared = mmap(NULL, HEADER + nRanks * AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (shared == MAP_FAILED) {
        leave(file);
        REFUSE(HCCL_E_MEMORY, "%s: the shared memory cannot be mapped", scope.name);
    }
    uint32_t none = 0;
    const char *wrong = shared->number != root.number ? "no root info"
        : !atomic_compare_exchange_strong(&shared->ranks, &none, nRanks) && none != nRanks ? "the ranks do not agree how many they are"
        : atomic_exchange(&shared->slots[rank].is_taken, true) ? "another process has this rank" : NULL;
    if (wrong) {
        munmap(shared, HEADER + nRanks * AREA);
        leave(file);
        REFUSE(HCCL_E_PARA, "%s: rank %u of %u: %s", scope.name, rank, nRanks, wrong);
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    fcntl(file, F_SETLK, &lock);
    shared->slots[rank].process = getpid();
    atomic_store(&shared->slots[rank].is_here, true);
    const double limit = seconds("HCCL_CONNECT_TIMEOUT", 120), deadline = hccl_now() + limit;
    bool is_whole = false;
    while (!(is_whole = is_complete(shared, nRanks)) && hccl_now() < deadline) aclsim_pause();
    if (!is_whole) {
        aclsim_error(0, "%s: ranks that have not come within %g s, HCCL_CONNECT_TIMEOUT: %s", scope.name, limit, missing(shared, nRanks));
        munmap(shared, HEADER + nRanks * AREA);
        leave(file);
        return HCCL_E_TIMEOUT;
    }
    communicator *made = aclsim_handle_new(KIND_COMMUNICATOR, sizeof *made);
    made->shared = shared;
    made->file = file;
    made->rank = rank;
    made->ranks = nRanks;
    made->device = context->device;
    made->number = root.number;
    made->limit = seconds("HCCL_EXEC_TIMEOUT", 1836);
    made->is_open = true;
    made->next = communicators;
    communicators = made;
    *comm = made;
    pthread_once(&once, start_progress);
    return 0;
}

/* HcclCommDestroy: calls that streams have not done yet are done first, as far as their streams are waited for. */
HcclResult HcclCommDestroy(HcclComm comm) {
    CALL(HcclCommDestroy);
    communicator *found;
    PASS_ON(communicator_of(scope.name, comm, &found));
    found->is_open = false;
    free_if_unused(found);
    FAIL_LAST();
}

/* HcclGetCommName: room for 128 characters. */
HcclResult HcclGetCommName(HcclComm comm, char *commName) {
    CALL(HcclGetCommName);
    FAIL_FIRST();
    communicator *found;
    PASS_ON(communicator_of(scope.name, comm, &found));
    if (!commName) REFUSE(HCCL_E_PTR, "%s: commName is a null pointer", scope.name);
    snprintf(commName, 128, "simulated_%llx", (unsigned long long)found->number);
    return 0;
}

/* HcclGetCommAsyncError: that of the first call that has failed on the device. */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError) {
    CALL(HcclGetCommAsyncError);
    FAIL_FIRST();
    communicator *found;
    PASS_ON(communicator_of(scope.name, comm, &found));
    if (!asyncError) REFUSE(HCCL_E_PTR, "%s: asyncError is a null pointer", scope.name);
    *asyncError = found->error;
    return 0;
}

const char *HcclGetErrorString(HcclResult code) {
    QUIET(HcclGetErrorString);
    static const char *const texts[] = {
        "no error", "parameter error", "empty pointer", "memory error", "internal error", "not support feature",
        "not found specific resource", "resource unavailable", "call system interface error", "timeout", "open file fail",
        "tcp connect fail", "roce connect fail", "tcp transfer fail", "roce transfer fail", "call runtime api fail",
        "call driver api fail", "call profiling api fail", "call cce api fail", "call network api fail", "try again", "error cqe",
    };
    return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "unknown error";
}

/* ---- Collectives ---- */

/* The counts are those of hccl.h: a rank that is not the root needs no sendBuf to scatter, and no recvBuf to reduce. */
static HcclResult collective(
    const char *name, void *sendBuf, uint64_t sent, void *recvBuf, uint64_t received, uint64_t count, HcclDataType dataType,
    HcclReduceOp op, bool reduces, uint32_t root, bool has_root, HcclComm handle, aclrtStream stream) {
    communicator *comm;
    PASS_ON(communicator_of(name, handle, &comm));
    PASS_ON(hccl_check_type(name, dataType, op, reduces));
    if (has_root && root >= comm->ranks) REFUSE(HCCL_E_PARA, "%s: there is no rank %u of %u", name, root, comm->ranks);
    const uint64_t size = hccl_item_size(dataType);
    if (!has_root || sent != received || comm->rank == root) PASS_ON(hccl_check_memory(comm, name, "sendBuf", sendBuf, sent * size));
    if (recvBuf) PASS_ON(hccl_check_memory(comm, name, "recvBuf", recvBuf, received * size));
    else if (received && !has_root) REFUSE(HCCL_E_PTR, "%s: recvBuf is a null pointer", name);
    const hccl_call call = {
        .run = hccl_run_collective, .send = sendBuf, .receive = recvBuf, .count = count, .sent = sent, .received = received,
        .dtype = dataType, .op = reduces ? op : 0, .root = root, .reduces = reduces,
    };
    return enqueue(name, handle, stream, &call, 0);
}

static uint64_t ranks_of(HcclComm handle) { return aclsim_is(handle, KIND_COMMUNICATOR) ? ((communicator *)handle)->ranks : 0; }
static uint32_t rank_of(HcclComm handle) { return aclsim_is(handle, KIND_COMMUNICATOR) ? ((communicator *)handle)->rank : 0; }

HcclResult HcclAllReduce(
    void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream) {
    CALL(HcclAllReduce);
    FAIL_FIRST();
    return collective(scope.name, sendBuf, count, recvBuf, count, count, dataType, op, true, 0, false, comm, stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm, aclrtStream stream) {
    CALL(HcclBroadcast);
    FAIL_FIRST();
    const bool is_root = rank_of(comm) == root;
    return collective(
        scope.name, buf, is_root ? count : 0, buf, is_root ? 0 : count, count, dataType, 0, false, root, true, comm, stream);
}

HcclResult HcclAllGather(
    void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
    CALL(HcclAllGather);
    FAIL_FIRST();
    const uint64_t all = sendCount * ranks_of(comm);
    return collective(scope.name, sendBuf, sendCount, recvBuf, all, sendCount, dataType, 0, false, 0, false, comm, stream);
}

HcclResult HcclReduceScatter(
    void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream) {
    CALL(HcclReduceScatter);
    FAIL_FIRST();
    const uint64_t all = recvCount * ranks_of(comm);
    return collective(scope.name, sendBuf, all, recvBuf, recvCount, recvCount, dataType, op, true, 0, false, comm, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    CALL(HcclBarrier);
    FAIL_FIRST();
    return collective(scope.name, NULL, 0, NULL, 0, 0, 0, 0, false, 0, false, comm, stream);
}

/* ---- From one rank to another ---- */

/* A rank is another one, but in a batch. */
static HcclResult exchange(const char *name, HcclSendRecvItem *given, uint32_t count, HcclComm handle, aclrtStream stream) {
    communicator *comm;
    PASS_ON(communicator_of(name, handle, &comm));
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        const HcclSendRecvItem *item = &given[i];
        const char *what = item->sendRecvType == HCCL_SEND ? "sendBuf" : "recvBuf";
        if (item->sendRecvType != HCCL_SEND && item->sendRecvType != HCCL_RECV) REFUSE(HCCL_E_PARA, "%s: item %u neither sends nor receives", name, i);
        if (item->remoteRank >= comm->ranks) REFUSE(HCCL_E_PARA, "%s: there is no rank %u of %u", name, item->remoteRank, comm->ranks);
        if (item->remoteRank == comm->rank && count < 2) REFUSE(HCCL_E_PARA, "%s: rank %u is the caller's own", name, comm->rank);
        PASS_ON(hccl_check_type(name, item->dataType, 0, false));
        const uint64_t size = item->count * hccl_item_size(item->dataType);
        PASS_ON(hccl_check_memory(comm, name, what, item->buf, size));
        if (item->sendRecvType == HCCL_SEND) all += size;
    }
    if (all > AREA) REFUSE(HCCL_E_MEMORY, "%s: more bytes than the simulator exchanges", name);
    const hccl_call call = {.run = hccl_run_exchange, .count = count, .given = given};
    return enqueue(name, handle, stream, &call, count);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm, aclrtStream stream) {
    CALL(HcclSend);
    FAIL_FIRST();
    HcclSendRecvItem item = {HCCL_SEND, sendBuf, count, dataType, destRank};
    return exchange(scope.name, &item, 1, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm, aclrtStream stream) {
    CALL(HcclRecv);
    FAIL_FIRST();
    HcclSendRecvItem item = {HCCL_RECV, recvBuf, count, dataType, srcRank};
    return exchange(scope.name, &item, 1, comm, stream);
}

/* HcclBatchSendRecv: at least one item; all at once. */
HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
    CALL(HcclBatchSendRecv);
    FAIL_FIRST();
    if (!sendRecvInfo) REFUSE(HCCL_E_PTR, "%s: sendRecvInfo is a null pointer", scope.name);
    if (!itemNum) REFUSE(HCCL_E_PARA, "%s: there are no items", scope.name);
    return exchange(scope.name, sendRecvInfo, itemNum, comm, stream);
}
