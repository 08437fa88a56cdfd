// SPDX-License-Identifier: Apache-2.0
// Objects as protobuf (application/vnd.kubernetes.protobuf), which kubectl sends for what it makes itself: namespaces,
// Jobs, CronJobs and SelfSubjectAccessReviews, as far as `kubectl create` and `kubectl auth can-i` fill them in.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;

// The object as JSON. NULL with a message: not of such a form, or with a field that is not known here.
struct json *protobuf_read(const char *data, size_t len, char message[256]);
