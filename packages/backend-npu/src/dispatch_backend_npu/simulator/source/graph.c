/* libascendcl: model running instances (ACL graph). They keep the work that a stream is given while it is captured, and do it again.
 *
 * What a piece of work holds, addresses and numbers, is that of its capture: nothing is looked up again. The memory that it uses
 * must still be there when it runs.
 */
#include "aclsim.h"

#include <stdlib.h>

typedef struct { const char *name; int (*run)(void *data); void (*release)(void *data); void *data; } kept_work;

struct aclsim_model {
    aclsim_handle head;
    kept_work *work;
    int64_t count;
    int64_t queued;          /* how often it waits on streams */
};

/* One execution: it goes on where it had to wait. */
typedef struct { aclsim_model *model; int64_t next; } execution;

/* The model that this thread captures into. */
static __thread aclsim_model *capturing;

bool aclsim_is_capturing(void) { return capturing != NULL; }

void aclsim_model_add(aclsim_model *model, const char *name, int (*run)(void *), void (*release)(void *), void *data) {
    model->work = realloc(model->work, (size_t)(model->count + 1) * sizeof *model->work);
    model->work[model->count++] = (kept_work){name, run, release, data};
}

void aclsim_model_free(aclsim_model *model) {
    for (int64_t i = 0; i < model->count; i++) model->work[i].release(model->work[i].data);
    free(model->work);
    if (capturing == model) capturing = NULL;
    aclsim_handle_free(model);
}

static int run_model(void *data) {
    execution *run = data;
    for (; run->next < run->model->count; run->next++) {
        kept_work *work = &run->model->work[run->next];
        aclsim_note("run ", work->name);
        int code = work->run(work->data);
        if (code) return code;
    }
    return 0;
}

static void release_execution(void *data) {
    execution *run = data;
    run->model->queued--;
    free(run);
}

/* aclmdlRICaptureBegin: the work that the stream is given from now on is kept, and not done. A stream that is captured already is
 * 107027; there are the modes global 0, of the thread 1 and relaxed 2. The chips 910A and 310B have no captures: 207000. */
aclError aclmdlRICaptureBegin(aclrtStream stream, int mode) {
    CALL(aclmdlRICaptureBegin);
    FAIL_FIRST();
    PASS_ON(aclsim_stream_of(stream, &stream));
    if (!aclsim_chip_captures()) REFUSE(RT_FEATURE_NOT_SUPPORT, "aclmdlRICaptureBegin: this chip has no captures");
    if (mode < 0 || mode > 2) REFUSE(RT_PARAM_INVALID, "aclmdlRICaptureBegin: there is no mode %d", mode);
    aclsim_model **into = aclsim_stream_model(stream);
    if (*into) REFUSE(RT_STREAM_CAPTURED, "aclmdlRICaptureBegin: the stream is captured already");
    *into = aclsim_handle_new(KIND_MODEL, sizeof **into);
    if (mode < 2) capturing = *into;
    return 0;
}

/* aclmdlRICaptureEnd: 107029 where the stream is not captured. */
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
    CALL(aclmdlRICaptureEnd);
    PASS_ON(aclsim_stream_of(stream, &stream));
    aclsim_model **into = aclsim_stream_model(stream);
    if (!*into) REFUSE(RT_STREAM_NOT_CAPTURED, "aclmdlRICaptureEnd: the stream is not captured");
    aclsim_model *model = *into;
    *into = NULL;
    if (capturing == model) capturing = NULL;
    if (scope.injected || !modelRI) {
        aclsim_model_free(model);
        if (!modelRI) REFUSE(INVALID_PARAM, "aclmdlRICaptureEnd: modelRI is a null pointer");
        FAIL_LAST();
    }
    *modelRI = model;
    return 0;
}

/* A handle that is destroyed, or is none: 107017. */
static aclError usable(const char *name, aclsim_model *model) {
    if (!model || !aclsim_is(model, KIND_MODEL)) REFUSE(RT_INVALID_HANDLE, "%s: no model, or a destroyed one", name);
    return 0;
}

/* aclmdlRIExecuteAsync: the stream does all of its work, in order; a stream that is captured is 107027. */
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    CALL(aclmdlRIExecuteAsync);
    FAIL_FIRST();
    PASS_ON(aclsim_stream_of(stream, &stream));
    PASS_ON(usable(scope.name, modelRI));
    if (*aclsim_stream_model(stream)) REFUSE(RT_STREAM_CAPTURED, "aclmdlRIExecuteAsync: the stream is captured");
    execution *run = malloc(sizeof *run);
    *run = (execution){modelRI, 0};
    run->model->queued++;
    aclsim_enqueue(stream, "aclmdlRIExecuteAsync", run_model, release_execution, run);
    return 0;
}

/* aclmdlRIDestroy: a model that still waits on a stream is refused with 107000. */
aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    CALL(aclmdlRIDestroy);
    PASS_ON(usable(scope.name, modelRI));
    if (((aclsim_model *)modelRI)->queued) REFUSE(RT_PARAM_INVALID, "aclmdlRIDestroy: the model waits on a stream");
    aclsim_model_free(modelRI);
    FAIL_LAST();
}
