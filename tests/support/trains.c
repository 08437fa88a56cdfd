// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trains.h"

#include "core/base/text.h"

struct kind *train;

int train_setup(void **state) {
    (void)state;
    struct error *error = kind_check(&train_given, NULL, "wharf.dev/host", &train);
    error_free(error);
    return error ? 1 : 0;
}

int train_teardown(void **state) {
    (void)state;
    kind_free(train);
    return 0;
}

wharf_result train_status(const struct mirror_context *context, struct json **out) {
    uint64_t wanted;
    return mirror_status(context, out, &wanted);
}

wharf_result train_ask(train_question *question, const struct mirror_context *about, struct json **out, char *said,
                       size_t said_size) {
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &train->abi, .given = train->given, .version = "v1"});
    struct mirror_context context = *about;
    context.kind = train;
    context.origin = "here";
    context.call = &call;
    wharf_result result = question(&context, out);
    if (said)
        text_copy(said, said_size, call.answer.message ? call.answer.message : "");
    adapter_call_end(&call);
    return result;
}
