// SPDX-License-Identifier: Apache-2.0
// The status that the kind's own controller would write for a workload that has no mirror: suspended_status,
// resumed_status and gave_up_status of the kind.
#pragma once

#include "core/adapter/services.h"

// Applies the changes to /status of `object`, within a begun call. The call's answer has the reason for a result other
// than WHARF_OK.
wharf_result owed_status(struct adapter_call *call, const struct json *workload, struct json *object);

// The same with gave_up_status, of a workload that no cluster accepts: `message` says why.
wharf_result owed_gave_up(struct adapter_call *call, const struct json *workload, const char *message,
                          struct json *object);
