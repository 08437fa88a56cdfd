// SPDX-License-Identifier: Apache-2.0
// Adapters that nest values deeper than JSON may be, part by part, where no single change shows it.
#include "core/adapter/services.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOO_DEEP "nested deeper than 512 levels"

static int levels; // to which nest() goes

// Puts objects into each other until `object`, itself level 1, has this many levels. Gives the innermost one.
static wharf_value *nest(const wharf_call *call, wharf_value *object) {
    const wharf_host *host = services_table();
    for (int level = 1; level < levels; level++) {
        host->set(call, object, "/a", host->new_object(call));
        object = host->edit(call, object, "/a");
    }
    return object;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *object) {
    (void)workload;
    nest(call, object);
    return WHARF_OK;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *seen,
                           wharf_value *object) {
    (void)workload, (void)seen;
    nest(call, object);
    return WHARF_OK;
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    const wharf_host *host = services_table();
    (void)workload;
    host->set(call, sets, "/-", host->new_object(call));
    levels--; // the array is one
    nest(call, host->edit(call, sets, "/0"));
    levels++;
    return WHARF_OK;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *seen,
                           wharf_value *object) {
    (void)workload, (void)seen;
    levels -= 3; // object, status, conditions
    nest(call, services_table()->set_condition(call, object, "A", "True", NULL, NULL));
    levels += 3;
    return WHARF_OK;
}

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call, (void)object;
    out->phase = WHARF_PENDING;
    return WHARF_OK;
}

static const wharf_kind kind = {.size = sizeof(wharf_kind),
                                .kind = "Thing",
                                .plural = "things",
                                .phase = phase,
                                .mirror = mirror,
                                .update = update,
                                .status = status,
                                .pod_sets = pod_sets};

static void begin(struct adapter_call *call) {
    adapter_call_begin(call, &(struct call_context){.kind = &kind, .version = "v1"});
}

enum function { MIRROR, UPDATE, STATUS, POD_SETS, FUNCTIONS };

static wharf_result call_it(enum function function, struct adapter_call *call, struct json *object) {
    AUTO_JSON empty = json_new_object();
    switch (function) {
    case MIRROR:
        return adapter_mirror(call, empty, object);
    case UPDATE:
        return adapter_update(call, empty, empty, object);
    case STATUS:
        return adapter_status(call, empty, empty, object);
    default:
        return adapter_pod_sets(call, empty, object);
    }
}

static void a_result_that_is_nested_too_deep_is_refused_with_a_sentence(void **state) {
    (void)state;
    for (int function = 0; function < FUNCTIONS; function++)
        for (levels = JSON_MAX_DEPTH - 1; levels <= 400 * JSON_MAX_DEPTH;
             levels += levels <= JSON_MAX_DEPTH ? 1 : 50000) {
            struct adapter_call call;
            begin(&call);
            AUTO_JSON object = function == POD_SETS ? json_new_array() : json_new_object();
            wharf_result result = call_it((enum function)function, &call, object);
            AUTO_TEXT text = json_text(object, NULL);
            bool fits = levels <= JSON_MAX_DEPTH;
            assert_int_equal(!!text, fits); // the limit is where the test expects it
            assert_int_equal(result, fits ? WHARF_OK : WHARF_REFUSED);
            if (!fits && !strstr(adapter_answer_message(&call, ""), TOO_DEEP))
                fail_msg("function %d: found \"%s\"", function, adapter_answer_message(&call, ""));
            adapter_call_end(&call);
        }
}

static wharf_value *too_deep(struct adapter_call *call) {
    wharf_value *root = services_table()->new_object(&call->call);
    levels = JSON_MAX_DEPTH + 1;
    nest(&call->call, root);
    assert_int_equal(call->failure, WHARF_OK);
    return root;
}

static void assert_refused(struct adapter_call *call, const char *says) {
    if (call->failure != WHARF_REFUSED || !strstr(call->failed, says))
        fail_msg("found result %d, \"%s\"; expected \"%s\"", (int)call->failure, call->failed ? call->failed : "",
                 says);
    call->failure = WHARF_OK;
    call->failed = NULL;
}

static void what_is_nested_too_deep_is_not_out_of_memory(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call);
    const wharf_call *c = &call.call;
    wharf_value *deep = too_deep(&call), *to = host->new_object(c);
    assert_null(host->copy(c, deep));
    assert_refused(&call, "a value cannot be copied: it is " TOO_DEEP);
    assert_null(host->print(c, deep, NULL));
    assert_refused(&call, "a value cannot be printed: it is " TOO_DEEP);
    host->set(c, to, "/x", deep);
    assert_refused(&call, TOO_DEEP);
    host->set(c, to, "", deep);
    assert_refused(&call, TOO_DEEP);
    host->take(c, to, deep, "");
    assert_refused(&call, "\"\": cannot be set: it would be nested too deep");
    host->set(c, to, "/l", host->new_object(c));
    host->set(c, to, "/l/a", host->new_object(c));
    host->set(c, to, "/*/a", deep);
    assert_refused(&call, TOO_DEEP);
    wharf_value *list = host->new_object(c);
    host->set(c, list, "/l", host->new_object(c));
    nest(c, host->edit(c, list, "/l"));
    host->take(c, to, list, "/*/a");
    assert_int_equal(call.failure, WHARF_OK); // as deep as it may be
    levels++;
    nest(c, host->edit(c, list, "/l"));
    host->take(c, to, list, "/*/a");
    assert_refused(&call, TOO_DEEP);
    host->take(c, to, list, "/l/*");
    assert_refused(&call, TOO_DEEP);
    adapter_call_end(&call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_is_nested_too_deep_is_refused_with_a_sentence),
        cmocka_unit_test(what_is_nested_too_deep_is_not_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
