// SPDX-License-Identifier: Apache-2.0
// A host that finds all inotify instances of its user used up (fs.inotify.max_user_instances) starts, and sees that its
// configuration changes.
#include "tests/integration/stage.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// In this process and those that it starts; nobody else's instances are taken.
static bool forbid_inotify(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_inotify_init1, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void a_host_without_inotify_starts_and_sees_its_configuration_change(void **state) {
    (void)state;
    if (!forbid_inotify()) {
        print_message("seccomp cannot be used here\n");
        skip();
    }
    struct scene *scene = stage_run(1, true, "");
    assert_int_equal(wharf_logged(scene, "raise the sysctl fs.inotify.max_user_instances"), 1);
    assert_null(scene_configure(scene, "", "mirrorRetention: 0s\n"));
    UNTIL(scene, 10, wharf_logged(scene, "configuration reloaded") == 1);
    stage_submit(scene, "a");
    UNTIL(scene, 10, stage_is_complete(scene, "a") && stage_mirrors(scene) == 0);
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_without_inotify_starts_and_sees_its_configuration_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
