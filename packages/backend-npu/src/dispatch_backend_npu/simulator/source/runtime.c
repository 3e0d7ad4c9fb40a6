/* libascendcl: initialisation, devices, contexts, versions, messages, base functions. */
#include "aclsim.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 2 };

static bool initialised;
static uint64_t references;

typedef struct { aclsim_context *context; int64_t users; uint32_t peers; } device_state;
static device_state devices[DEVICES];
static __thread aclsim_context *current;

/* Any call before aclInit is 100001; a device that does not exist, 107001; a null pointer for a result, 100000. */
#define NEED_INIT() \
    do { if (!initialised) REFUSE(UNINITIALIZE, "%s: aclInit has not been called", scope.name); } while (0)
#define NEED_DEVICE(device) \
    do { if ((device) < 0 || (device) >= DEVICES) \
        REFUSE(RT_INVALID_DEVICEID, "%s: there is no device %d, only 0 to %d", scope.name, (int)(device), DEVICES - 1); } while (0)
#define NEED_POINTER(pointer) \
    do { if (!(pointer)) REFUSE(INVALID_PARAM, "%s: %s is a null pointer", scope.name, #pointer); } while (0)

/* aclInit: a path to a JSON file or NULL; the second call returns 100002 and adds a reference. */
aclError aclInit(const char *configPath) {
    CALL(aclInit);
    FAIL_FIRST();
    if (configPath && configPath[0]) {
        FILE *file = fopen(configPath, "r");
        if (!file) REFUSE(INVALID_FILE, "aclInit: cannot open %s", configPath);
        fclose(file);
    }
    references++;
    if (initialised) REFUSE(REPEAT_INITIALIZE, "aclInit: initialised already");
    initialised = true;
    return 0;
}

static aclsim_context *context_new(int32_t device, bool is_default) {
    aclsim_context *context = aclsim_handle_new(KIND_CONTEXT, sizeof *context);
    context->device = device;
    context->is_default = is_default;
    context->default_stream = aclsim_stream_new(context, 0);
    /* A context's default stream lives as long as the context: only the streams of callers are counted as alive. */
    aclsim_live[KIND_STREAM]--;
    if (is_default) aclsim_live[KIND_CONTEXT]--;
    return context;
}

static void context_free(aclsim_context *context) {
    aclsim_live[KIND_STREAM]++;
    aclsim_stream_free(context->default_stream);
    if (context->is_default) aclsim_live[KIND_CONTEXT]++;
    aclsim_handle_free(context);
}

static void device_close(int32_t device) {
    if (devices[device].context) context_free(devices[device].context);
    devices[device] = (device_state){0};
}

/* aclFinalize: drops everything at once; a second call returns 100037. */
aclError aclFinalize(void) {
    CALL(aclFinalize);
    if (!initialised) REFUSE(REPEAT_FINALIZE, "aclFinalize: not initialised, or finalised already");
    initialised = false;
    references = 0;
    for (int32_t i = 0; i < DEVICES; i++) device_close(i);
    FAIL_LAST();
}

/* aclFinalizeReference: drops one reference, and everything with the last. */
aclError aclFinalizeReference(uint64_t *refCount) {
    CALL(aclFinalizeReference);
    if (!initialised) REFUSE(REPEAT_FINALIZE, "aclFinalizeReference: not initialised, or finalised already");
    if (--references == 0) {
        initialised = false;
        for (int32_t i = 0; i < DEVICES; i++) device_close(i);
    }
    if (refCount) *refCount = references;
    FAIL_LAST();
}

/* The context of the calling thread; 107002 where none is set. */
aclError aclsim_current(aclsim_context **context) {
    if (!initialised) return aclsim_error(UNINITIALIZE, "aclInit has not been called");
    if (!aclsim_is(current, KIND_CONTEXT))
        return aclsim_error(RT_CONTEXT_NULL, "this thread has no context: it must call aclrtSetDevice or aclrtSetCurrentContext");
    *context = current;
    return 0;
}

/* aclrtSetDevice: binds the calling thread to the device's default context, which it creates at need; counted. */
aclError aclrtSetDevice(int32_t deviceId) {
    CALL(aclrtSetDevice);
    FAIL_FIRST();
    NEED_INIT();
    NEED_DEVICE(deviceId);
    device_state *device = &devices[deviceId];
    if (!device->context) device->context = context_new(deviceId, true);
    device->users++;
    current = device->context;
    return 0;
}

/* aclrtResetDevice: counted against aclrtSetDevice; the last one drops the default context. */
aclError aclrtResetDevice(int32_t deviceId) {
    CALL(aclrtResetDevice);
    NEED_INIT();
    NEED_DEVICE(deviceId);
    if (!devices[deviceId].users) REFUSE(RT_CONTEXT_NULL, "aclrtResetDevice: device %d is not set", deviceId);
    if (--devices[deviceId].users == 0) device_close(deviceId);
    FAIL_LAST();
}

/* aclrtGetDevice: 107002 where the thread has set no device. */
aclError aclrtGetDevice(int32_t *deviceId) {
    CALL(aclrtGetDevice);
    FAIL_FIRST();
    NEED_POINTER(deviceId);
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    *deviceId = context->device;
    return 0;
}

/* The number of devices, names and versions need no aclInit: loaders read them before they decide to initialise. */
aclError aclrtGetDeviceCount(uint32_t *count) {
    CALL(aclrtGetDeviceCount);
    FAIL_FIRST();
    NEED_POINTER(count);
    *count = DEVICES;
    return 0;
}

/* aclrtDeviceCanAccessPeer: the devices of a machine reach each other; none is a peer of itself. */
aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    CALL(aclrtDeviceCanAccessPeer);
    FAIL_FIRST();
    NEED_POINTER(canAccessPeer);
    NEED_DEVICE(deviceId);
    NEED_DEVICE(peerDeviceId);
    *canAccessPeer = deviceId != peerDeviceId;
    return 0;
}

/* aclrtDeviceEnablePeerAccess: of the thread's device to another one, in this direction. */
aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
    CALL(aclrtDeviceEnablePeerAccess);
    FAIL_FIRST();
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    NEED_DEVICE(peerDeviceId);
    if (flags) REFUSE(RT_PARAM_INVALID, "aclrtDeviceEnablePeerAccess: flags must be 0");
    if (peerDeviceId == context->device) REFUSE(RT_PARAM_INVALID, "aclrtDeviceEnablePeerAccess: %d is the thread's device", peerDeviceId);
    devices[context->device].peers |= 1u << peerDeviceId;
    return 0;
}

bool aclsim_reaches(int32_t device, int32_t peer) { return device == peer || devices[device].peers & 1u << peer; }

static aclError synchronize_device(int32_t timeout) {
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    return aclsim_device_drain(context->device, timeout);
}

aclError aclrtSynchronizeDevice(void) {
    CALL(aclrtSynchronizeDevice);
    PASS_ON(synchronize_device(-1));
    FAIL_LAST();
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    CALL(aclrtSynchronizeDeviceWithTimeout);
    PASS_ON(synchronize_device(timeout));
    FAIL_LAST();
}

/* Dumps are configured, and nothing is written: a file of JSON is named between aclmdlInitDump and aclmdlFinalizeDump. */
static bool dumping;

aclError aclmdlInitDump(void) {
    CALL(aclmdlInitDump);
    FAIL_FIRST();
    NEED_INIT();
    dumping = true;
    return 0;
}

/* aclmdlSetDump: between aclmdlInitDump and aclmdlFinalizeDump, a file that can be opened. */
aclError aclmdlSetDump(const char *dumpCfgPath) {
    CALL(aclmdlSetDump);
    FAIL_FIRST();
    NEED_INIT();
    NEED_POINTER(dumpCfgPath);
    if (!dumping) REFUSE(UNINITIALIZE, "aclmdlSetDump: aclmdlInitDump has not been called");
    FILE *file = fopen(dumpCfgPath, "r");
    if (!file) REFUSE(INVALID_FILE, "aclmdlSetDump: cannot open %s", dumpCfgPath);
    fclose(file);
    return 0;
}

/* aclmdlFinalizeDump: after aclmdlInitDump, once. */
aclError aclmdlFinalizeDump(void) {
    CALL(aclmdlFinalizeDump);
    FAIL_FIRST();
    NEED_INIT();
    if (!dumping) REFUSE(REPEAT_FINALIZE, "aclmdlFinalizeDump: not begun, or ended already");
    dumping = false;
    return 0;
}

/* aclrtSetOpExecuteTimeOutWithMs: the simulator's operators take no time of their own, so that none reaches it. */
aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
    CALL(aclrtSetOpExecuteTimeOutWithMs);
    FAIL_FIRST();
    NEED_INIT();
    (void)timeout;
    return 0;
}

/* What DISPATCH_NPU_SIMULATE asks for, and a real name of that family, in the order of the columns of the dtypes. */
static const char *const chips[CHIPS][2] = {
    {"910A", "Ascend910A (simulator)"},      {"910B", "Ascend910B1 (simulator)"}, {"910_93", "Ascend910_9391 (simulator)"},
    {"310P", "Ascend310P3 (simulator)"},     {"310B", "Ascend310B1 (simulator)"}, {"950", "Ascend950PR_9579 (simulator)"},
};
enum { DEFAULT_CHIP = 1 };

int aclsim_chip(void) {
    const char *asked = getenv("DISPATCH_NPU_SIMULATE");
    for (int i = 0; asked && i < CHIPS; i++)
        if (!strcmp(asked, chips[i][0])) return i;
    return asked && asked[0] ? -1 : DEFAULT_CHIP;
}

/* By the page of aclmdlRICaptureBegin: all but 910A and 310B. */
bool aclsim_chip_captures(void) { int chip = aclsim_chip(); return chip != 0 && chip != 4; }

/* aclrtGetSocName: a static string: the chip's name, followed by the word simulator. */
const char *aclrtGetSocName(void) {
    QUIET(aclrtGetSocName);
    int chip = aclsim_chip();
    return chip < 0 ? "none of 910A, 910B, 910_93, 310P, 310B and 950, which DISPATCH_NPU_SIMULATE may name" : chips[chip][1];
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
    CALL(aclrtGetVersion);
    FAIL_FIRST();
    NEED_POINTER(majorVersion);
    NEED_POINTER(minorVersion);
    NEED_POINTER(patchVersion);
    *majorVersion = 1;
    *minorVersion = 14;
    *patchVersion = 0;
    return 0;
}

/* ---- Contexts ---- */

/* aclrtCreateContext: the new context becomes the calling thread's. */
aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    CALL(aclrtCreateContext);
    FAIL_FIRST();
    NEED_INIT();
    NEED_POINTER(context);
    NEED_DEVICE(deviceId);
    *context = current = context_new(deviceId, false);
    return 0;
}

/* aclrtDestroyContext: not for a default context, which aclrtResetDevice drops. */
aclError aclrtDestroyContext(aclrtContext context) {
    CALL(aclrtDestroyContext);
    NEED_INIT();
    NEED_POINTER(context);
    if (!aclsim_is(context, KIND_CONTEXT)) REFUSE(RT_CONTEXT_NULL, "aclrtDestroyContext: no context, or destroyed already");
    if (((aclsim_context *)context)->is_default)
        REFUSE(RT_PARAM_INVALID, "aclrtDestroyContext: a default context goes by aclrtResetDevice");
    context_free(context);
    FAIL_LAST();
}

/* aclrtSetCurrentContext: the calling thread works in that context from now on; a destroyed one is refused with 107002. */
aclError aclrtSetCurrentContext(aclrtContext context) {
    CALL(aclrtSetCurrentContext);
    FAIL_FIRST();
    NEED_INIT();
    NEED_POINTER(context);
    if (!aclsim_is(context, KIND_CONTEXT)) REFUSE(RT_CONTEXT_NULL, "aclrtSetCurrentContext: no context, or a destroyed one");
    current = context;
    return 0;
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
    CALL(aclrtGetCurrentContext);
    FAIL_FIRST();
    NEED_POINTER(context);
    aclsim_context *found;
    PASS_ON(aclsim_current(&found));
    *context = found;
    return 0;
}

/* aclrtCtxSetSysParamOpt: of the thread's context; 107000 where there is no such option. */
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    CALL(aclrtCtxSetSysParamOpt);
    FAIL_FIRST();
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    if (opt < 0 || opt >= SYS_PARAMS) REFUSE(RT_PARAM_INVALID, "aclrtCtxSetSysParamOpt: there is no option %d", (int)opt);
    context->params[opt] = (aclsim_param){true, value};
    return 0;
}

/* aclrtCtxGetSysParamOpt: 107021 where it was not set. */
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    CALL(aclrtCtxGetSysParamOpt);
    FAIL_FIRST();
    NEED_POINTER(value);
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    if (opt < 0 || opt >= SYS_PARAMS) REFUSE(RT_PARAM_INVALID, "aclrtCtxGetSysParamOpt: there is no option %d", (int)opt);
    if (!context->params[opt].is_set) REFUSE(RT_SYSPARAMOPT_NOT_SET, "aclrtCtxGetSysParamOpt: option %d is not set", (int)opt);
    *value = context->params[opt].value;
    return 0;
}

/* ---- Messages and base functions ---- */

/* aclGetRecentErrMsg: of the calling thread, read once, NULL where there is none. */
const char *aclGetRecentErrMsg(void) {
    QUIET(aclGetRecentErrMsg);
    return aclsim_take_message();
}

float aclFloat16ToFloat(aclFloat16 value) { return aclsim_from_half(value); }
aclFloat16 aclFloatToFloat16(float value) { return aclsim_to_half(value); }
