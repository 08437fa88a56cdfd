# SPDX-License-Identifier: Apache-2.0
"""A check that finds nothing may be broken: each is tried on something that it must find, and on something that it
must not."""
import circles
import layers
import links
import named_tests
import one_name
import parts
import single_use
import sizes
import symbols
import words

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
LONG = "static int long_one(int a,\n                    int b) {\n" + "    a += b;\n" * 78 + "    return a;\n}\n"
SHORT = "int table[] = {\n    1,\n};\n\nint short_one(void) {\n    return 0;\n}\n"

# check, path, text, how many problems
CASES = (
    (layers, "core/base/a.c", '#include "core/json/json.h"\n', 1),
    (layers, "core/json/a.c", '#include "core/base/text.h"\n#include "core/json/json.h"\n', 0),
    (layers, "core/cmd/main.c", '#include "core/serve/http/http.h"\n', 0),
    (layers, "core/host/a.c", '#include "../serve/http.h"\n', 1),
    (layers, "core/host/a.c", "#include <curl/curl.h>\n", 1),
    (layers, "core/kube/a.c", "#include <curl/curl.h>\n", 0),
    (layers, "plugins/job/job.c", "#include <wharf/adapter.h>\n#include <string.h>\n", 0),
    (layers, "plugins/job/job.c", "#include <unistd.h>\n", 1),
    (layers, "plugins/job/job.c", '#include "core/base/text.h"\n', 1),
    (layers, "plugins/jobset/jobset.c", '#include "../job/job.h"\n#include "../../core/base/text.h"\n', 1),
    (layers, "include/wharf/adapter.h", "#include <stdio.h>\n", 1),
    (links, "docs/plan.md", "[x](plan.md) [y](../README.md#kinds) [z](#a-b) [w](https://example.com/a.md)\n# A, b!\n", 0),
    (links, "docs/plan.md", "[x](nowhere.md)\n[y](plan.md#no-such-section)\n[z](#c)\n[w](../../etc)\n", 4),
    (links, "docs/plan.md", "`[x](nowhere.md)`\n```\n[x](nowhere.md)\n# not a heading\n```\n[y](#not-a-heading)\n", 1),
    (links, "core/a/b.c", "// see docs/plan.md and doc" "s/nowhere.md\n", 1),
    (links, "core/a/b.c", "// see engine.h, core/engine/engine.h\n// see nowhere.h\n// see core/engine/nowhere.h\n", 2),
    (named_tests, "a.md", "`map_test` and `hostile: drip`\n", 0),
    (named_tests, "a.md", "`no_such_test` `map_test: no_such_sentence` `hostile: nobody`\n", 3),
    (one_name, "core/a/a.c", "struct selftest {\n};\n", 0),
    (one_name, "core/a/b.c", "struct selftest {\n};\n", 1),
    (sizes, "core/a/b.c", LONG, 1),
    (sizes, "core/a/b.c", SHORT * 50, 0),
    (sizes, "core/a/b.c", "\n" * 601, 1),
    (sizes, "a.py", "def f():\n" + "    x = 1\n" * 80, 1),
    (words, "a.c", SPDX + "void f(void) {\n    str" "cpy(a, b);\n}\n", 1),
    (words, "a.c", SPDX + "// str" "cpy(a, b) is bad\nint x = my_system(1), *y = \"sys" "tem(1)\";\n", 0),
    (words, "a.c", SPDX + "bool f(void) {\n    return !strcmp(a, b) || ! memcmp(a, b, 1);\n}\n", 1),
    (words, "a.c", SPDX + "bool f(void) {\n    return strcmp(a, b) == 0 || memcmp(a, b, 1) != 0;\n}\n", 0),
    (words, "a.c", "int x;\n", 1),
    (words, "a.md", "see /wo" "rk/somewhere\n", 1),
    (words, "a.md", "see /etc/wharf and docs/wo" "rk/x\n", 0),
    (words, "a.md", "blank \n", 1),
    (words, "a.md", "no end", 1),
)

# Objects with what they define and what they need; how many problems
LINKED = (
    ({"core/engine/a.o": ({"a"}, {"b", "memcpy", "__snprintf_chk"}), "core/json/b.o": ({"b"}, {"malloc"})}, 0),
    ({"core/engine/a.o": ({"a"}, {"clock_gettime"})}, 1),
    ({"core/engine/a.o": ({"a"}, {"pthread_mutex_lock", "write", "curl_easy_init"})}, 3),
    ({"core/engine/a.o": ({"a"}, {"clock_now", "clock_rfc3339"}),
      "core/base/clock.o": ({"clock_now", "clock_rfc3339"}, {"clock_gettime"})}, 1),
    ({"core/engine/a.o": ({"a"}, {"b"}), "core/json/b.o": ({"b"}, {"c"}), "core/base/c.o": ({"c"}, {"open"})}, 1),
    ({"core/engine/a.o": ({"a"}, {"b"}), "core/host/b.o": ({"b"}, set())}, 1),
    ({"core/engine/a.o": ({"a"}, {"b"}), "core/config/worker_settings.o": ({"b"}, {"strdup"})}, 0),
    ({"core/engine/a.o": ({"a"}, {"b"}), "core/config/worker_settings.o": ({"b"}, {"open"})}, 1),
    ({"core/engine/a.o": ({"a"}, {"b"}), "core/config/config.o": ({"b"}, set())}, 1),
    ({"core/engine/a.o": ({"a"}, {"log_line"}), "core/base/log.o": ({"log_line"}, {"write"})}, 1),
    ({"core/host/a.o": ({"a"}, {"write"})}, 0),
)


DECLARED = {"core/a/a.h": "int used(int x);\nstruct s *own(void)\n    __attribute__((x));\nvoid tested(\n    int x);\nint none(void);\n",
            "core/a/a.c": "int used(int x) {}\nstruct s *own(void) {}\nvoid tested(int x) {}\nint none(void) {}\nint y = own();\n",
            "core/b/b.c": "int x = used(1);\n", "tests/t.c": "int t = tested(1);\n"}
STATICS = "static int once(int x) {\n    return x;\n}\n\nstatic int twice(void) {\n    return 1;\n}\n\n" \
          "static int long_one(void) {\n    1;\n    2;\n    3;\n    4;\n}\n\nint z = once(twice() + twice()) + long_one();\n"
A, B = '#include "core/engine/b.h"\n', '#include "core/engine/a.h"\n'


def run():
    if circles.check({"core/engine/a.c": A, "core/engine/b.c": ""}) or \
            not circles.check({"core/engine/a.c": A, "core/engine/b.h": B}):
        raise AssertionError("lint's own test: circles")
    used = {"core/engine/engine_internal.h": "struct engine {\n    struct a a;\n};\n", "core/engine/a/a.c": "engine->a.x;",
            "core/engine/b/b.c": "engine->a.x;"}
    if [problem for problem in parts.check(used) if "b/b.c" in problem] == [] or \
            [problem for problem in parts.check(used) if "a/a.c" in problem]:
        raise AssertionError("lint's own test: parts")
    if [name for _, _, name, _ in single_use.needless_declarations(DECLARED)] != ["own", "tested", "none"]:
        raise AssertionError("lint's own test: declarations that nobody needs")
    if list(single_use.small_statics({"core/a/a.c": STATICS})) != [("core/a/a.c", 1, "once")]:
        raise AssertionError("lint's own test: small static functions")
    for objects, expected in LINKED:
        found = list(symbols.check(objects))
        if len(found) != expected:
            raise AssertionError(f"lint's own test: symbols on {objects}: {found}")
    for module, path, text, expected in CASES:
        found = list(module.check(path, text))
        if len(found) != expected:
            raise AssertionError(f"lint's own test: {module.__name__} on {path} {text[:60]!r}: {found}")
