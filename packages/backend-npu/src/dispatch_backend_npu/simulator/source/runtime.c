/* libascendcl: initialisation, devices, contexts, versions, messages, base functions. */
#include "aclsim.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 2 };

static bool initialised;
static uint64_t references;

typedef struct { aclsim_context *context; int64_t users; } device_state;
static device_state devices[DEVICES];
static __thread aclsim_context *current;

#define NEED_INIT() \
    do { if (!initialised) REFUSE(UNINITIALIZE, "%s: aclInit has not been called", scope.name); } while (0)
#define NEED_DEVICE(device) \
    do { if ((device) < 0 || (device) >= DEVICES) \
        REFUSE(RT_INVALID_DEVICEID, "%s: there is no device %d, only 0 to %d", scope.name, (int)(device), DEVICES - 1); } while (0)
#define NEED_POINTER(pointer) \
    do { if (!(pointer)) REFUSE(INVALID_PARAM, "%s: %s is a null pointer", scope.name, #pointer); } while (0)

/* aclInit: a path to a JSON file or NULL; the second call gives 100002 and counts one reference more. */
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
    /* A context's default stream comes and goes with it: only what callers create is counted as alive. */
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

/* aclFinalize: drops everything at once; called again it gives 100037. */
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

/* aclrtSetDevice: binds the calling thread to the device's default context, which it makes at need; counted. */
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

aclError aclrtResetDeviceForce(int32_t deviceId) {
    CALL(aclrtResetDeviceForce);
    NEED_INIT();
    NEED_DEVICE(deviceId);
    device_close(deviceId);
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

/* Counting devices and asking for names and versions needs no aclInit: loaders ask before they decide to initialise. */
aclError aclrtGetDeviceCount(uint32_t *count) {
    CALL(aclrtGetDeviceCount);
    FAIL_FIRST();
    NEED_POINTER(count);
    *count = DEVICES;
    return 0;
}

aclError aclrtGetRunMode(int *runMode) {
    CALL(aclrtGetRunMode);
    FAIL_FIRST();
    NEED_POINTER(runMode);
    *runMode = 1; /* ACL_HOST */
    return 0;
}

static aclError synchronize_device(void) {
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    return aclsim_context_drain(NULL, context->device);
}

aclError aclrtSynchronizeDevice(void) {
    CALL(aclrtSynchronizeDevice);
    PASS_ON(synchronize_device());
    FAIL_LAST();
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    CALL(aclrtSynchronizeDeviceWithTimeout);
    if (timeout < -1) REFUSE(RT_PARAM_INVALID, "%s: the timeout is %d", scope.name, timeout);
    PASS_ON(synchronize_device());
    FAIL_LAST();
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, int *deviceStatus) {
    CALL(aclrtQueryDeviceStatus);
    FAIL_FIRST();
    NEED_POINTER(deviceStatus);
    NEED_DEVICE(deviceId);
    *deviceStatus = 0; /* ACL_RT_DEVICE_STATUS_NORMAL */
    return 0;
}

/* aclrtGetSocName: a static string. The name begins as a real one does, and says what this is. */
const char *aclrtGetSocName(void) {
    QUIET(aclrtGetSocName);
    return "Ascend910B1 (simulator)";
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

/* aclCANNPackageVersion: the whole version as text, then its parts as text; CANN names it by package. */
typedef struct {
    char version[128], majorVersion[64], minorVersion[64], releaseVersion[64], patchVersion[64], reserved[128];
} aclCANNPackageVersion;

aclError aclsysGetCANNVersion(int name, aclCANNPackageVersion *version) {
    CALL(aclsysGetCANNVersion);
    FAIL_FIRST();
    NEED_POINTER(version);
    if (name < 0 || name > 4) REFUSE(INVALID_PARAM, "aclsysGetCANNVersion: there is no package %d", name);
    memset(version, 0, sizeof *version);
    strcpy(version->version, "0.0.simulator");
    strcpy(version->majorVersion, "0");
    strcpy(version->minorVersion, "0");
    strcpy(version->releaseVersion, "simulator");
    return 0;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
    CALL(aclsysGetVersionStr);
    FAIL_FIRST();
    NEED_POINTER(pkgName);
    NEED_POINTER(versionStr);
    strcpy(versionStr, "0.0.simulator");
    return 0;
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
    CALL(aclsysGetVersionNum);
    FAIL_FIRST();
    NEED_POINTER(pkgName);
    NEED_POINTER(versionNum);
    *versionNum = 0;
    return 0;
}

aclError aclGetDeviceCapability(uint32_t deviceId, int deviceInfo, int64_t *value) {
    CALL(aclGetDeviceCapability);
    FAIL_FIRST();
    NEED_POINTER(value);
    NEED_DEVICE((int32_t)deviceId);
    static const int64_t values[] = {24, 48, 192 << 20};
    if (deviceInfo < 0 || deviceInfo > 2) REFUSE(INVALID_PARAM, "aclGetDeviceCapability: there is no capability %d", deviceInfo);
    *value = values[deviceInfo];
    return 0;
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, int attr, int64_t *value) {
    CALL(aclrtGetDeviceInfo);
    FAIL_FIRST();
    NEED_POINTER(value);
    NEED_DEVICE((int32_t)deviceId);
    uint64_t memory[3];
    aclsim_memory_counts(memory);
    switch (attr) {
        case 1: *value = 8; return 0;
        case 101: case 102: *value = 24; return 0;
        case 201: *value = 48; return 0;
        case 301: *value = (int64_t)memory[2]; return 0;
        case 302: *value = 192 << 20; return 0;
        default: REFUSE(RT_PARAM_INVALID, "aclrtGetDeviceInfo: the simulator has no attribute %d", attr);
    }
}

aclError aclGetCannAttribute(int cannAttr, int32_t *value) {
    CALL(aclGetCannAttribute);
    FAIL_FIRST();
    NEED_POINTER(value);
    if (cannAttr < 0 || cannAttr > 2) REFUSE(INVALID_PARAM, "aclGetCannAttribute: there is no attribute %d", cannAttr);
    *value = 1;
    return 0;
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    CALL(aclrtDeviceCanAccessPeer);
    FAIL_FIRST();
    NEED_POINTER(canAccessPeer);
    NEED_DEVICE(deviceId);
    NEED_DEVICE(peerDeviceId);
    *canAccessPeer = deviceId != peerDeviceId;
    return 0;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
    CALL(aclrtDeviceEnablePeerAccess);
    FAIL_FIRST();
    NEED_DEVICE(peerDeviceId);
    if (flags) REFUSE(INVALID_PARAM, "aclrtDeviceEnablePeerAccess: flags is reserved and must be 0");
    return 0;
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
    CALL(aclrtDeviceDisablePeerAccess);
    NEED_DEVICE(peerDeviceId);
    FAIL_LAST();
}

/* ---- Options (deterministic, debug kernels, strong consistency), for the process and for a context ---- */

static int64_t options[3];

static aclError set_option(int64_t *where, int opt, int64_t value) {
    if (opt < 0 || opt > 2 || value < 0 || value > 1) REFUSE(RT_PARAM_INVALID, "there is no option %d with value %ld", opt, (long)value);
    where[opt] = value;
    return 0;
}

static aclError get_option(const int64_t *where, int opt, int64_t *value) {
    if (!value) REFUSE(INVALID_PARAM, "value is a null pointer");
    if (opt < 0 || opt > 2) REFUSE(RT_PARAM_INVALID, "there is no option %d", opt);
    *value = where[opt];
    return 0;
}

aclError aclrtSetSysParamOpt(int opt, int64_t value) {
    CALL(aclrtSetSysParamOpt);
    FAIL_FIRST();
    return set_option(options, opt, value);
}

aclError aclrtGetSysParamOpt(int opt, int64_t *value) {
    CALL(aclrtGetSysParamOpt);
    FAIL_FIRST();
    return get_option(options, opt, value);
}

aclError aclrtCtxSetSysParamOpt(int opt, int64_t value) {
    CALL(aclrtCtxSetSysParamOpt);
    FAIL_FIRST();
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    return set_option(context->options, opt, value);
}

aclError aclrtCtxGetSysParamOpt(int opt, int64_t *value) {
    CALL(aclrtCtxGetSysParamOpt);
    FAIL_FIRST();
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    return get_option(context->options, opt, value);
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

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream) {
    CALL(aclrtCtxGetCurrentDefaultStream);
    FAIL_FIRST();
    NEED_POINTER(stream);
    aclsim_context *context;
    PASS_ON(aclsim_current(&context));
    *stream = context->default_stream;
    return 0;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active) {
    CALL(aclrtGetPrimaryCtxState);
    FAIL_FIRST();
    NEED_DEVICE(deviceId);
    NEED_POINTER(active);
    if (flags) *flags = 0;
    *active = devices[deviceId].context != NULL;
    return 0;
}

/* ---- Messages and base functions ---- */

/* aclGetRecentErrMsg: of the calling thread, read once, NULL where there is none. */
const char *aclGetRecentErrMsg(void) {
    QUIET(aclGetRecentErrMsg);
    return aclsim_take_message();
}

/* The last error of the calling thread, read and forgotten, or only read. */
aclError aclrtGetLastError(int level) {
    QUIET(aclrtGetLastError);
    return level ? RT_PARAM_INVALID : aclsim_last_error(true);
}

aclError aclrtPeekAtLastError(int level) {
    QUIET(aclrtPeekAtLastError);
    return level ? RT_PARAM_INVALID : aclsim_last_error(false);
}

size_t aclDataTypeSize(aclDataType dataType) { return aclsim_item_size(dataType); }
float aclFloat16ToFloat(aclFloat16 value) { return aclsim_from_half(value); }
aclFloat16 aclFloatToFloat16(float value) { return aclsim_to_half(value); }

typedef struct { aclsim_handle head; void *data; size_t size; } aclDataBuffer;

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    CALL(aclCreateDataBuffer);
    if (scope.injected) return NULL;
    aclDataBuffer *buffer = aclsim_handle_new(KIND_DATA_BUFFER, sizeof *buffer);
    buffer->data = data;
    buffer->size = size;
    return buffer;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
    CALL(aclDestroyDataBuffer);
    NEED_POINTER(dataBuffer);
    if (!aclsim_is(dataBuffer, KIND_DATA_BUFFER)) REFUSE(INVALID_PARAM, "aclDestroyDataBuffer: destroyed already");
    aclsim_handle_free((void *)dataBuffer);
    FAIL_LAST();
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) { return dataBuffer ? dataBuffer->data : NULL; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) { return dataBuffer ? dataBuffer->size : 0; }
