// SPDX-License-Identifier: Apache-2.0
// The layout of everything in wharf/adapter.h, so that a change of it is never an accident: offsets, sizes, numbers and
// signatures, as C11 and as C++. Within major version 1 rows are only added, at the end of a struct or enum; the
// size of a struct changes with them. Nothing here runs.
#include <wharf/adapter.h>

#ifdef __cplusplus
#define ASSERT(condition, text) static_assert(condition, text)
#else
#define ASSERT(condition, text) _Static_assert(condition, text)
#endif

// Everywhere.
#define NUMBER(name, number) ASSERT((int)(name) == (number), #name)

NUMBER(WHARF_ABSENT, 0);
NUMBER(WHARF_NULL, 1);
NUMBER(WHARF_BOOL, 2);
NUMBER(WHARF_NUMBER, 3);
NUMBER(WHARF_STRING, 4);
NUMBER(WHARF_ARRAY, 5);
NUMBER(WHARF_OBJECT, 6);

NUMBER(WHARF_OK, 0);
NUMBER(WHARF_RETRY, 1);
NUMBER(WHARF_REFUSED, 2);

NUMBER(WHARF_LOG_ERROR, 0);
NUMBER(WHARF_LOG_WARN, 1);
NUMBER(WHARF_LOG_INFO, 2);
NUMBER(WHARF_LOG_DEBUG, 3);

NUMBER(WHARF_MIRROR_NONE, 0);
NUMBER(WHARF_MIRROR_PRESENT, 1);
NUMBER(WHARF_MIRROR_LOST, 2);

NUMBER(WHARF_PENDING, 0);
NUMBER(WHARF_SUSPENDED, 1);
NUMBER(WHARF_ACTIVE, 2);
NUMBER(WHARF_SUCCEEDED, 3);
NUMBER(WHARF_FAILED, 4);

NUMBER(WHARF_CARRY_ALWAYS, 0);
NUMBER(WHARF_CARRY_WHILE_SUSPENDED, 1);

NUMBER(WHARF_SET_CONDITION, 0);
NUMBER(WHARF_SET_TEXT, 1);
NUMBER(WHARF_SET_ZERO, 2);
NUMBER(WHARF_REMOVE, 3);

NUMBER(WHARF_ALWAYS, 0);
NUMBER(WHARF_IF_TRUE, 1);
NUMBER(WHARF_IF_ABSENT, 2);

ASSERT(WHARF_ABI_MAJOR == 1 && WHARF_ABI_MINOR == 2, "ABI 1.2");
ASSERT(WHARF_KIND_NO_STATUS_SUBRESOURCE == 1u && WHARF_KIND_NEVER_FINISHES == 2u, "flags of kinds");
ASSERT(WHARF_RULE_WHILE_SUSPENDED == 1u && WHARF_RULE_EXISTS == 2u && WHARF_RULE_AND == 4u, "flags of rules");
ASSERT(WHARF_PODS_ARE_SPECS == 1u, "flags of pods");

// Where pointers and long have 64 bits (x86-64, AArch64, RISC-V 64, ppc64le, s390x).
#if defined(__LP64__)
#define AT(type, field, offset) ASSERT(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, bytes) ASSERT(sizeof(type) == (bytes), #type)

SIZE(wharf_type, 4);
SIZE(wharf_result, 4);
SIZE(wharf_log_level, 4);
SIZE(wharf_mirror_state, 4);
SIZE(wharf_phase_kind, 4);

AT(wharf_answer, size, 0);
AT(wharf_answer, reason, 8);
AT(wharf_answer, message, 16);
AT(wharf_answer, retry_after_ms, 24);
SIZE(wharf_answer, 32);

AT(wharf_call, size, 0);
AT(wharf_call, kind, 8);
AT(wharf_call, now, 16);
AT(wharf_call, now_ns, 24);
AT(wharf_call, cluster, 32);
AT(wharf_call, attempt, 40);
AT(wharf_call, version, 48);
AT(wharf_call, answer, 56);
AT(wharf_call, host_data, 64);
AT(wharf_call, mirror_state, 72);
SIZE(wharf_call, 80);

AT(wharf_host, size, 0);
AT(wharf_host, abi_major, 8);
AT(wharf_host, abi_minor, 12);
AT(wharf_host, version, 16);
AT(wharf_host, type, 24);
AT(wharf_host, find, 32);
AT(wharf_host, find_where, 40);
AT(wharf_host, is, 48);
AT(wharf_host, string, 56);
AT(wharf_host, boolean, 64);
AT(wharf_host, integer, 72);
AT(wharf_host, number, 80);
AT(wharf_host, count, 88);
AT(wharf_host, first, 96);
AT(wharf_host, next, 104);
AT(wharf_host, name, 112);
AT(wharf_host, equal, 120);
AT(wharf_host, condition, 128);
AT(wharf_host, parse_time, 136);
AT(wharf_host, new_null, 144);
AT(wharf_host, new_boolean, 152);
AT(wharf_host, new_integer, 160);
AT(wharf_host, new_string, 168);
AT(wharf_host, new_array, 176);
AT(wharf_host, new_object, 184);
AT(wharf_host, copy, 192);
AT(wharf_host, parse, 200);
AT(wharf_host, print, 208);
AT(wharf_host, format, 216);
AT(wharf_host, format_time, 224);
AT(wharf_host, memory, 232);
AT(wharf_host, set, 240);
AT(wharf_host, set_string, 248);
AT(wharf_host, set_integer, 256);
AT(wharf_host, set_boolean, 264);
AT(wharf_host, remove, 272);
AT(wharf_host, take, 280);
AT(wharf_host, edit, 288);
AT(wharf_host, set_condition, 296);
AT(wharf_host, log, 304);
SIZE(wharf_host, 312);

AT(wharf_phase, size, 0);
AT(wharf_phase, phase, 8);
AT(wharf_phase, reason, 16);
AT(wharf_phase, message, 24);
AT(wharf_phase, since_ns, 32);
AT(wharf_phase, not_started, 40);
SIZE(wharf_phase, 48);

AT(wharf_phase_rule, pointer, 0);
AT(wharf_phase_rule, value, 8);
AT(wharf_phase_rule, status, 16);
AT(wharf_phase_rule, reason, 24);
AT(wharf_phase_rule, phase, 32);
AT(wharf_phase_rule, flags, 36);
AT(wharf_phase_rule, values, 40);
AT(wharf_phase_rule, key, 48);
SIZE(wharf_phase_rule, 56);

AT(wharf_carried, pointer, 0);
AT(wharf_carried, key, 8);
AT(wharf_carried, when, 16);
SIZE(wharf_carried, 24);

AT(wharf_pods, templates, 0);
AT(wharf_pods, counts, 8);
AT(wharf_pods, fallback, 16);
AT(wharf_pods, offset, 24);
AT(wharf_pods, flags, 28);
SIZE(wharf_pods, 32);

AT(wharf_reference, name, 0);
AT(wharf_reference, of, 8);
AT(wharf_reference, group, 16);
AT(wharf_reference, version, 24);
AT(wharf_reference, resource, 32);
AT(wharf_reference, kind, 40);
AT(wharf_reference, kind_at, 48);
AT(wharf_reference, namespace_, 56);
AT(wharf_reference, optional, 64);
AT(wharf_reference, flags, 72);
SIZE(wharf_reference, 80);

AT(wharf_status_change, change, 0);
AT(wharf_status_change, when, 4);
AT(wharf_status_change, name, 8);
AT(wharf_status_change, value, 16);
AT(wharf_status_change, reason, 24);
AT(wharf_status_change, message, 32);
SIZE(wharf_status_change, 40);

AT(wharf_kind, size, 0);
AT(wharf_kind, carried_size, 8);
AT(wharf_kind, pods_size, 12);
AT(wharf_kind, phase_rule_size, 16);
AT(wharf_kind, status_change_size, 20);
AT(wharf_kind, group, 24);
AT(wharf_kind, versions, 32);
AT(wharf_kind, kind, 40);
AT(wharf_kind, plural, 48);
AT(wharf_kind, flags, 56);
AT(wharf_kind, managed_by, 64);
AT(wharf_kind, managed_by_builtin, 72);
AT(wharf_kind, managed_by_allowed, 80);
AT(wharf_kind, managed_by_default, 88);
AT(wharf_kind, suspend, 96);
AT(wharf_kind, suspend_value, 104);
AT(wharf_kind, carried, 112);
AT(wharf_kind, removed, 120);
AT(wharf_kind, pods, 128);
AT(wharf_kind, status_removed, 136);
AT(wharf_kind, observed_generation, 144);
AT(wharf_kind, condition_time, 152);
AT(wharf_kind, suspended_status, 160);
AT(wharf_kind, resumed_status, 168);
AT(wharf_kind, phases, 176);
AT(wharf_kind, finished_at, 184);
AT(wharf_kind, phase, 192);
AT(wharf_kind, accept, 200);
AT(wharf_kind, mirror, 208);
AT(wharf_kind, update, 216);
AT(wharf_kind, status, 224);
AT(wharf_kind, pod_sets, 232);
AT(wharf_kind, gave_up_status, 240);
AT(wharf_kind, suspend_values, 248);
AT(wharf_kind, refused, 256);
AT(wharf_kind, suspend_type, 264);
AT(wharf_kind, reference_size, 268);
AT(wharf_kind, references, 272);
AT(wharf_kind, dependencies, 280);
AT(wharf_kind, progress, 288);
AT(wharf_kind, child_size, 296);
AT(wharf_kind, continuity_size, 300);
AT(wharf_kind, children, 304);
AT(wharf_kind, child_progress, 312);
AT(wharf_kind, continuity, 320);
SIZE(wharf_kind, 328);

AT(wharf_child, group, 0);
AT(wharf_child, version, 8);
AT(wharf_child, plural, 16);
AT(wharf_child, label, 24);
SIZE(wharf_child, 32);

AT(wharf_continuity, pointer, 0);
AT(wharf_continuity, name, 8);
SIZE(wharf_continuity, 16);

AT(wharf_module, size, 0);
AT(wharf_module, abi_major, 8);
AT(wharf_module, abi_minor, 12);
AT(wharf_module, name, 16);
AT(wharf_module, version, 24);
AT(wharf_module, kinds, 32);
AT(wharf_module, host, 40);
AT(wharf_module, settings, 48);
AT(wharf_module, start, 56);
AT(wharf_module, score, 64);
SIZE(wharf_module, 72);

#endif
