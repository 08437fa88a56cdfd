// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kind_gate.h"

static kind_gate *present;

static wharf_result pass(const struct adapter_invocation *asked) {
    const wharf_kind *own = asked->call->kind;
    if (!present(asked))
        return WHARF_RETRY;
    return adapter_has(own, asked->function) ? adapter_invoke(own, asked) : WHARF_OK;
}

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    return pass(&(struct adapter_invocation){FUNCTION_PHASE, call, .workload = object, .phase = out});
}

static wharf_result accept(const wharf_call *call, const wharf_value *workload) {
    return pass(&(struct adapter_invocation){FUNCTION_ACCEPT, call, .workload = workload});
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *out) {
    return pass(&(struct adapter_invocation){FUNCTION_MIRROR, call, .workload = workload, .changed = out});
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *seen,
                           wharf_value *desired) {
    return pass(&(struct adapter_invocation){FUNCTION_UPDATE, call, workload, seen, .changed = desired});
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *seen,
                           wharf_value *object) {
    return pass(&(struct adapter_invocation){FUNCTION_STATUS, call, workload, seen, .changed = object});
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    return pass(&(struct adapter_invocation){FUNCTION_POD_SETS, call, .workload = workload, .changed = sets});
}

void kind_gate_add(struct kind *kind, kind_gate *gate) {
    present = gate;
    kind->abi.phase = phase;
    kind->abi.accept = accept;
    kind->abi.mirror = mirror;
    kind->abi.update = update;
    kind->abi.status = status;
    kind->abi.pod_sets = pod_sets;
}
