#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/valgrind.sh PROGRAM...: each under valgrind (memcheck): invalid and uninitialised memory, double frees, leaks.
# A test that fails only because it is fifty times slower is told apart from an error of memory. Exit 1 if there is one.
LIMIT_S=${LIMIT_S:-580}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0 skipped=0
for program in "$@"; do
    timeout -k 10 "$LIMIT_S" "${VALGRIND:-valgrind}" --quiet --error-exitcode=99 --leak-check=full --num-callers=20 \
        --suppressions=tests/valgrind.supp --errors-for-leak-kinds=definite --show-leak-kinds=definite --log-file="$folder/log.%p" \
        "$program" >"$folder/out" 2>&1 </dev/null
    code=$?
    # Children that a test starts have logs of their own.
    if grep -q '^==[0-9]*== ' "$folder"/log.* 2>/dev/null; then
        failed=$((failed + 1))
        echo "FAILED  $program"
        cat "$folder"/log.* | head -60
    elif [ "$code" -eq 124 ]; then
        skipped=$((skipped + 1))
        echo "skipped $program: not done after $LIMIT_S s, without an error until then"
    elif [ "$code" -ne 0 ]; then
        passed=$((passed + 1))
        echo "ok      $program (no error of memory; as a test it ended with $code, for it is slow here)"
    else
        passed=$((passed + 1))
        echo "ok      $program"
    fi
    rm -f "$folder"/log.*
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
