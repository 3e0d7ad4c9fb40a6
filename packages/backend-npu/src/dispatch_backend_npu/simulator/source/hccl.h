/* What the sources of libhccl share: a communicator, the memory that its ranks share, and a call that waits for other ranks. */
#ifndef ACLSIM_HCCL_H
#define ACLSIM_HCCL_H

#define _GNU_SOURCE
#include "aclsim.h"

#include <stdatomic.h>

typedef int HcclResult, HcclDataType, HcclReduceOp, HcclSendRecvType;
typedef void *HcclComm;
typedef struct { char internal[4108]; } HcclRootInfo;
typedef struct {
    HcclSendRecvType sendRecvType;
    void *buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

enum {
    HCCL_E_PARA = 1, HCCL_E_PTR = 2, HCCL_E_MEMORY = 3, HCCL_E_INTERNAL = 4, HCCL_E_NOT_SUPPORT = 5, HCCL_E_SYSCALL = 8,
    HCCL_E_TIMEOUT = 9, HCCL_E_TCP_CONNECT = 11, HCCL_E_RUNTIME = 15, HCCL_E_REMOTE = 21,
};
enum { HCCL_SEND = 0, HCCL_RECV = 1 };
enum { HCCL_SUM = 0, HCCL_PROD = 1, HCCL_MAX = 2, HCCL_MIN = 3 };

enum { MAX_RANKS = 64, HEADER = 1 << 20 };
/* The bytes that a rank can write at once; the system gives memory for those that are written. */
#define AREA ((uint64_t)1 << 30)

/* What a rank tells the others: whether it is there, and its present collective. */
typedef struct {
    _Atomic bool is_taken, is_here, failed;
    int32_t process;
    _Atomic uint32_t culprit; /* where it has failed, one more than the rank that is gone */
    _Atomic uint64_t posted; /* the number of the last collective that it has begun */
    _Atomic uint64_t done;   /* and of the last one of which it has read the others' part */
    const void *run;
    char name[32];
    uint64_t count;
    int32_t dtype, op;
    uint32_t root;
} hccl_slot;

/* From one rank to another: in the sender's area, until the other has taken it. */
typedef struct {
    _Atomic uint64_t posted, taken;
    _Atomic bool is_refused;
    uint64_t offset, count;
    int32_t dtype;
} hccl_letter;

typedef struct {
    uint64_t number;
    _Atomic uint32_t ranks;
    hccl_slot slots[MAX_RANKS];
    hccl_letter letters[MAX_RANKS][MAX_RANKS];
} shared_memory;

_Static_assert(sizeof(shared_memory) <= HEADER, "the header has room");

typedef struct communicator {
    aclsim_handle head;
    struct communicator *next;
    shared_memory *shared;
    int file;
    uint32_t rank, ranks;
    int32_t device;
    uint64_t number;
    double limit;
    bool is_open;
    HcclResult error;       /* of the first call that has failed: no other is done */
    uint64_t issued, turn;  /* the calls made, and the one whose turn it is */
    uint64_t collectives;   /* those that are done */
    struct hccl_call *first;
} communicator;

typedef struct {
    HcclSendRecvItem item;
    bool is_posted, is_done;
} hccl_item;

typedef struct hccl_call {
    struct hccl_call *next;
    const char *name;
    communicator *comm;
    aclrtStream stream;
    int (*run)(struct hccl_call *call);
    void *send, *receive;
    uint64_t count, sent, received;
    int32_t dtype, op;
    uint32_t root;
    bool reduces;
    uint64_t ticket;
    double made, deadline;
    bool has_begun, is_done;
    uint32_t last_look;     /* one more than the rank that is gone, and of which it looks once more what it did before */
    const HcclSendRecvItem *given;
    hccl_item items[];
} hccl_call;

double hccl_now(void);
char *hccl_area(const communicator *comm, uint32_t rank);
int hccl_fail(communicator *comm, HcclResult error, int code);
int hccl_await(hccl_call *call, uint32_t rank);
HcclResult hccl_check_memory(const communicator *comm, const char *name, const char *what, const void *address, uint64_t size);

/* ---- exchange.c: what calls do ---- */

uint64_t hccl_item_size(HcclDataType dtype);
HcclResult hccl_check_type(const char *name, HcclDataType dtype, HcclReduceOp op, bool reduces);
int hccl_run_collective(hccl_call *call);
int hccl_run_exchange(hccl_call *call);

#endif
