// SPDX-License-Identifier: Apache-2.0
// The references that Kubernetes itself has: of pods, and of the objects that pods refer to.
#include "tests/unit/adapter/references_stage.h"

static const wharf_pods pods[] = {{.templates = "/spec/template"}, {.templates = NULL}};
static const wharf_kind job = {.pods = pods};

#define POD(spec) "{'metadata':{'namespace':'team'},'spec':{'template':{'spec':{" spec "}}}}"
#define AT " at /spec/template/spec"

static void each_field_of_a_pod_that_names_an_object_is_a_reference(void **state) {
    (void)state;
    static const struct {
        const char *spec, *expected;
    } cases[] = {
        {"", ""},
        {"'volumes':[{'configMap':{'name':'a'}}]", "configmaps team/a" AT "/volumes/0/configMap/name\n"},
        {"'volumes':[{},{'secret':{'secretName':'a'}}]", "secrets team/a" AT "/volumes/1/secret/secretName\n"},
        {"'volumes':[{'projected':{'sources':[{'configMap':{'name':'a'}},{'secret':{'name':'b','optional':true}},"
         "{'serviceAccountToken':{'path':'t'}},{'downwardAPI':{}}]}}]",
         "configmaps team/a" AT "/volumes/0/projected/sources/0/configMap/name\n"
         "secrets team/b optional" AT "/volumes/0/projected/sources/1/secret/name\n"},
        {"'volumes':[{'projected':{'sources':[{'clusterTrustBundle':{'name':'example.com:signer:a'}},"
         "{'clusterTrustBundle':{'name':'b','optional':true}},{'clusterTrustBundle':{'signerName':'example.com/"
         "c'}}]}}]",
         "clustertrustbundles.certificates.k8s.io b optional of the cluster" AT
         "/volumes/0/projected/sources/1/clusterTrustBundle/name\n"
         "clustertrustbundles.certificates.k8s.io example.com:signer:a of the cluster" AT
         "/volumes/0/projected/sources/0/clusterTrustBundle/name\n"},
        {"'containers':[{'envFrom':[{'configMapRef':{'name':'a'}},{'secretRef':{'name':'b','optional':true}}]}]",
         "configmaps team/a" AT "/containers/0/envFrom/0/configMapRef/name\n"
         "secrets team/b optional" AT "/containers/0/envFrom/1/secretRef/name\n"},
        {"'initContainers':[{'env':[{'value':'x'},{'valueFrom':{'configMapKeyRef':{'name':'a','key':'k','optional':true"
         "}}},{'valueFrom':{'secretKeyRef':{'name':'b','key':'k'}}},{'valueFrom':{'fieldRef':{'name':'c'}}}]}]",
         "configmaps team/a optional" AT "/initContainers/0/env/1/valueFrom/configMapKeyRef/name\n"
         "secrets team/b" AT "/initContainers/0/env/2/valueFrom/secretKeyRef/name\n"},
        {"'imagePullSecrets':[{'name':'pull'},{}]", "secrets team/pull" AT "/imagePullSecrets/0/name\n"},
        {"'volumes':[{'azureFile':{'secretName':'a'}},{'cephfs':{'secretRef':{'name':'b'}}},{'cinder':{'secretRef':{"
         "'name':'c'}}},{'csi':{'nodePublishSecretRef':{'name':'d'}}},{'flexVolume':{'secretRef':{'name':'e'}}},"
         "{'iscsi':{'secretRef':{'name':'f'}}},{'rbd':{'secretRef':{'name':'g'}}},{'scaleIO':{'secretRef':{'name':'h'}"
         "}},{'storageos':{'secretRef':{'name':'i'}}}]",
         "secrets team/a" AT "/volumes/0/azureFile/secretName\n"
         "secrets team/b" AT "/volumes/1/cephfs/secretRef/name\n"
         "secrets team/c" AT "/volumes/2/cinder/secretRef/name\n"
         "secrets team/d" AT "/volumes/3/csi/nodePublishSecretRef/name\n"
         "secrets team/e" AT "/volumes/4/flexVolume/secretRef/name\n"
         "secrets team/f" AT "/volumes/5/iscsi/secretRef/name\n"
         "secrets team/g" AT "/volumes/6/rbd/secretRef/name\n"
         "secrets team/h" AT "/volumes/7/scaleIO/secretRef/name\n"
         "secrets team/i" AT "/volumes/8/storageos/secretRef/name\n"},
        {"'volumes':[{'persistentVolumeClaim':{'claimName':'data'}}]",
         "persistentvolumeclaims team/data" AT "/volumes/0/persistentVolumeClaim/claimName\n"},
        {"'volumes':[{'ephemeral':{'volumeClaimTemplate':{'spec':{'storageClassName':'fast','volumeAttributesClassName'"
         ":'gold','dataSource':{'kind':'PersistentVolumeClaim','name':'base'}}}}}]",
         "persistentvolumeclaims team/base" AT "/volumes/0/ephemeral/volumeClaimTemplate/spec/dataSource/name\n"
         "storageclasses.storage.k8s.io fast of the cluster" AT
         "/volumes/0/ephemeral/volumeClaimTemplate/spec/storageClassName\n"
         "volumeattributesclasses.storage.k8s.io gold of the cluster" AT
         "/volumes/0/ephemeral/volumeClaimTemplate/spec/volumeAttributesClassName\n"},
        {"'volumes':[{'ephemeral':{'volumeClaimTemplate':{'spec':{'dataSource':{'kind':'VolumeSnapshot','name':'s'}}}}"
         "}]",
         ""},
        {"'serviceAccountName':'runner','serviceAccount':'runner','priorityClassName':'high','runtimeClassName':'"
         "gvisor'",
         "priorityclasses.scheduling.k8s.io high of the cluster" AT "/priorityClassName\n"
         "runtimeclasses.node.k8s.io gvisor of the cluster" AT "/runtimeClassName\n"
         "serviceaccounts team/runner" AT "/serviceAccountName\n"},
        {"'serviceAccount':'older'", "serviceaccounts team/older" AT "/serviceAccount\n"},
        {"'resourceClaims':[{'name':'x','resourceClaimName':'a'},{'name':'y','resourceClaimTemplateName':'b'}]",
         "resourceclaims.resource.k8s.io team/a" AT "/resourceClaims/0/resourceClaimName\n"
         "resourceclaimtemplates.resource.k8s.io team/b" AT "/resourceClaims/1/resourceClaimTemplateName\n"},
        {"'schedulingGroup':{'podGroupName':'gang'}",
         "podgroups.scheduling.k8s.io team/gang" AT "/schedulingGroup/podGroupName\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT object =
            text_format("{'metadata':{'namespace':'team'},'spec':{'template':{'spec':{%s}}}}", cases[i].spec);
        assert_references(&job, object, cases[i].expected);
    }
}

static void what_each_cluster_makes_itself_is_no_reference(void **state) {
    (void)state;
    assert_references(&job,
                      POD("'serviceAccountName':'default','priorityClassName':'system-node-critical','volumes':[{"
                          "'configMap':{'name':'kube-root-ca.crt'}},{'projected':{'sources':[{'configMap':{'name'"
                          ":'kube-root-ca.crt'}}]}},{'secret':{'secretName':'default'}}]"),
                      "secrets team/default" AT "/volumes/2/secret/secretName\n");
}

static void an_object_is_optional_only_if_it_is_so_everywhere(void **state) {
    (void)state;
#define ENV(optional) "{'valueFrom':{'secretKeyRef':{'name':'s','optional':" optional "}}}"
    assert_references(&job, POD("'containers':[{'env':[" ENV("true") "," ENV("true") "]}]"),
                      "secrets team/s optional" AT "/containers/0/env/0/valueFrom/secretKeyRef/name\n");
    assert_references(&job, POD("'containers':[{'env':[" ENV("true") "," ENV("false") "]}]"),
                      "secrets team/s" AT "/containers/0/env/0/valueFrom/secretKeyRef/name\n");
    assert_references(&job, POD("'containers':[{'env':[" ENV("false") "," ENV("true") "]}]"),
                      "secrets team/s" AT "/containers/0/env/0/valueFrom/secretKeyRef/name\n");
    assert_references(&job, POD("'containers':[{'env':[" ENV("true") ",{}]}],'imagePullSecrets':[{'name':'s'}]"),
                      "secrets team/s" AT "/containers/0/env/0/valueFrom/secretKeyRef/name\n");
    assert_references(&job, POD("'containers':[{'env':[" ENV("'true'") "]}]"),
                      "secrets team/s" AT "/containers/0/env/0/valueFrom/secretKeyRef/name\n");
#undef ENV
}

static void a_text_that_is_no_name_is_no_reference(void **state) {
    (void)state;
    static const char *const names[] = {"''",    "'$(params.x)'", "'{{x}}'",    "'UPPER'", "'a/b'", "'..'",
                                        "'-a'",  "'a-'",          "'a b'",      "7",       "null",  "{}",
                                        "['a']", "true",          "'a\\u0000'", "'%2e'",   "'a?b'", "'\xc3\xa9'"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AUTO_TEXT object = text_format(POD("'imagePullSecrets':[{'name':%s}],'volumes':[{'configMap':{'name':%s}}]"),
                                       names[i], names[i]);
        assert_references(&job, object, "");
    }
    char longest[255] = "", object[1024];
    memset(longest, 'a', 254);
    for (int len = 254; len > 252; len--) {
        longest[len] = '\0';
        snprintf(object, sizeof object, POD("'imagePullSecrets':[{'name':'%s'}]"), longest);
        AUTO_TEXT found = text_format("secrets team/%s" AT "/imagePullSecrets/0/name\n", longest);
        assert_references(&job, object, len == 254 ? "" : found);
    }
}

static void fields_of_a_wrong_type_are_no_reference(void **state) {
    (void)state;
    static const char *const specs[] = {
        "'volumes':7",
        "'volumes':[7,null,[],'x']",
        "'volumes':[{'configMap':[{'name':'a'}]},{'secret':'a'},{'projected':{'sources':{'a':7}}}]",
        "'containers':{'env':[{'valueFrom':{'secretKeyRef':{'name':'a'}}}]}",
        "'containers':[{'env':'a','envFrom':{'secretRef':{'name':'a'}}}]",
        "'imagePullSecrets':'a','serviceAccountName':['a'],'priorityClassName':{'name':'a'}",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        AUTO_TEXT object = text_format(POD("%s"), specs[i]);
        assert_references(&job, object, "");
    }
    static const char *const objects[] = {"7", "[]", "{'spec':7}", "{'spec':{'template':[]}}",
                                          "{'spec':{'template':{'spec':'a'}}}"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        assert_references(&job, objects[i], "");
}

static void objects_of_pods_refer_to_others(void **state) {
    (void)state;
    static const struct {
        const char *resource, *object, *expected;
    } cases[] = {
        {"serviceaccounts",
         "{'metadata':{'namespace':'team'},'imagePullSecrets':[{'name':'pull'}],'secrets':[{'name':'token'}]}",
         "secrets team/pull optional at /imagePullSecrets/0/name\n"},
        {"persistentvolumeclaims",
         "{'metadata':{'namespace':'team'},'spec':{'storageClassName':'fast','volumeName':'pv','dataSource':{'kind':"
         "'PersistentVolumeClaim','name':'base'}}}",
         "persistentvolumeclaims team/base at /spec/dataSource/name\n"
         "storageclasses.storage.k8s.io fast of the cluster at /spec/storageClassName\n"},
        {"resourceclaims.resource.k8s.io",
         "{'spec':{'devices':{'requests':[{'exactly':{'deviceClassName':'gpu'}},{'firstAvailable':[{'deviceClassName':"
         "'big'},{'deviceClassName':'small'}]}]}}}",
         "deviceclasses.resource.k8s.io big of the cluster at "
         "/spec/devices/requests/1/firstAvailable/0/deviceClassName\n"
         "deviceclasses.resource.k8s.io gpu of the cluster at /spec/devices/requests/0/exactly/deviceClassName\n"
         "deviceclasses.resource.k8s.io small of the cluster at "
         "/spec/devices/requests/1/firstAvailable/1/deviceClassName\n"},
        {"resourceclaimtemplates.resource.k8s.io",
         "{'spec':{'spec':{'devices':{'requests':[{'exactly':{'deviceClassName':'gpu'}}]}}}}",
         "deviceclasses.resource.k8s.io gpu of the cluster at "
         "/spec/spec/devices/requests/0/exactly/deviceClassName\n"},
        {"podgroups.scheduling.k8s.io",
         "{'metadata':{'namespace':'team'},'spec':{'workloadRef':{'workloadName':'w'},'priorityClassName':'high'}}",
         "priorityclasses.scheduling.k8s.io high of the cluster at /spec/priorityClassName\n"
         "workloads.scheduling.k8s.io team/w at /spec/workloadRef/workloadName\n"},
        {"configmaps", "{'metadata':{'namespace':'team'},'imagePullSecrets':[{'name':'pull'}]}", ""},
        {"things.example.com", "{'spec':{'storageClassName':'fast'}}", ""},
        {"serviceaccounts", "[]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_references_of_object(&job, cases[i].resource, cases[i].object, cases[i].expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_of_a_pod_that_names_an_object_is_a_reference),
        cmocka_unit_test(what_each_cluster_makes_itself_is_no_reference),
        cmocka_unit_test(an_object_is_optional_only_if_it_is_so_everywhere),
        cmocka_unit_test(a_text_that_is_no_name_is_no_reference),
        cmocka_unit_test(fields_of_a_wrong_type_are_no_reference),
        cmocka_unit_test(objects_of_pods_refer_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
