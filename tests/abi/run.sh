#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/abi/run.sh FOLDER: the public header by itself, its layout and its signatures, under each compiler and language
# that there is; then an adapter in C++, built by each, in the host's loader (FOLDER/abi/load_test).
set -u
out=$1/abi
mkdir -p "$out" || exit 1
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
passed=0 failed=0 skipped=0 adapters=''

check() {
    what=$1
    shift
    if "$@" >"$out/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        sed 's/^/    /' "$out/log"
        echo "FAILED  $what"
    fi
}

# Alone, and first: the header includes what it needs.
printf '#include <wharf/adapter.h>\n#include <wharf/adapter.h>\n' >"$out/alone.c"

# shellcheck disable=SC2086  # one word a warning
for pair in gcc:c11 gcc:c17 g++:c++17 g++:c++20 clang:c11 clang:c17 clang++:c++17 clang++:c++20; do
    compiler=${pair%%:*} standard=${pair#*:}
    case $standard in c++*) language=c++ ;; *) language=c ;; esac
    for source in "$out/alone.c" tests/abi/layout.c tests/abi/signatures.c; do
        if command -v "$compiler" >/dev/null 2>&1; then
            check "$compiler -std=$standard $source" \
                "$compiler" -x "$language" -std="$standard" $warnings -Iinclude -fsyntax-only "$source"
        else
            skipped=$((skipped + 1))
        fi
    done
done

# shellcheck disable=SC2086
for compiler in g++ clang++; do
    if command -v "$compiler" >/dev/null 2>&1; then
        check "$compiler tests/abi/adapter.cc" "$compiler" -std=c++17 $warnings -O1 -Iinclude -fPIC -shared \
            -fvisibility=hidden -o "$out/$compiler.so" tests/abi/adapter.cc
        adapters="$adapters $out/$compiler.so"
    else
        skipped=$((skipped + 1))
    fi
done

# shellcheck disable=SC2086
"$out/load_test" $adapters >"$out/log" 2>&1 </dev/null
code=$?
[ "$code" -eq 0 ] || sed 's/^/    /' "$out/log"
if [ "$code" -eq 0 ]; then passed=$((passed + 2)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
