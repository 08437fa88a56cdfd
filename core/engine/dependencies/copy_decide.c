// SPDX-License-Identifier: Apache-2.0
// The decision about one copy: a pure function of the facts.
#include "core/engine/dependencies/dependency.h"

// D5, D8: nobody needs the object.
static enum copy_action_type unused(const struct copy_facts *f) {
    bool used = f->copy.state == COPY_ORIGIN && f->copy.also_used;
    if (copy_is_there(&f->copy) && (!f->usable || !f->held))
        return COPY_NOTHING;
    if (f->copy.state != COPY_OWN && !used)
        return f->need == COPY_REMEMBERED ? COPY_NOTHING : COPY_FORGET;
    return used || f->copy.shared ? COPY_LEAVE : COPY_DELETE;
}

// Whether the host has to know if the object there has the content of the source: D7, D11 also without a write.
static bool must_compare(const struct copy_facts *f) {
    bool matters =
        f->use == DEPENDENCY_CHECKED ? f->compares : f->use == DEPENDENCY_COPIED && f->copy.state != COPY_OWN;
    return f->need == COPY_WANTED && f->source == PRESENCE_THERE && copy_is_there(&f->copy) && !f->compared && matters;
}

// An object of another writer or host, with equal content.
static bool may_take(const struct copy_facts *f) {
    return f->need == COPY_WANTED && f->copy.equal &&
           (f->copy.state == COPY_GIVEN || (f->copy.state == COPY_ORIGIN && !f->copy.also_used));
}

static enum copy_action_type used(const struct copy_facts *f) {
    if (!f->usable)
        return COPY_NOTHING;
    if (must_compare(f))
        return COPY_COMPARE;
    if (f->use != DEPENDENCY_COPIED || f->source != PRESENCE_THERE)
        return COPY_NOTHING;
    if (f->copy.state == COPY_ABSENT)
        return f->need == COPY_WANTED && f->consents && (f->held || f->creates) ? COPY_CREATE : COPY_NOTHING;
    if (!f->held || (f->copy.state == COPY_OWN ? f->current : !may_take(f)))
        return COPY_NOTHING;
    return f->copy.state == COPY_OWN && f->copy.recreate ? COPY_DELETE : COPY_COMPARE;
}

struct copy_action copy_decide(const struct copy_facts *f) {
    bool kept = f->need >= COPY_KEPT;
    enum copy_action_type type = f->copy.busy ? COPY_NOTHING : kept ? used(f) : unused(f);
    bool requests = type != COPY_NOTHING && type != COPY_FORGET;
    int64_t at_ns = kept ? f->copy.not_before_ns
                         : clock_later(f->copy.not_before_ns, clock_after(f->unused_ns, DEPENDENCY_LINGER_NS));
    return requests && at_ns > f->now_ns ? (struct copy_action){.type = COPY_WAIT, .at_ns = at_ns}
                                         : (struct copy_action){.type = type};
}
