// SPDX-License-Identifier: Apache-2.0
// Weight, order, maxActive and labels of workers that are not in the configuration: annotations of a Secret or a
// ClusterProfile, or the extension wharf.dev of a kubeconfig in the directory.
#pragma once

#include "core/config/worker_spec.h"
#include "core/json/json.h"

// wharf.dev/weight, wharf.dev/order and wharf.dev/max-active. ERROR_INVALID names the annotation.
struct error *worker_placement_of_object(const struct json *object, struct worker_spec *out);
// `text` is the kubeconfig: extensions: [{name: wharf.dev, extension: {labels: {...}, weight: 2, order: 1, maxActive:
// "10,jobs.batch=5"}}].
struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out);
