# SPDX-License-Identifier: Apache-2.0
"""The engine does no I/O: what its objects, and the objects that they pull in, have undefined is looked up in lists of
what is allowed. Usage: python3 tests/lint/symbols.py OBJECT...  (all of core/*/*.o)"""
import re
import subprocess
import sys

ENGINE = "core/engine/"
PURE = ("core/engine/", "core/adapter/", "core/json/", "core/base/", "core/kube/",   # where it may lead to: folders,
        "core/config/worker_settings.o", "core/config/dependencies.o")   # and single objects of plain values

# Objects that do I/O as well: only these symbols of them are used, and what they pull in themselves does not count.
MIXED = {
    "core/base/clock.o": {"clock_rfc3339", "clock_rfc3339_micro", "clock_parse_rfc3339", "clock_parse_duration",
                          "clock_duration_text", "heap_init", "heap_free", "heap_set", "heap_remove", "heap_first",
                          "timer_init"},
    "core/base/random.o": {"random_next", "random_below"},
    "core/base/utf8.o": {"text_json_clean", "text_show", "text_utf8_sequence", "text_utf8_valid", "text_visible",
                         "text_invisible"},
    "core/base/log.o": set(),
    "core/adapter/services/net.o": {"net_thread"},
    "core/kube/client/client.o": {"resource_path"},
}
# Who may use more of them: adapters write to the log, and the order of members in memory is not to be guessed.
EXCEPTIONS = {
    "core/adapter/services/services.o": {"log_enabled", "log_line"},
    "core/json/index.o": {"random_system"},
}
LIBC = set("""calloc free malloc malloc_usable_size realloc reallocarray qsort snprintf vsnprintf vasprintf errno_location
explicit_bzero stack_chk_fail
memchr memcmp memcpy memmem memmove mempcpy memset strchr strchrnul strcmp strcspn strdup strlen strncasecmp strncmp strndup strnlen
sqrt strpbrk strrchr strspn strstr strtod strtoul strtoull abort bsearch
popcountdi2""".split())
CJSON = {"cJSON_InitHooks", "cJSON_free", "cJSON_malloc"}
LINKER = {"_GLOBAL_OFFSET_TABLE_"}   # not of a function: with thread-local variables
CRYPTO = re.compile(r"(CRYPTO_memcmp|EVP_MAC_\w+|OSSL_PARAM_construct_\w+)$")


def plain(symbol):
    """Without what the compiler makes of a function's name: __snprintf_chk, __errno_location."""
    return re.sub(r"^__(\w+?)(_chk)?$", r"\1", symbol)


def is_allowed(symbol):
    return plain(symbol) in LIBC or symbol in LIBC or symbol in CJSON or symbol in LINKER or CRYPTO.match(symbol)


def _uses(path, symbols, owner):
    """(symbol, the object that has it or None), without what is fine."""
    for symbol in sorted(symbols):
        home = owner.get(symbol)
        if home in MIXED:
            if symbol not in MIXED[home] and symbol not in EXCEPTIONS.get(path, ()):
                yield symbol, None
        elif home or not is_allowed(symbol):
            yield symbol, home


def check(objects):
    """objects: {"core/engine/act.o": (defined, undefined)}. Yields (object, what is wrong)."""
    owner = {symbol: path for path, (defined, _) in objects.items() for symbol in defined}
    seen = {path: path for path in objects if path.startswith(ENGINE)}   # object: how it was reached
    todo = sorted(seen)
    while todo:
        path = todo.pop()
        for symbol, home in _uses(path, objects[path][1], owner):
            if home and not home.startswith(PURE):
                yield path, f"uses {symbol} of {home} (reached by {seen[path]})"
            elif not home:
                yield path, f"uses {symbol}, which may do I/O or is not known to do none (reached by {seen[path]})"
            elif home not in seen:
                seen[home] = f"{seen[path]} -> {home}"
                todo.append(home)


def read(path):
    defined, undefined = set(), set()
    for line in subprocess.check_output(["nm", "-P", path], text=True).splitlines():
        name, kind = line.split()[:2]
        if kind in "Uw":
            undefined.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, undefined


def main(paths):
    objects = {path[path.rindex("core/"):]: read(path) for path in paths}
    found = [f"{path}: {problem}" for path, problem in check(objects)]
    print("\n".join(found + [f"symbols: {len(objects)} objects, {len(found)} problems"]))
    return 1 if found or not any(path.startswith(ENGINE) for path in objects) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
