// SPDX-License-Identifier: Apache-2.0
// Weight, order, maxActive and labels of workers that are not in the configuration: annotations of a Secret or a
// ClusterProfile, or the extension wharf.dev of a kubeconfig in the directory.
#ifndef WHARF_HOST_WORKER_PLACEMENT_H
#define WHARF_HOST_WORKER_PLACEMENT_H

#include "core/base/buffer.h"
#include "core/host/sources/worker_spec.h"

// wharf.dev/weight, wharf.dev/order and wharf.dev/max-active. ERROR_INVALID names the annotation.
struct error *worker_placement_of_object(const struct json *object, struct worker_spec *out);
// `text` is the kubeconfig: extensions: [{name: wharf.dev, extension: {labels: {...}, weight: 2, order: 1, maxActive:
// "10,jobs.batch=5"}}].
struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out);

// "key=value,key=value", as the engine has them.
bool worker_placement_labels(const struct worker_spec *spec, struct buffer *out);
// Of all that the engine is told of it, to notice changes.
uint64_t worker_placement_hash(const struct worker_spec *spec);

#endif
