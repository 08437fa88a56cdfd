// SPDX-License-Identifier: Apache-2.0
// The decision about one copy: a pure function of the facts.
#include "core/engine/dependencies/dependency.h"

static struct copy_action nothing(void) {
    return (struct copy_action){.type = COPY_NOTHING};
}

// `type`, but not before the time of the next request.
static struct copy_action when_due(const struct copy_facts *f, enum copy_action_type type) {
    return f->not_before_ns > f->now_ns ? (struct copy_action){.type = COPY_WAIT, .at_ns = f->not_before_ns}
                                        : (struct copy_action){.type = type};
}

// D5, D8: nobody needs the object.
static struct copy_action unused(const struct copy_facts *f) {
    bool own = f->owner == COPY_OWN, named = f->owner == COPY_ORIGIN && f->also_used;
    if (f->there != PRESENCE_THERE || (!own && !named))
        return (struct copy_action){.type = f->remembered ? COPY_NOTHING : COPY_FORGET};
    int64_t at_ns = clock_after(f->unused_ns, DEPENDENCY_LINGER_NS);
    if (at_ns > f->now_ns)
        return (struct copy_action){.type = COPY_WAIT, .at_ns = at_ns};
    return when_due(f, named ? COPY_NO_LONGER_USE : f->shared ? COPY_HAND_OVER : COPY_DELETE);
}

// D7: an object of another writer, or of another host.
static struct copy_action other(const struct copy_facts *f) {
    if (!f->compared)
        return when_due(f, COPY_COMPARE);
    if (f->owner == COPY_GIVEN && f->equal)
        return when_due(f, COPY_CHANGE);
    return f->owner == COPY_ORIGIN && f->equal && !f->also_used ? when_due(f, COPY_ALSO_USE) : nothing();
}

struct copy_action copy_decide(const struct copy_facts *f) {
    if (f->busy)
        return nothing();
    if (!f->kept && f->there != PRESENCE_THERE)
        return (struct copy_action){.type = f->remembered ? COPY_NOTHING : COPY_FORGET};
    bool compares = f->wanted && f->there == PRESENCE_THERE && f->owner != COPY_OWN && !f->compared &&
                    f->source == PRESENCE_THERE && (f->use == DEPENDENCY_COPIED || f->compares);
    bool creates = f->wanted && f->there == PRESENCE_ABSENT && f->creates;
    if (!f->usable || (!f->held && !compares && !creates))
        return nothing();
    if (!f->held && compares) // D11: to know, without a write
        return when_due(f, COPY_COMPARE);
    if (!f->kept)
        return unused(f);
    if (f->use == DEPENDENCY_CHECKED && f->compares && f->wanted && f->source == PRESENCE_THERE &&
        f->there == PRESENCE_THERE && !f->compared)
        return when_due(f, COPY_COMPARE);
    bool own = f->there == PRESENCE_THERE && f->owner == COPY_OWN;
    if ((!f->wanted && !own) || f->use != DEPENDENCY_COPIED || f->source != PRESENCE_THERE ||
        f->there == PRESENCE_UNKNOWN)
        return nothing();
    if (f->there == PRESENCE_ABSENT)
        return f->consents ? when_due(f, COPY_CREATE) : nothing();
    if (f->owner != COPY_OWN)
        return other(f);
    if (f->marked)
        return nothing();
    return when_due(f, f->recreate ? COPY_DELETE : COPY_CHANGE);
}
