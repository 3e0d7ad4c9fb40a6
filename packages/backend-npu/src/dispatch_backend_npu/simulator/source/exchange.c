/* libhccl: what collectives do, and what goes from one rank to another. */
#include "hccl.h"

#include <math.h>
#include <stdio.h>

/* The sizes in the order of HcclDataType. */
enum { INT8 = 0, INT16 = 1, INT32 = 2, FP16 = 3, FP32 = 4, INT64 = 5, BFP16 = 11, TYPES = 12 };
static const uint8_t sizes[TYPES] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2};

uint64_t hccl_item_size(HcclDataType dtype) { return dtype >= 0 && dtype < TYPES ? sizes[dtype] : 0; }

static bool is_reduced(HcclDataType dtype) { return (dtype >= INT8 && dtype <= INT64) || dtype == BFP16; }

/* Unsigned integers and float64 are not reduced by the Atlas A2; products of int16 and bfloat16 neither. */
HcclResult hccl_check_type(const char *name, HcclDataType dtype, HcclReduceOp op, bool reduces) {
    if (!hccl_item_size(dtype)) REFUSE(HCCL_E_PARA, "%s: there is no data type %d", name, dtype);
    if (!reduces) return 0;
    if (op < HCCL_SUM || op > HCCL_MIN) REFUSE(HCCL_E_PARA, "%s: there is no reduction %d", name, op);
    if (!is_reduced(dtype) || (op == HCCL_PROD && (dtype == INT16 || dtype == BFP16)))
        REFUSE(HCCL_E_NOT_SUPPORT, "%s: reduction %d does not take data type %d", name, op, dtype);
    return 0;
}

static double read_real(const char *from, HcclDataType dtype, uint64_t i) {
    switch (dtype) {
        case FP16: return aclsim_from_half(((const uint16_t *)from)[i]);
        case BFP16: return aclsim_from_bfloat(((const uint16_t *)from)[i]);
        default: return ((const float *)from)[i];
    }
}

static int64_t read_integer(const char *from, HcclDataType dtype, uint64_t i) {
    switch (dtype) {
        case INT8: return ((const int8_t *)from)[i];
        case INT16: return ((const int16_t *)from)[i];
        case INT32: return ((const int32_t *)from)[i];
        default: return ((const int64_t *)from)[i];
    }
}

/* Combine the items [begin, begin + count) of all ranks. */
static void reduce(const communicator *comm, const hccl_call *call, uint64_t begin, char *to) {
    const HcclDataType dtype = call->dtype;
    const bool is_real = dtype == FP16 || dtype == FP32 || dtype == BFP16;
    for (uint64_t i = 0; i < call->count; i++) {
        double real = 0;
        int64_t integer = 0;
        for (uint32_t rank = 0; rank < comm->ranks; rank++) {
            const char *from = hccl_area(comm, rank);
            const double r = is_real ? read_real(from, dtype, begin + i) : 0;
            const int64_t n = is_real ? 0 : read_integer(from, dtype, begin + i);
            if (!rank) real = r, integer = n;
            else switch (call->op) {
                case HCCL_SUM: real += r, integer = (int64_t)((uint64_t)integer + (uint64_t)n); break;
                case HCCL_PROD: real *= r, integer = (int64_t)((uint64_t)integer * (uint64_t)n); break;
                case HCCL_MAX: real = isnan(r) || r > real ? r : real, integer = n > integer ? n : integer; break;
                default: real = isnan(r) || r < real ? r : real, integer = n < integer ? n : integer;
            }
        }
        switch (dtype) {
            case FP16: ((uint16_t *)to)[i] = aclsim_to_half((float)real); break;
            case BFP16: ((uint16_t *)to)[i] = aclsim_to_bfloat((float)real); break;
            case FP32: ((float *)to)[i] = (float)real; break;
            case INT8: ((int8_t *)to)[i] = (int8_t)integer; break;
            case INT16: ((int16_t *)to)[i] = (int16_t)integer; break;
            case INT32: ((int32_t *)to)[i] = (int32_t)integer; break;
            default: ((int64_t *)to)[i] = integer;
        }
    }
}

/* The memory may have been freed between the call and the work. */
static int check_alive(hccl_call *call, const void *address, uint64_t size) {
    if (!size || aclsim_on_device(address, size, call->comm->device)) return 0;
    aclsim_error(0, "%s: memory that it works with was freed before", call->name);
    return hccl_fail(call->comm, HCCL_E_MEMORY, RT_AICORE_EXCEPTION);
}

/* Wait until a collective that every rank has begun (or is done with) has a number; NOT_YET, 0, or a failure. */
static int await_all(hccl_call *call, uint64_t number, bool is_done) {
    const communicator *comm = call->comm;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        hccl_slot *slot = &comm->shared->slots[rank];
        if (atomic_load(is_done ? &slot->done : &slot->posted) < number) return hccl_await(call, rank);
    }
    return 0;
}

/* What the library cannot see on a device: that ranks call different functions, with other counts or types. */
static int check_alike(hccl_call *call) {
    communicator *comm = call->comm;
    const hccl_slot *mine = &comm->shared->slots[comm->rank];
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        const hccl_slot *other = &comm->shared->slots[rank];
        if (!strcmp(other->name, mine->name) && other->count == mine->count && other->dtype == mine->dtype && other->op == mine->op
            && other->root == mine->root)
            continue;
        aclsim_error(
            0, "rank %u calls %s (count %llu, type %d, reduction %d, root %u), and rank %u %s (count %llu, type %d, reduction %d, root %u)",
            comm->rank, mine->name, (unsigned long long)mine->count, mine->dtype, mine->op, mine->root, rank, other->name,
            (unsigned long long)other->count, other->dtype, other->op, other->root);
        return hccl_fail(comm, HCCL_E_PARA, RT_AICORE_EXCEPTION);
    }
    return 0;
}

int hccl_run_collective(hccl_call *call) {
    communicator *comm = call->comm;
    hccl_slot *mine = &comm->shared->slots[comm->rank];
    const uint64_t size = hccl_item_size(call->dtype), number = comm->collectives + 1;
    if (!call->has_begun) {
        /* The others still read what this rank wrote for the one before. */
        PASS_ON(await_all(call, number - 1, true));
        PASS_ON(check_alive(call, call->send, call->sent * size));
        if (call->sent) memcpy(hccl_area(comm, comm->rank), call->send, call->sent * size);
        snprintf(mine->name, sizeof mine->name, "%s", call->name);
        mine->count = call->count;
        mine->dtype = call->dtype;
        mine->op = call->op;
        mine->root = call->root;
        atomic_store(&mine->posted, number);
        call->has_begun = true;
    }
    PASS_ON(await_all(call, number, false));
    PASS_ON(check_alike(call));
    PASS_ON(check_alive(call, call->receive, call->received * size));
    char *to = call->receive;
    if (!call->received) {
        /* Nothing comes in. */
    } else if (call->reduces) {
        reduce(comm, call, call->sent > call->received ? comm->rank * call->count : 0, to);
    } else if (!strcmp(call->name, "HcclAllGather")) {
        for (uint32_t rank = 0; rank < comm->ranks; rank++)
            memcpy(to + rank * call->count * size, hccl_area(comm, rank), call->count * size);
    } else {
        memcpy(to, hccl_area(comm, call->root), call->count * size);
    }
    comm->collectives = number;
    atomic_store(&mine->done, number);
    return 0;
}

/* Send the item if it is the first one to that rank, and see whether it was taken. */
static int send_item(hccl_call *call, uint32_t i, uint64_t offset) {
    communicator *comm = call->comm;
    hccl_item *sent = &call->items[i];
    const HcclSendRecvItem *item = &sent->item;
    hccl_letter *letter = &comm->shared->letters[comm->rank][item->remoteRank];
    const uint64_t size = item->count * hccl_item_size(item->dataType);
    if (!sent->is_posted) {
        PASS_ON(check_alive(call, item->buf, size));
        if (size) memcpy(hccl_area(comm, comm->rank) + offset, item->buf, size);
        letter->offset = offset;
        letter->count = item->count;
        letter->dtype = item->dataType;
        atomic_fetch_add(&letter->posted, 1);
        sent->is_posted = true;
    }
    if (atomic_load(&letter->taken) < atomic_load(&letter->posted)) return hccl_await(call, item->remoteRank);
    sent->is_done = true;
    if (!atomic_load(&letter->is_refused)) return 0;
    aclsim_error(0, "%s: rank %u expects other items than rank %u sends", call->name, item->remoteRank, comm->rank);
    return hccl_fail(comm, HCCL_E_PARA, RT_AICORE_EXCEPTION);
}

/* Count and type are those of the sender, or both calls fail; a device would write what it gets. */
static int receive_item(hccl_call *call, uint32_t i) {
    communicator *comm = call->comm;
    const HcclSendRecvItem *item = &call->items[i].item;
    hccl_letter *letter = &comm->shared->letters[item->remoteRank][comm->rank];
    if (atomic_load(&letter->taken) == atomic_load(&letter->posted)) return hccl_await(call, item->remoteRank);
    const uint64_t size = item->count * hccl_item_size(item->dataType);
    PASS_ON(check_alive(call, item->buf, size));
    const bool fits = letter->count == item->count && letter->dtype == item->dataType;
    if (fits && size) memcpy(item->buf, hccl_area(comm, item->remoteRank) + letter->offset, size);
    if (!fits) {
        aclsim_error(
            0, "%s: rank %u sends %llu items of type %d, and rank %u expects %llu of type %d", call->name, item->remoteRank,
            (unsigned long long)letter->count, letter->dtype, comm->rank, (unsigned long long)item->count, item->dataType);
        atomic_store(&letter->is_refused, true);
    }
    atomic_fetch_add(&letter->taken, 1);
    call->items[i].is_done = true;
    return fits ? 0 : hccl_fail(comm, HCCL_E_PARA, RT_AICORE_EXCEPTION);
}

/* Whether an item before this one, to or from the same rank, is not done yet. */
static bool is_behind(const hccl_call *call, uint32_t i) {
    const HcclSendRecvItem *mine = &call->items[i].item;
    for (uint32_t j = 0; j < i; j++) {
        const HcclSendRecvItem *other = &call->items[j].item;
        if (!call->items[j].is_done && other->sendRecvType == mine->sendRecvType && other->remoteRank == mine->remoteRank) return true;
    }
    return false;
}

/* A sender waits until what it sends was taken: two ranks that both send first wait for each other. */
int hccl_run_exchange(hccl_call *call) {
    communicator *comm = call->comm;
    if (!call->has_begun) PASS_ON(await_all(call, comm->collectives, true));
    call->has_begun = true;
    uint64_t offset = 0;
    bool is_done = true;
    for (uint32_t i = 0; i < call->count; i++) {
        hccl_item *each = &call->items[i];
        const uint64_t size = each->item.count * hccl_item_size(each->item.dataType);
        if (!each->is_done && !is_behind(call, i)) {
            int code = each->item.sendRecvType == HCCL_SEND ? send_item(call, i, offset) : receive_item(call, i);
            if (code && code != NOT_YET) return code;
        }
        is_done &= each->is_done;
        if (each->item.sendRecvType == HCCL_SEND) offset += size;
    }
    return is_done ? 0 : NOT_YET;
}
