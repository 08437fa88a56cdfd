// SPDX-License-Identifier: Apache-2.0
// The type of every function and field in wharf/adapter.h, as C11 and as C++17: an assignment for each, which does not
// compile once a type is another one. See layout.c. Nothing here runs.
#include <wharf/adapter.h>

typedef const wharf_value *looked_at;

void looking(const wharf_host *h);
void making(const wharf_host *h);
void changing(const wharf_host *h);
void kind(const wharf_kind *k);
void rules(const wharf_phase_rule *r, const wharf_carried *w, const wharf_pods *p, const wharf_status_change *s);
void references(const wharf_reference *r);
void references(const wharf_reference *r) {
    const char *texts[] = {r->name, r->of,      r->group,      r->version, r->resource,
                           r->kind, r->kind_at, r->namespace_, r->optional};
    uint32_t flags = r->flags;
    (void)texts, (void)flags;
}

void others(const wharf_call *c, const wharf_module *m);

void looking(const wharf_host *h) {
    size_t size = h->size;
    uint32_t major = h->abi_major, minor = h->abi_minor;
    const char *version = h->version;
    wharf_type (*type)(looked_at) = h->type;
    looked_at (*find)(looked_at, const char *) = h->find;
    looked_at (*find_where)(looked_at, const char *, const char *, const char *) = h->find_where;
    const char *(*string)(looked_at) = h->string;
    int (*boolean)(looked_at, int) = h->boolean;
    int64_t (*integer)(looked_at, int64_t) = h->integer;
    double (*number)(looked_at, double) = h->number;
    size_t (*count)(looked_at) = h->count;
    looked_at (*first)(looked_at) = h->first;
    looked_at (*next)(looked_at) = h->next;
    const char *(*name)(looked_at) = h->name;
    int (*equal)(looked_at, looked_at) = h->equal;
    looked_at (*condition)(looked_at, const char *, const char *) = h->condition;
    int (*is)(looked_at, const char *, const char *) = h->is;
    int (*parse_time)(const char *, int64_t *) = h->parse_time;
    (void)size, (void)major, (void)minor, (void)version, (void)type, (void)find, (void)find_where, (void)string;
    (void)boolean, (void)integer, (void)number, (void)count, (void)first, (void)next, (void)name, (void)equal;
    (void)condition, (void)is, (void)parse_time;
}

void making(const wharf_host *h) {
    wharf_value *(*new_null)(const wharf_call *) = h->new_null;
    wharf_value *(*new_boolean)(const wharf_call *, int) = h->new_boolean;
    wharf_value *(*new_integer)(const wharf_call *, int64_t) = h->new_integer;
    wharf_value *(*new_string)(const wharf_call *, const char *) = h->new_string;
    wharf_value *(*new_array)(const wharf_call *) = h->new_array;
    wharf_value *(*new_object)(const wharf_call *) = h->new_object;
    wharf_value *(*copy)(const wharf_call *, looked_at) = h->copy;
    wharf_value *(*parse)(const wharf_call *, const char *, size_t) = h->parse;
    const char *(*print)(const wharf_call *, looked_at, size_t *) = h->print;
    void *(*memory)(const wharf_call *, size_t) = h->memory;
    const char *(*format_time)(const wharf_call *, int64_t) = h->format_time;
    const char *(*format)(const wharf_call *, const char *, ...) = h->format;
    void (*log)(const wharf_call *, wharf_log_level, const char *) = h->log;
    (void)new_null, (void)new_boolean, (void)new_integer, (void)new_string, (void)new_array, (void)new_object;
    (void)copy, (void)parse, (void)print, (void)memory, (void)format_time, (void)format, (void)log;
}

void changing(const wharf_host *h) {
    void (*set)(const wharf_call *, wharf_value *, const char *, looked_at) = h->set;
    void (*set_string)(const wharf_call *, wharf_value *, const char *, const char *) = h->set_string;
    void (*set_integer)(const wharf_call *, wharf_value *, const char *, int64_t) = h->set_integer;
    void (*set_boolean)(const wharf_call *, wharf_value *, const char *, int) = h->set_boolean;
    size_t (*remove)(const wharf_call *, wharf_value *, const char *) = h->remove;
    void (*take)(const wharf_call *, wharf_value *, looked_at, const char *) = h->take;
    wharf_value *(*edit)(const wharf_call *, wharf_value *, const char *) = h->edit;
    wharf_value *(*set_condition)(const wharf_call *, wharf_value *, const char *, const char *, const char *,
                                  const char *) = h->set_condition;
    (void)set, (void)set_string, (void)set_integer, (void)set_boolean, (void)remove, (void)take, (void)edit;
    (void)set_condition;
}

void kind(const wharf_kind *k) {
    size_t size = k->size;
    const char *texts[] = {k->group,
                           k->kind,
                           k->plural,
                           k->managed_by,
                           k->managed_by_builtin,
                           k->managed_by_default,
                           k->suspend,
                           k->suspend_value,
                           k->observed_generation,
                           k->finished_at,
                           k->condition_time,
                           k->refused};
    uint32_t sizes[] = {k->carried_size, k->pods_size, k->phase_rule_size, k->status_change_size, k->reference_size};
    const char *const *lists[] = {k->versions, k->managed_by_allowed, k->removed, k->status_removed, k->suspend_values};
    uint32_t flags = k->flags;
    wharf_type suspend_type = k->suspend_type;
    const wharf_carried *carried = k->carried;
    const wharf_pods *pods = k->pods;
    const wharf_phase_rule *phases = k->phases;
    const wharf_reference *references = k->references;
    const wharf_status_change *changes[] = {k->suspended_status, k->resumed_status, k->gave_up_status};
    wharf_result (*accept)(const wharf_call *, looked_at) = k->accept;
    wharf_result (*phase)(const wharf_call *, looked_at, wharf_phase *) = k->phase;
    wharf_result (*mirror)(const wharf_call *, looked_at, wharf_value *) = k->mirror;
    wharf_result (*update)(const wharf_call *, looked_at, looked_at, wharf_value *) = k->update;
    wharf_result (*status)(const wharf_call *, looked_at, looked_at, wharf_value *) = k->status;
    wharf_result (*pod_sets)(const wharf_call *, looked_at, wharf_value *) = k->pod_sets;
    wharf_result (*dependencies)(const wharf_call *, looked_at, wharf_value *) = k->dependencies;
    (void)size, (void)texts, (void)lists, (void)flags, (void)suspend_type, (void)carried, (void)pods, (void)phases;
    (void)sizes, (void)changes, (void)references, (void)accept, (void)dependencies;
    (void)phase, (void)mirror, (void)update, (void)status, (void)pod_sets;
}

void rules(const wharf_phase_rule *r, const wharf_carried *w, const wharf_pods *p, const wharf_status_change *s) {
    const char *texts[] = {r->pointer,   r->value,    r->status, r->reason, r->key,    w->pointer, w->key,
                           p->templates, p->fallback, s->name,   s->value,  s->reason, s->message};
    const char *const *counts = p->counts, *const *values = r->values;
    int32_t offset = p->offset;
    wharf_phase_kind phase = r->phase;
    uint32_t numbers[] = {r->flags, p->flags, w->when, s->change, s->when};
    (void)texts, (void)counts, (void)values, (void)offset, (void)phase, (void)numbers;
}

void others(const wharf_call *c, const wharf_module *m) {
    wharf_answer *answer = c->answer;
    size_t sizes[] = {c->size, answer->size, m->size};
    const char *texts[] = {c->now, c->cluster, c->version, answer->reason, answer->message, m->name, m->version};
    uint32_t numbers[] = {c->attempt, answer->retry_after_ms, m->abi_major, m->abi_minor};
    const wharf_kind *called = c->kind;
    const wharf_kind *const *kinds = m->kinds;
    const char *const *settings = m->settings;
    wharf_mirror_state state = c->mirror_state;
    wharf_phase phase = {sizeof(wharf_phase), WHARF_PENDING, texts[0], texts[1], c->now_ns, 1};
    int64_t *since_ns = &phase.since_ns;
    uint32_t *not_started = &phase.not_started;
    void *const *host_data = &c->host_data;
    const wharf_host **host = m->host;
    const char *(*start)(const wharf_host *, looked_at, const wharf_kind *const **) = m->start;
    wharf_result (*score)(const wharf_call *, looked_at, looked_at, looked_at, wharf_value *) = m->score;
    const wharf_module *symbol = &wharf_module_v1;
    (void)sizes, (void)numbers, (void)called, (void)kinds, (void)settings, (void)state, (void)since_ns,
        (void)not_started, (void)host_data, (void)host, (void)start, (void)score, (void)symbol;
}
