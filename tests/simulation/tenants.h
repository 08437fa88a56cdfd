// SPDX-License-Identifier: Apache-2.0
// Tenants: whether the namespaces of workers consent changes, and whether the host may act as their tenants. The rules
// T1 and T2 of docs/lifecycle.md, by what the engine was told, and by the users of the writes.
#pragma once

#include "core/config/engine_settings.h"
#include "tests/simulation/trial.h"

struct world_write;

void tenants_choose(struct trial *trial);
struct tenants_play *tenants_new(struct trial *trial);
int64_t tenants_due(const struct trial *trial);
void tenants_act(struct trial *trial);
void tenants_end(struct trial *trial);     // all consent, and nothing is denied
void tenants_started(struct trial *trial); // trial->host
// Nothing is denied in the cluster any more.
void tenants_allow(struct trial *trial, size_t cluster);
// The host may not act as the tenant there, or may again, and waits for its next try.
bool tenants_are_denied(const struct trial *trial, size_t cluster, const char *namespace_);

struct tenancy_options tenants_options(const struct trial *trial);

// A namespace of a worker exists anew.
void tenants_namespace(struct trial *trial, size_t cluster);
// The engine of trial->host is told; and has decided to send this.
void tenants_told(struct trial *trial, const struct engine_event *event);
void tenants_command(struct trial *trial, const struct command *command);
// T3: what runs there may be removed, as far as the engine of trial->host knows.
bool tenants_leave(const struct trial *trial, size_t cluster, const char *namespace_);
// A write of the host, accepted or not.
void tenants_written(struct trial *trial, size_t cluster, const struct world_write *write);
