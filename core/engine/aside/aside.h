// SPDX-License-Identifier: Apache-2.0
// Calls of adapters without a result (rule 12). A call that broke the adapter's process sets the workload aside: the
// engine calls no function for the workload before the objects of the call change. While an adapter's process is busy,
// its workloads wait in a list. An adapter that fails for several workloads pauses. In all cases the known facts stay:
// nothing is deleted, released or placed for lack of a result.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"

struct buffer;
struct engine;
struct entry;

// For the host, between steps ---------------------------------------------------------------------------------------
// The host then steps the engine (EVENT_TIME), which acts on the news.

// The process of the adapter answers again: the workloads that wait are tried.
void aside_adapter_ready(struct engine *engine, const struct adapter *of);

// The process of the adapter ended while it loaded the adapter: the adapter's kinds pause. `text`: "signal 11
// (Segmentation fault)".
void aside_adapter_failed_to_load(struct engine *engine, const struct adapter *of, const char *text);

// A former process of the host ended in a call for the object: the engine sets the workload aside when the object is
// first seen. `kind` is plural and group ("jobs.batch"), `object` is "namespace/name", `uid` that of the workload or of
// the mirror, `text` names adapter, function and end: "adapter farm, status: signal 11 (Segmentation fault)". Before
// the first step. Further marks than ASIDE_MARKS are dropped. False: dropped, or out of memory.
#define ASIDE_MARKS 64
bool aside_mark(struct engine *engine, const char *kind, const char *object, const char *uid, const char *text);
// Whether such a mark still counts: its object was not seen yet, or no call is made before the object changes.
bool aside_has_mark(const struct engine *engine, const char *kind, const char *object);

// For the other parts -----------------------------------------------------------------------------------------------

// Completes the context of a call for the entry: no call is made while the workload is set aside, or the adapter is
// busy or paused. After a trouble the workload waits, and decide() knows.
void aside_begin(struct engine *engine, struct entry *entry, struct call_context *context);
// Whether a call for the entry would have no result now. Where another host holds the shard, the workload waits for no
// adapter, and no call is made then.
bool aside_is_closed(struct engine *engine, struct entry *entry);
// The phase of an object, in a call of the engine. False: not known. The former phase stays, and the workload waits.
bool aside_phase(struct engine *engine, struct adapter_call *call, const struct json *object, wharf_phase *phase);
// Whether the workload waits for its adapter.
bool aside_waits(const struct entry *entry);
void aside_retried(struct entry *entry); // an operator asks for another try
// The reason of the wait as a sentence; nothing if there is none.
void aside_put(struct engine *engine, const struct entry *entry, struct buffer *out);
