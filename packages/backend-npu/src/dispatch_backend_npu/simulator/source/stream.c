/* libascendcl: streams and events.
 *
 * Work is put on a stream and executed when a synchronisation waits for it, not before: a program that reads a result
 * without synchronising reads older contents, as on hardware. A stream with much queued work does some of it. A piece of
 * work that a test lets hang stays the first of its stream; a thread that waits for it lets other threads enter.
 */
#include "aclsim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct aclsim_task {
    struct aclsim_task *next;
    const char *name;
    int (*run)(void *data);
    void (*release)(void *data);
    void *data;
    uint64_t hang;
    bool begun;
} aclsim_task;

typedef struct sim_stream {
    aclsim_handle head;
    aclsim_context *context;
    struct sim_stream *next_stream;
    aclsim_task *first, *last;
    int64_t waiting;
    int32_t device;
    int failed;      /* the code of the first piece of work that failed since the last synchronisation, and its message */
    char reason[256];
    bool running;
    aclsim_model *model; /* of the capture that goes on, NULL where there is none */
} sim_stream;

/* One record of an event: the runtime gives each a number of its own, so that waiting work keeps to the record that it saw,
 * also where the event is recorded again, on another stream, before that work is reached. */
typedef struct {
    int64_t users;            /* the event, and pieces of work on streams that refer to it */
    sim_stream *stream;
    bool done;                /* whether the stream has reached it, and when, in milliseconds */
    double time;
} sim_mark;

typedef struct {
    aclsim_handle head;
    uint32_t flags;
    sim_mark *mark;           /* the latest record, NULL before the first */
} sim_event;

enum { MAX_WAITING = 4096 };

static sim_stream *streams;

/* A handle that is destroyed: 107017, an invalid handle. */
static aclError usable(const char *name, sim_stream *stream) {
    if (!aclsim_is(stream, KIND_STREAM)) REFUSE(RT_INVALID_HANDLE, "%s: no stream, or a destroyed one", name);
    return 0;
}

/* NULL means the current context's default stream. A stream may be used in its own context only (107003). */
aclError aclsim_stream_of(aclrtStream stream, aclrtStream *found) {
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    if (!stream) {
        *found = context->default_stream;
        return 0;
    }
    PASS_ON(usable("stream", stream));
    if (((sim_stream *)stream)->context != context)
        REFUSE(RT_STREAM_CONTEXT, "the stream belongs to another context than the calling thread's");
    *found = stream;
    return 0;
}

aclrtStream aclsim_stream_new(aclsim_context *context, uint32_t flags) {
    (void)flags;
    sim_stream *stream = aclsim_handle_new(KIND_STREAM, sizeof *stream);
    stream->context = context;
    stream->device = context->device;
    stream->next_stream = streams;
    streams = stream;
    return stream;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Failures on the device are reported by the next synchronisation. Return whether the first piece of work is done. */
static bool run_one(sim_stream *stream) {
    aclsim_task *task = stream->first;
    if (!task->begun) {
        task->begun = true;
        task->hang = aclsim_task_hang();
        aclsim_note("run ", task->name);
    }
    if (aclsim_hangs(task->hang)) return false;
    stream->running = true;
    int code = aclsim_task_fault();
    if (code) aclsim_error(code, "%s faulted on demand on the device", task->name);
    else code = task->run(task->data);
    stream->running = false;
    if (code == NOT_YET) return false;
    stream->first = task->next;
    if (!stream->first) stream->last = NULL;
    stream->waiting--;
    if (code && !stream->failed) {
        stream->failed = code;
        snprintf(stream->reason, sizeof stream->reason, "%s", aclsim_message());
    }
    task->release(task->data);
    free(task);
    return true;
}

/* Do all work that does not have to wait; return whether nothing is left. */
static bool advance(sim_stream *stream) {
    while (stream->first && !stream->running)
        if (!run_one(stream)) return false;
    return true;
}

void aclsim_stream_advance(aclrtStream handle) {
    if (aclsim_is(handle, KIND_STREAM)) advance(handle);
}

static int take_failure(sim_stream *stream) {
    int failed = stream->failed;
    stream->failed = 0;
    /* Another thread may have done the work. */
    if (failed && stream->reason[0]) aclsim_set_message(stream->reason);
    return failed;
}

/* The time at which a wait that begins now ends; an invalid limit is 107000. */
static aclError deadline_of(const char *name, int32_t timeout, double *deadline) {
    if (timeout < -1 || !timeout) REFUSE(RT_PARAM_INVALID, "%s: timeout is %d", name, (int)timeout);
    *deadline = timeout < 0 ? HUGE_VAL : now() + timeout;
    return 0;
}

/* The code for work that hangs until the limit is over: 507046 for a stream or a device, 507047 for an event. */
static aclError too_late(int code) { return aclsim_error(code, "the work hangs, and the time limit is over"); }

/* Errors of execution surface at the next synchronisation. */
aclError aclsim_stream_drain(aclrtStream handle, int32_t timeout) {
    sim_stream *stream = handle;
    double deadline;
    PASS_ON(deadline_of("stream", timeout, &deadline));
    while (aclsim_is(stream, KIND_STREAM) && !advance(stream)) {
        if (now() >= deadline) return too_late(RT_STREAM_SYNC_TIMEOUT);
        aclsim_pause();
    }
    return take_failure(stream);
}

static bool advance_device(int32_t device) {
    bool done = true;
    for (sim_stream *stream = streams; stream; stream = stream->next_stream)
        if (stream->device == device && !advance(stream)) done = false;
    return done;
}

aclError aclsim_device_drain(int32_t device, int32_t timeout) {
    double deadline;
    PASS_ON(deadline_of("device", timeout, &deadline));
    while (!advance_device(device)) {
        if (now() >= deadline) return too_late(RT_STREAM_SYNC_TIMEOUT);
        aclsim_pause();
    }
    int failed = 0;
    for (sim_stream *stream = streams; stream; stream = stream->next_stream)
        if (stream->device == device) {
            int code = take_failure(stream);
            if (code && !failed) failed = code;
        }
    return failed;
}

static void drop_waiting(sim_stream *stream) {
    while (stream->first) {
        aclsim_task *task = stream->first;
        stream->first = task->next;
        task->release(task->data);
        free(task);
    }
    stream->last = NULL;
    stream->waiting = 0;
}

void aclsim_stream_free(aclrtStream handle) {
    sim_stream *stream = handle;
    if (stream->model) aclsim_model_free(stream->model);
    drop_waiting(stream);
    for (sim_stream **at = &streams; *at; at = &(*at)->next_stream)
        if (*at == stream) {
            *at = stream->next_stream;
            break;
        }
    aclsim_handle_free(stream);
}

aclsim_model **aclsim_stream_model(aclrtStream handle) { return &((sim_stream *)handle)->model; }

/* A stream that is captured cannot be waited for, or asked: 107027. */
static aclError not_captured(const char *name, aclrtStream stream) {
    if (*aclsim_stream_model(stream)) REFUSE(RT_STREAM_CAPTURED, "%s: the stream is captured", name);
    return 0;
}

int32_t aclsim_stream_device(aclrtStream stream) { return ((sim_stream *)stream)->device; }

void aclsim_enqueue(aclrtStream handle, const char *name, int (*run)(void *), void (*release)(void *), void *data) {
    sim_stream *stream = handle;
    if (stream->model) {
        aclsim_model_add(stream->model, name, run, release, data);
        return;
    }
    aclsim_task *task = malloc(sizeof *task);
    *task = (aclsim_task){NULL, name, run, release, data, 0, false};
    if (stream->last) stream->last->next = task; else stream->first = task;
    stream->last = task;
    if (++stream->waiting > MAX_WAITING && !stream->running) run_one(stream);
}

/* ---- Streams ---- */

/* aclrtCreateStreamWithConfig: flags are FAST_LAUNCH 1, FAST_SYNC 2, PERSISTENT 4 and HUGE 8; priorities are ignored. */
static aclError create_stream(const char *name, aclrtStream *stream, uint32_t flags) {
    aclsim_context *context;
    if (!stream) REFUSE(INVALID_PARAM, "%s: stream is a null pointer", name);
    if (flags & ~15u) REFUSE(RT_PARAM_INVALID, "%s: there are no flags %u", name, flags);
    PASS_ON(aclsim_current(&context));
    *stream = aclsim_stream_new(context, flags);
    return 0;
}

aclError aclrtCreateStream(aclrtStream *stream) {
    CALL(aclrtCreateStream);
    FAIL_FIRST();
    return create_stream(scope.name, stream, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
    (void)priority;
    CALL(aclrtCreateStreamWithConfig);
    FAIL_FIRST();
    return create_stream(scope.name, stream, flag);
}

/* aclrtDestroyStream: NULL is refused with 100000; only in its own context; queued work is done first. */
aclError aclrtDestroyStream(aclrtStream stream) {
    CALL(aclrtDestroyStream);
    aclrtStream found;
    if (!stream) REFUSE(INVALID_PARAM, "aclrtDestroyStream: stream is a null pointer");
    PASS_ON(aclsim_stream_of(stream, &found));
    if (((sim_stream *)found)->context->default_stream == found)
        REFUSE(RT_PARAM_INVALID, "aclrtDestroyStream: a default stream goes with its context");
    int failed = aclsim_stream_drain(found, -1);
    aclsim_stream_free(found);
    PASS_ON(failed);
    FAIL_LAST();
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    CALL(aclrtSynchronizeStream);
    PASS_ON(aclsim_stream_of(stream, &stream));
    PASS_ON(not_captured(scope.name, stream));
    PASS_ON(aclsim_stream_drain(stream, -1));
    FAIL_LAST();
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    CALL(aclrtSynchronizeStreamWithTimeout);
    PASS_ON(aclsim_stream_of(stream, &stream));
    PASS_ON(not_captured(scope.name, stream));
    PASS_ON(aclsim_stream_drain(stream, timeout));
    FAIL_LAST();
}

/* Repeated queries let the stream make progress. */
aclError aclrtStreamQuery(aclrtStream stream, int *status) {
    CALL(aclrtStreamQuery);
    FAIL_FIRST();
    if (!status) REFUSE(INVALID_PARAM, "aclrtStreamQuery: status is a null pointer");
    PASS_ON(aclsim_stream_of(stream, &stream));
    PASS_ON(not_captured(scope.name, stream));
    sim_stream *queried = stream;
    *status = queried->first ? 1 : 0;
    if (queried->first && !queried->running) run_one(queried);
    return 0;
}

/* ---- Events ---- */

enum { EVENT_SYNC = 1, EVENT_TIME_LINE = 8, EVENT_ALL = 0xff };

/* aclrtCreateEventExWithFlag: flags are SYNC 1, CAPTURE_STREAM_PROGRESS 2, TIME_LINE 8, EXTERNAL 0x20 and IPC 0x40;
 * aclrtCreateEvent creates one with every ability. */
static aclError create_event(const char *name, aclrtEvent *event, uint32_t flags) {
    aclsim_context *context;
    if (!event) REFUSE(INVALID_PARAM, "%s: event is a null pointer", name);
    if (!flags || flags & ~0x6fu) if (flags != EVENT_ALL) REFUSE(RT_PARAM_INVALID, "%s: there are no flags %u", name, flags);
    PASS_ON(aclsim_current(&context));
    sim_event *made = aclsim_handle_new(KIND_EVENT, sizeof *made);
    made->flags = flags;
    *event = made;
    return 0;
}

aclError aclrtCreateEvent(aclrtEvent *event) {
    CALL(aclrtCreateEvent);
    FAIL_FIRST();
    return create_event(scope.name, event, EVENT_ALL);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    CALL(aclrtCreateEventExWithFlag);
    FAIL_FIRST();
    return create_event(scope.name, event, flag);
}

/* A null pointer is 100000, a destroyed event an invalid handle, 107017. */
static aclError event_of(const char *name, aclrtEvent event) {
    if (!event) REFUSE(INVALID_PARAM, "%s: event is a null pointer", name);
    if (!aclsim_is(event, KIND_EVENT)) REFUSE(RT_INVALID_HANDLE, "%s: no event, or a destroyed one", name);
    return 0;
}

static void release_mark(void *data) {
    sim_mark *mark = data;
    if (mark && --mark->users == 0) free(mark);
}

/* Work on streams refers to the record, not to the event: the handle is dead at once. */
aclError aclrtDestroyEvent(aclrtEvent event) {
    CALL(aclrtDestroyEvent);
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    PASS_ON(event_of(scope.name, event));
    release_mark(((sim_event *)event)->mark);
    aclsim_handle_free(event);
    FAIL_LAST();
}

static int run_record(void *data) {
    sim_mark *mark = data;
    mark->done = true;
    mark->time = now();
    return 0;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    CALL(aclrtRecordEvent);
    FAIL_FIRST();
    PASS_ON(event_of(scope.name, event));
    PASS_ON(aclsim_stream_of(stream, &stream));
    sim_event *recorded = event;
    sim_mark *mark = malloc(sizeof *mark);
    *mark = (sim_mark){2, stream, false, 0};
    release_mark(recorded->mark);
    recorded->mark = mark;
    aclsim_enqueue(stream, "aclrtRecordEvent", run_record, release_mark, mark);
    return 0;
}

/* Run the stream of a record until it is reached. Return whether there is nothing to wait for. */
static bool reach(sim_mark *mark) {
    sim_stream *stream = mark ? mark->stream : NULL;
    while (mark && !mark->done && aclsim_is(stream, KIND_STREAM) && stream->first && !stream->running)
        if (!run_one(stream)) return false;
    return true;
}

static int run_wait(void *data) { return reach(data) ? 0 : NOT_YET; }

/* aclrtStreamWaitEvent: needs an event created with ACL_EVENT_SYNC. */
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    CALL(aclrtStreamWaitEvent);
    FAIL_FIRST();
    PASS_ON(event_of(scope.name, event));
    PASS_ON(aclsim_stream_of(stream, &stream));
    sim_event *awaited = event;
    if (!(awaited->flags & EVENT_SYNC)) REFUSE(RT_PARAM_INVALID, "aclrtStreamWaitEvent: the event was made without ACL_EVENT_SYNC");
    if (awaited->mark) awaited->mark->users++;
    aclsim_enqueue(stream, "aclrtStreamWaitEvent", run_wait, release_mark, awaited->mark);
    return 0;
}

/* aclrtQueryEvent and aclrtQueryEventWaitStatus return 0 for complete, aclrtQueryEventStatus 1: their enums are opposite.
 * An event that was never recorded is complete. */
static aclError query(const char *name, aclrtEvent event, int *status, int complete) {
    PASS_ON(event_of(name, event));
    if (!status) REFUSE(INVALID_PARAM, "%s: status is a null pointer", name);
    sim_mark *mark = ((sim_event *)event)->mark;
    bool done = !mark || mark->done;
    *status = done ? complete : !complete;
    sim_stream *stream = mark ? mark->stream : NULL;
    if (!done && aclsim_is(stream, KIND_STREAM) && stream->first && !stream->running) run_one(stream);
    return 0;
}

aclError aclrtQueryEvent(aclrtEvent event, int *status) {
    CALL(aclrtQueryEvent);
    FAIL_FIRST();
    return query(scope.name, event, status, 0);
}

aclError aclrtQueryEventStatus(aclrtEvent event, int *status) {
    CALL(aclrtQueryEventStatus);
    FAIL_FIRST();
    return query(scope.name, event, status, 1);
}

static aclError synchronize_event(const char *name, aclrtEvent event, int32_t timeout) {
    double deadline;
    PASS_ON(event_of(name, event));
    PASS_ON(deadline_of(name, timeout, &deadline));
    sim_mark *mark = ((sim_event *)event)->mark;
    if (!mark) return 0;
    sim_stream *stream = mark->stream;
    mark->users++;  /* the thread may pause, and another may record the event again */
    while (!reach(mark)) {
        const bool is_late = now() >= deadline;
        if (is_late) {
            release_mark(mark);
            return too_late(RT_EVENT_SYNC_TIMEOUT);
        }
        aclsim_pause();
    }
    release_mark(mark);
    return aclsim_is(stream, KIND_STREAM) ? take_failure(stream) : 0;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    CALL(aclrtSynchronizeEvent);
    PASS_ON(synchronize_event(scope.name, event, -1));
    FAIL_LAST();
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    CALL(aclrtSynchronizeEventWithTimeout);
    PASS_ON(synchronize_event(scope.name, event, timeout));
    FAIL_LAST();
}

/* aclrtEventElapsedTime: needs ACL_EVENT_TIME_LINE and events that streams have reached (107006 else). */
aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    CALL(aclrtEventElapsedTime);
    FAIL_FIRST();
    if (!ms) REFUSE(INVALID_PARAM, "aclrtEventElapsedTime: ms is a null pointer");
    PASS_ON(event_of(scope.name, startEvent));
    PASS_ON(event_of(scope.name, endEvent));
    sim_event *start = startEvent, *end = endEvent;
    if (!(start->flags & end->flags & EVENT_TIME_LINE))
        REFUSE(RT_PARAM_INVALID, "aclrtEventElapsedTime: the events were made without ACL_EVENT_TIME_LINE");
    if (!start->mark || !end->mark || !start->mark->done || !end->mark->done)
        REFUSE(RT_EVENT_TIMESTAMP_INVALID, "aclrtEventElapsedTime: an event has not been reached yet");
    *ms = (float)(end->mark->time - start->mark->time);
    return 0;
}

