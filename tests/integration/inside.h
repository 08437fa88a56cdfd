// SPDX-License-Identifier: Apache-2.0
// The host of a scene in this process, with workers that the test hands over.
#pragma once

#include "core/host/host.h"
#include "tests/integration/stage.h"

struct inside;
// Starts it with these workers, "w1 w3", in a scene of stage_open, and waits until each takes work.
struct inside *inside_run(struct scene *scene, const char *workers);
void inside_end(struct inside *inside); // must take no longer than a stop may

// The set of workers: "w1 w2!cordoned w3!move". "w2=w3": under this name with the kubeconfig of the other one.
// "w2*": with another revision than before.
void inside_set(struct inside *inside, const char *workers, enum removal removal);

// A copy of its state, as /metrics shows it.
bool inside_has(struct inside *inside, const char *worker);
bool inside_takes_work(struct inside *inside, const char *worker);
bool inside_is_leaving(struct inside *inside, const char *worker);
bool inside_is_refused(struct inside *inside, const char *worker);
uint64_t inside_unknown(struct inside *inside, const char *worker); // workloads on one that there is not
uint64_t inside_losses(struct inside *inside, const char *worker);  // of its watches, ever
// Requests to it that did not succeed, ever; conflicts of versions are not counted.
uint64_t inside_failures(struct inside *inside, const char *cluster);
