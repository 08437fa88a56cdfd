// SPDX-License-Identifier: Apache-2.0
// The references of a kind's data, the adapter's function, limits, and the resources that are named.
#include "core/adapter/adapters.h"
#include "tests/unit/adapter/references_stage.h"

#define TASK .group = "tekton.dev", .version = "v1", .resource = "tasks", .kind = "Task"
#define PIPELINE .group = "tekton.dev", .version = "v1", .resource = "pipelines", .kind = "Pipeline"
#define RUNTIME .group = "example.com", .version = "v1alpha1", .resource = "runtimes", .kind = "Runtime"
#define CLUSTER_RUNTIME                                                                                                \
    .group = "example.com", .version = "v1alpha1", .resource = "clusterruntimes", .kind = "ClusterRuntime"
#define CLUSTER WHARF_REFERENCE_CLUSTER_SCOPED

static const wharf_host *host;

static const struct {
    wharf_reference rows[4];
    const char *object, *expected;
} data[] = {
    {{{.name = "/spec/taskRef/name", TASK}},
     "{'metadata':{'namespace':'team'},'spec':{'taskRef':{'name':'build'}}}",
     "tasks.tekton.dev team/build at /spec/taskRef/name\n"},
    // Of the kind beside the name.
    {{{.name = "/spec/ref/name", .kind_at = "/spec/ref/kind", RUNTIME},
      {.name = "/spec/ref/name",
       .kind_at = "/spec/ref/kind",
       CLUSTER_RUNTIME,
       .flags = CLUSTER | WHARF_REFERENCE_KIND_DEFAULT}},
     "{'metadata':{'namespace':'team'},'spec':{'ref':{'name':'torch','kind':'Runtime'}}}",
     "runtimes.example.com team/torch at /spec/ref/name\n"},
    {{{.name = "/spec/ref/name", .kind_at = "/spec/ref/kind", RUNTIME},
      {.name = "/spec/ref/name",
       .kind_at = "/spec/ref/kind",
       CLUSTER_RUNTIME,
       .flags = CLUSTER | WHARF_REFERENCE_KIND_DEFAULT}},
     "{'metadata':{'namespace':'team'},'spec':{'ref':{'name':'torch'}}}",
     "clusterruntimes.example.com torch of the cluster at /spec/ref/name\n"},
    {{{.name = "/spec/ref/name", .kind_at = "/spec/ref/kind", RUNTIME, .flags = WHARF_REFERENCE_KIND_DEFAULT}},
     "{'metadata':{'namespace':'team'},'spec':{'ref':{'name':'torch','kind':'Other'}}}",
     ""},
    {{{.name = "/spec/ref/name", .kind_at = "/spec/ref/kind", RUNTIME, .flags = WHARF_REFERENCE_KIND_DEFAULT}},
     "{'metadata':{'namespace':'team'},'spec':{'ref':{'name':'torch','kind':7}}}",
     ""},
    // Stars pair the item of the name; of arrays and of objects, with any name.
    {{{.name = "/spec/steps/*/use/*/name",
       .kind_at = "/spec/steps/*/kind",
       .namespace_ = "/spec/steps/*/in",
       .optional = "/spec/steps/*/use/*/maybe",
       TASK}},
     "{'metadata':{'namespace':'team'},'spec':{'steps':[{'kind':'Task','use':{'x/"
     "~*':{'name':'a','maybe':true},'y':{"
     "'name':'b'}}},{'kind':'Other','use':[{'name':'c'}]},{'kind':'Task','in':'shared','use':[{'name':'a'}]}]}}",
     "tasks.tekton.dev shared/a at /spec/steps/2/use/0/name\n"
     "tasks.tekton.dev team/a optional at /spec/steps/0/use/x~1~0*/name\n"
     "tasks.tekton.dev team/b at /spec/steps/0/use/y/name\n"},
    // A namespace that is none; the workload's own twice.
    {{{.name = "/spec/*/name", .namespace_ = "/spec/*/namespace", TASK}},
     "{'metadata':{'namespace':'team'},'spec':{'a':{'name':'x','namespace':''},'b':{'name':'x','namespace':'team'},"
     "'c':{'name':'x','namespace':7},'d':{'name':'x','namespace':'$(y)'},'e':{'name':'x','namespace':'a.b'}}}",
     "tasks.tekton.dev team/x at /spec/a/name\n"},
    // In an annotation; always optional; made by the controller at one place.
    {{{.name = "/metadata/annotations/example.com~1task", TASK, .flags = WHARF_REFERENCE_OPTIONAL}},
     "{'metadata':{'namespace':'team','annotations':{'example.com/task':'a'}}}",
     "tasks.tekton.dev team/a optional at /metadata/annotations/example.com~1task\n"},
    {{{.name = "/spec/a", TASK, .flags = WHARF_REFERENCE_OPTIONAL}, {.name = "/spec/b", TASK}},
     "{'metadata':{'namespace':'team'},'spec':{'a':'x','b':'x'}}",
     "tasks.tekton.dev team/x at /spec/a\n"},
    {{{.name = "/spec/a", TASK}, {.name = "/spec/b", TASK, .flags = WHARF_REFERENCE_MADE}},
     "{'metadata':{'namespace':'team'},'spec':{'a':'x','b':'x'}}",
     "tasks.tekton.dev team/x made at /spec/a\n"},
    // Pods that `pods` does not have; the rows of other objects do not count.
    {{{.name = "/spec/sides/*", .flags = WHARF_REFERENCE_POD_SPECS},
      {.name = "/spec/template", .flags = WHARF_REFERENCE_PODS},
      {.name = "/spec/taskRef", .of = "pipelines.tekton.dev", TASK}},
     "{'metadata':{'namespace':'team'},'spec':{'taskRef':'a','sides':[{'imagePullSecrets':[{'name':'s'}]}],'"
     "template'"
     ":{'spec':{'volumes':[{'configMap':{'name':'c'}}]}}}}",
     "configmaps team/c at /spec/template/spec/volumes/0/configMap/name\n"
     "secrets team/s at /spec/sides/0/imagePullSecrets/0/name\n"},
    // Parts with the fields of containers and volumes.
    {{{.name = "/spec/steps/*", .flags = WHARF_REFERENCE_CONTAINERS},
      {.name = "/spec/template", .flags = WHARF_REFERENCE_CONTAINERS},
      {.name = "/spec/workspaces/*", .flags = WHARF_REFERENCE_VOLUMES}},
     "{'metadata':{'namespace':'team'},'spec':{'steps':[{'envFrom':[{'secretRef':{'name':'a'}}]},{'env':[{'"
     "valueFrom':{"
     "'configMapKeyRef':{'name':'b'}}}]}],'template':{'env':[{'valueFrom':{'secretKeyRef':{'name':'c'}}}]},"
     "'workspaces':[{'configMap':{'name':'d','optional':true}},{'persistentVolumeClaim':{'claimName':'e'}}],'"
     "volumes':"
     "[{'secret':{'secretName':'f'}}]}}",
     "configmaps team/b at /spec/steps/1/env/0/valueFrom/configMapKeyRef/name\n"
     "configmaps team/d optional at /spec/workspaces/0/configMap/name\n"
     "persistentvolumeclaims team/e at /spec/workspaces/1/persistentVolumeClaim/claimName\n"
     "secrets team/a at /spec/steps/0/envFrom/0/secretRef/name\n"
     "secrets team/c at /spec/template/env/0/valueFrom/secretKeyRef/name\n"},
};

static void a_kind_names_its_references(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        wharf_kind kind = {.references = data[i].rows};
        assert_references(&kind, data[i].object, data[i].expected);
    }
}

static void references_of_references_are_in_the_data_of_the_kind(void **state) {
    (void)state;
    const wharf_kind kind = {
        .references = REFERENCES({.name = "/spec/pipelineRef/name", PIPELINE},
                                 {.of = "pipelines.tekton.dev", .name = "/spec/tasks/*/taskRef/name", TASK},
                                 {.of = "pipelines.tekton.dev", .name = "/spec/pod", .flags = WHARF_REFERENCE_PODS},
                                 {.of = "clusterruntimes.example.com", .name = "/spec/task", TASK},
                                 {.of = "serviceaccounts", .name = "/task", TASK},
                                 {.name = "/spec/x", CLUSTER_RUNTIME, .flags = CLUSTER})};
    assert_references_of_object(&kind, "pipelines.tekton.dev",
                                "{'metadata':{'namespace':'team'},'spec':{'pipelineRef':{'name':'p'},'tasks':[{'"
                                "taskRef':{'name':'a'}},{}],'pod':"
                                "{'spec':{'serviceAccountName':'s'}}}}",
                                "serviceaccounts team/s at /spec/pod/spec/serviceAccountName\n"
                                "tasks.tekton.dev team/a at /spec/tasks/0/taskRef/name\n");
    // Of an object of the cluster: the workload's own namespace.
    assert_references_of_object(&kind, "clusterruntimes.example.com", "{'metadata':{},'spec':{'task':'t'}}",
                                "tasks.tekton.dev /t at /spec/task\n");
    // Also of built-in ones.
    assert_references_of_object(&kind, "serviceaccounts",
                                "{'metadata':{'namespace':'team'},'task':'t','imagePullSecrets':[{'name':'s'}]}",
                                "secrets team/s optional at /imagePullSecrets/0/name\n"
                                "tasks.tekton.dev team/t at /task\n");
}

#define MADE .flags = WHARF_REFERENCE_MADE
static void references_of_an_object_are_those_of_all_kinds_each_once(void **state) {
    (void)state;
    struct kind first = {.abi.references = REFERENCES({.of = "serviceaccounts", .name = "/task", TASK},
                                                      {.of = "serviceaccounts", .name = "/made", TASK, MADE},
                                                      {.of = "serviceaccounts", .name = "/both", TASK},
                                                      {.of = "serviceaccounts", .name = "/both", TASK, MADE})};
    struct kind none = {.plural_group = NULL};
    struct kind second = {.abi.references = REFERENCES({.of = "serviceaccounts", .name = "/other", TASK},
                                                       {.of = "serviceaccounts", .name = "/both", TASK})};
    struct kind *const kinds[] = {&first, &none, &second};
    static const char account[] = "{'metadata':{'namespace':'team'},'task':'t','other':'t','made':'m','both':'b',"
                                  "'imagePullSecrets':[{'name':'s'}]}";
    assert_references_by_kinds(kinds, 3, "serviceaccounts", account,
                               "secrets team/s optional at /imagePullSecrets/0/name\n"
                               "tasks.tekton.dev team/b at /both\n" // not made for the second kind
                               "tasks.tekton.dev team/m made at /made\n"
                               "tasks.tekton.dev team/t at /task\n");
    assert_references_by_kinds(kinds, 2, "serviceaccounts", account,
                               "secrets team/s optional at /imagePullSecrets/0/name\n"
                               "tasks.tekton.dev team/b made at /both\n"
                               "tasks.tekton.dev team/m made at /made\n"
                               "tasks.tekton.dev team/t at /task\n");
    assert_references_by_kinds(kinds, 0, "serviceaccounts", account, "");
}

static void pods_without_a_template_have_the_references_of_the_fallback(void **state) {
    (void)state;
    static const wharf_pods pods[] = {{.templates = "/spec/groups/*/leader", .fallback = "/spec/groups/*/worker"},
                                      {.templates = "/spec/spec", .flags = WHARF_PODS_ARE_SPECS},
                                      {.templates = NULL}};
    static const wharf_kind kind = {.pods = pods};
#define GROUP(member, name) "'" member "':{'spec':{'imagePullSecrets':[{'name':'" name "'}]}}"
    assert_references(&kind,
                      "{'metadata':{'namespace':'team'},'spec':{'groups':[{" GROUP("leader", "a") "," GROUP(
                          "worker", "b") "},{" GROUP("worker", "c") "}],'spec':{'serviceAccountName':'s'}}}",
                      "secrets team/a at /spec/groups/0/leader/spec/imagePullSecrets/0/name\n"
                      "secrets team/c at /spec/groups/1/worker/spec/imagePullSecrets/0/name\n"
                      "serviceaccounts team/s at /spec/spec/serviceAccountName\n");
#undef GROUP
}

static wharf_result more_pods(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    const wharf_value *wrapped = host->find(workload, "/spec/wrapped");
    if (!wrapped)
        return WHARF_RETRY;
    wharf_value *set = host->new_object(call);
    host->set(call, set, "/template", wrapped);
    host->set_integer(call, set, "/count", 1);
    host->set(call, sets, "/-", set);
    return WHARF_OK;
}

static wharf_result result_of(const wharf_kind *kind, const char *text, char message[1100]) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    AUTO_JSON object = parsed(text);
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = kind});
    wharf_result result = references_of(&call, object, &found);
    snprintf(message, 1100, "%s", adapter_answer_message(&call, ""));
    assert_true(result == WHARF_OK || (found.count == 0 && !found.list));
    adapter_call_end(&call);
    return result;
}

static void pods_of_the_function_count_as_well(void **state) {
    (void)state;
    static const wharf_kind kind = {.pod_sets = more_pods};
    char message[1100];
    assert_references(
        &kind, "{'metadata':{'namespace':'team'},'spec':{'wrapped':{'spec':{'imagePullSecrets':[{'name':'a'}]}}}}",
        "secrets team/a at pods/0/template/spec/imagePullSecrets/0/name\n");
    assert_int_equal(result_of(&kind, "{}", message), WHARF_RETRY);
}

// Makes of the list what the workload says: /add is appended, /remove are indexes.
static wharf_result change(const wharf_call *call, const wharf_value *workload, wharf_value *list) {
    for (const wharf_value *at = host->first(host->find(workload, "/remove")); at; at = host->next(at))
        host->remove(call, list, host->format(call, "/%d", (int)host->integer(at, -1)));
    for (const wharf_value *item = host->first(host->find(workload, "/add")); item; item = host->next(item))
        host->set(call, list, "/-", item);
    const wharf_value *replaced = host->find(workload, "/is");
    if (replaced && !host->equal(replaced, list)) {
        call->answer->message = host->print(call, list, NULL);
        return WHARF_REFUSED;
    }
    return WHARF_OK;
}

static const wharf_pods template[] = {{.templates = "/spec/template"}, {.templates = NULL}};
static const wharf_kind changing = {
    .pods = template, .dependencies = change, .references = REFERENCES({.name = "/spec/taskRef/name", TASK})};

#define TEAM "'metadata':{'namespace':'team'}"

static void the_function_changes_the_list(void **state) {
    (void)state;
    char message[1100];
    assert_references(&changing, "{" TEAM ",'spec':{'taskRef':{'name':'a'}}}",
                      "tasks.tekton.dev team/a at /spec/taskRef/name\n");
    // The whole list, as it is documented.
    wharf_result result = result_of(
        &changing,
        "{" TEAM ",'spec':{'taskRef':{'name':'a'},'template':{'spec':{'priorityClassName':'high'}}},'is':[{'resource':"
        "'priorityclasses.scheduling.k8s.io','name':'high','where':'/spec/template/spec/priorityClassName','optional':"
        "false,'made':false},{'resource':'tasks.tekton.dev','namespace':'team','name':'a','where':'/spec/taskRef/name',"
        "'optional':false,'made':false}]}",
        message);
    if (result != WHARF_OK)
        fail_msg("%s", message);
    assert_references(&changing, "{" TEAM ",'spec':{'taskRef':{'name':'a'}},'remove':[0]}", "");
    assert_references(
        &changing,
        "{" TEAM ",'spec':{'taskRef':{'name':'a'}},'remove':[0],'add':[{'resource':'tasks.tekton.dev','name':'b'},{"
        "'resource':'secrets','namespace':'shared','name':'s','optional':true,'where':'/spec/x'},{"
        "'resource':'storageclasses.storage.k8s.io','namespace':'none','name':'fast','made':true},{"
        "'resource':'secrets','namespace':'shared','name':'s'}]}",
        "secrets shared/s at /spec/x\n"
        "storageclasses.storage.k8s.io fast made of the cluster at \n"
        "tasks.tekton.dev team/b at \n");
}

static void wrong_items_of_the_function_are_refused_with_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *item, *expected;
    } cases[] = {
        {"7", "item 1 has the resource \"\""},
        {"{}", "item 1 has the resource \"\""},
        {"{'resource':'things.example.com','name':'a'}",
         "item 1 has the resource \"things.example.com\", expected one"},
        {"{'resource':'tasks','name':'a'}", "item 1 has the resource \"tasks\""},
        {"{'resource':7,'name':'a'}", "item 1 has the resource \"\""},
        {"{'resource':'secrets'}", "item 1 has the name \"\""},
        {"{'resource':'secrets','name':'A'}", "item 1 has the name \"A\""},
        {"{'resource':'secrets','name':{'a':1}}", "item 1 has the name \"\""},
        {"{'resource':'secrets','name':'a','namespace':'X'}", "item 1 has the namespace \"X\""},
    };
    char message[1100];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT object = text_format("{" TEAM ",'add':[%s]}", cases[i].item);
        assert_int_equal(result_of(&changing, object, message), WHARF_REFUSED);
        if (!strstr(message, cases[i].expected))
            fail_msg("%s: found \"%s\", expected \"%s\"", cases[i].item, message, cases[i].expected);
    }
    assert_int_equal(result_of(&changing, "{'add':[{'resource':'secrets','name':'a'}]}", message), WHARF_REFUSED);
}

// `count` secrets, each at two places.
static char *with_secrets(size_t count) {
    AUTO_BUFFER(text, 1 << 20);
    buffer_text(&text, "{" TEAM ",'spec':{'template':{'spec':{'imagePullSecrets':[{}");
    for (size_t i = 0; i < 2 * count; i++)
        buffer_printf(&text, ",{'name':'s%zu'}", i % count);
    buffer_text(&text, "]}}}}");
    return buffer_take(&text, NULL);
}

static void more_than_the_limit_is_refused(void **state) {
    (void)state;
    static const wharf_kind kind = {.pods = template};
    char message[1100];
    AUTO_TEXT most = with_secrets(REFERENCES_MAX);
    AUTO_TEXT more = with_secrets(REFERENCES_MAX + 1);
    assert_int_equal(result_of(&kind, most, message), WHARF_OK);
    assert_int_equal(result_of(&changing, most, message), WHARF_OK);
    assert_int_equal(result_of(&kind, more, message), WHARF_REFUSED);
    assert_string_equal(message, "found references to more than 64 objects, expected at most that many of a workload");
    AUTO_BUFFER(text, 1 << 20);
    buffer_text(&text, "{" TEAM ",'add':[{'resource':'secrets','name':'a'}");
    for (size_t i = 0; i < REFERENCES_MAX; i++)
        buffer_printf(&text, ",{'resource':'secrets','name':'s%zu'}", i);
    buffer_text(&text, "]}");
    message[0] = '\0';
    assert_int_equal(result_of(&changing, text.data, message), WHARF_REFUSED);
    assert_non_null(strstr(message, "more than 64 objects"));
    // Of an object: one more than the limit, and the caller decides.
    buffer_reset(&text);
    buffer_text(&text, "{'imagePullSecrets':[{}");
    for (size_t i = 0; i < 100; i++)
        buffer_printf(&text, ",{'name':'s%zu'}", i);
    buffer_text(&text, "]}");
    struct kind of = {.plural_group = NULL};
    struct kind *const kinds[] = {&of, &of};
    struct references found;
    AUTO_JSON account = parsed(text.data);
    assert_true(references_of_object(kinds, 2, "serviceaccounts", account, &found));
    assert_int_equal(found.count, REFERENCES_MAX + 1);
    references_clear(&found);
}

static void resources_are_listed_once(void **state) {
    (void)state;
    struct kind first = {.abi.references = REFERENCES({.name = "/spec/a", TASK},
                                                      {.name = "/spec/pods", .flags = WHARF_REFERENCE_PODS},
                                                      {.name = "/spec/b", CLUSTER_RUNTIME, .flags = CLUSTER})};
    struct kind none = {.plural_group = NULL};
    struct kind second = {.abi.references = REFERENCES({.name = "/spec/a", TASK}, {.name = "/spec/b", PIPELINE})};
    struct kind *kinds[] = {&first, &none, &second};
    struct reference_resource at, found;
    AUTO_BUFFER(all, 65536);
    size_t count = 0;
    for (; reference_resource_at(kinds, 3, count, &at); count++) {
        buffer_printf(&all, " %s ", at.resource);
        assert_true(reference_resource_find(kinds, 3, at.resource, &found));
        assert_string_equal(at.version, found.version);
        assert_string_equal(at.kind, found.kind);
        assert_int_equal(at.cluster_scoped, found.cluster_scoped);
    }
    static const char *const names[] = {
        "configmaps",
        "secrets",
        "serviceaccounts",
        "persistentvolumeclaims",
        "storageclasses.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
        "priorityclasses.scheduling.k8s.io",
        "runtimeclasses.node.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "podgroups.scheduling.k8s.io",
        "workloads.scheduling.k8s.io",
        "tasks.tekton.dev",
        "clusterruntimes.example.com",
        "pipelines.tekton.dev",
    };
    assert_int_equal(count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AUTO_TEXT name = text_format(" %s ", names[i]);
        if (!strstr(all.data, name))
            fail_msg("%s is not in%s", names[i], all.data);
    }
    assert_false(reference_resource_find(kinds, 3, "things.example.com", &found));
    assert_false(reference_resource_find(NULL, 0, "tasks.tekton.dev", &found));
    assert_true(reference_resource_find(kinds, 1, "clusterruntimes.example.com", &found));
    assert_true(found.cluster_scoped);
    assert_string_equal(found.version, "v1alpha1");
}

static void some_resources_refer_to_others(void **state) {
    (void)state;
    struct kind first = {.abi.references = REFERENCES({.name = "/spec/a", TASK},
                                                      {.name = "/spec/b", .of = "tasks.tekton.dev", PIPELINE})};
    struct kind *kinds[] = {&first};
    assert_true(reference_resource_refers(kinds, 1, "serviceaccounts"));
    assert_true(reference_resource_refers(NULL, 0, "persistentvolumeclaims"));
    assert_true(reference_resource_refers(kinds, 1, "tasks.tekton.dev"));
    assert_false(reference_resource_refers(NULL, 0, "tasks.tekton.dev"));
    assert_false(reference_resource_refers(kinds, 1, "pipelines.tekton.dev"));
    assert_false(reference_resource_refers(kinds, 1, "secrets"));
}

int main(void) {
    host = services_table();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_names_its_references),
        cmocka_unit_test(references_of_references_are_in_the_data_of_the_kind),
        cmocka_unit_test(references_of_an_object_are_those_of_all_kinds_each_once),
        cmocka_unit_test(pods_without_a_template_have_the_references_of_the_fallback),
        cmocka_unit_test(pods_of_the_function_count_as_well),
        cmocka_unit_test(the_function_changes_the_list),
        cmocka_unit_test(wrong_items_of_the_function_are_refused_with_a_sentence),
        cmocka_unit_test(more_than_the_limit_is_refused),
        cmocka_unit_test(resources_are_listed_once),
        cmocka_unit_test(some_resources_refer_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
