// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/things.h"

#include <string.h>

#define GROUP "example.com"
#define PLURAL "things"

static const struct world_kind thing = {.group = GROUP, .versions = {"v1"}, .plural = PLURAL, .kind = "Thing"};

int things_open(void **state) {
    AUTO_TEXT file = built_path("hang_adapters/hang.so");
    AUTO_TEXT adapter = text_format("  - {name: hang, file: \"%s\", isolation: none}\n", file ? file : "");
    struct scene_options options = {
        .workers = 1, .plain = true, .world = {.seed = 1, .controller_delay_ns = 20 * CLOCK_MS}, .adapters = adapter};
    struct scene *scene = NULL;
    assert_null(scene_open(&options, &scene));
    assert_null(scene_configure(scene, "", ""));
    for (size_t i = 0; i < scene->count; i++)
        assert_true(world_register(scene->clusters[i].cluster, &thing));
    *state = scene;
    return 0;
}

int things_drop(void **state) {
    scene_close(*state);
    return 0;
}

int things_apply(struct scene *scene, const char *name, const char *does) {
    AUTO_TEXT text =
        text_format("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                    "\"default\"},\"spec\":{\"managedBy\":\"wharf.dev/host\",\"does\":\"%s\"}}",
                    name, does);
    return scene_apply(scene, SCENE_MANAGEMENT, GROUP, PLURAL, text);
}
