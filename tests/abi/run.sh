#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/abi/run.sh FOLDER: the public header by itself, its layout and its signatures, under each compiler and language
# that there is; that it keeps what was promised with 1.0, by its text and by its debug information; then adapters: in C++,
# built by each compiler, in the host's loader (FOLDER/abi/load_test); built with the header of 1.0 and with a newer one,
# run by today's host and by a newer one (FOLDER/abi/drive_test).
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
            check "$compiler -std=$standard -fshort-enums $source" \
                "$compiler" -x "$language" -std="$standard" $warnings -fshort-enums -Iinclude -fsyntax-only "$source"
        else
            skipped=$((skipped + 1))
        fi
    done
done

# shellcheck disable=SC2086
for compiler in g++ clang++; do
    if command -v "$compiler" >/dev/null 2>&1; then
        for standard in c++17 c++20; do
            check "$compiler -std=$standard tests/abi/adapter.cc" "$compiler" -std=$standard $warnings -O1 -fshort-enums \
                -Iinclude -fPIC -shared -fvisibility=hidden -o "$out/$compiler-$standard.so" tests/abi/adapter.cc
            adapters="$adapters $out/$compiler-$standard.so"
        done
    else
        skipped=$((skipped + 1))
    fi
done

frozen=tests/abi/wharf-1.0/adapter.h
check "what was promised with 1.0" python3 -B tests/abi/headers.py compare "$frozen" include/wharf/adapter.h
check "changes are noticed in the text" python3 -B tests/abi/headers.py selftest "$frozen"
if command -v abidiff >/dev/null 2>&1; then
    # shellcheck disable=SC2086  # $CC may have options
    check "abidiff" python3 -B tests/abi/abidiff.py "$out/abidiff" ${CC:-cc}
else
    echo "abidiff is not there (package abigail-tools): debug information is not compared"
    skipped=$((skipped + 1))
fi

# drive PROGRAM ADAPTER...: the tests of a cmocka program count one by one.
drive() {
    "$@" >"$out/log" 2>&1 </dev/null
    code=$?
    ok=$(grep -c '^\[       OK \]' "$out/log") bad=$(grep -c '^\[  FAILED  \] [a-z]' "$out/log")
    if [ "$code" -ne 0 ] || [ "$ok" -eq 0 ]; then
        [ "$bad" -ne 0 ] || bad=1
        sed 's/^/    /' "$out/log"
        echo "FAILED  $*"
    fi
    passed=$((passed + ok)) failed=$((failed + bad))
}

# shellcheck disable=SC2086
drive "$out/load_test" $adapters
for program in drive_test drive_test_grown; do
    for header in frozen grown; do
        drive "$out/$program" "$out/$header/full.so" "$out/$header/data.so" "$out/grown/minor.so"
    done
done
# In processes of their own, which are of today's build.
for header in frozen grown; do
    drive "$out/drive_test" "$out/$header/full.so" "$out/$header/data.so" "$out/grown/minor.so" "$1/wharf-adapter"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
