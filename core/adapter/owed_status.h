// SPDX-License-Identifier: Apache-2.0
// What the kind's own controller would write about a workload that is suspended or was resumed, where there is no
// mirror whose controller does: suspended_status and resumed_status of its kind.
#ifndef WHARF_ADAPTER_OWED_STATUS_H
#define WHARF_ADAPTER_OWED_STATUS_H

#include "core/adapter/services.h"

// Applies them to `object`, which has the status to be written at /status. `call` was begun; its answer says why the
// result is not WHARF_OK.
wharf_result owed_status(struct adapter_call *call, const struct json *workload, struct json *object);

#endif
