#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cmocka.sh PROGRAM...: runs cmocka programs, JOBS at a time (default: as many as there are processors): a line for each,
# the whole output of one that fails, and the sum as the last line. Exit 1 if a test failed, or if a program did not end
# as a test program ends (a crash, no test at all).
LIMIT_S=600

# The number in cmocka's lines "[  WORD  ] N test(s)...", added up.
count() {
    awk -v word="$1" '$0 ~ "^\\[ +" word " +\\] [0-9]+ test\\(s\\)" { sub(/^\[[^]]*\] /, ""); sum += $1 } END { print sum + 0 }' "$out"
}

# Runs one program, tells of it, and adds a line of its numbers to the file $2.
run_one() {
    program=$1 sums=$2
    out=$(mktemp) || exit 1
    trap 'rm -f "$out"' EXIT
    timeout -k 10 "$LIMIT_S" "$program" >"$out" 2>&1 </dev/null
    code=$?
    passed=$(count PASSED) failed=$(count FAILED) skipped=$(count SKIPPED)
    began=$(grep -c '^\[=*\] Running' "$out")
    ended=$(grep -c '^\[=*\] [0-9]* test(s) run' "$out")
    why=''
    if [ "$began" -ne "$ended" ] || { [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; }; then
        failed=$((failed + 1)) why=" (ended with $code before its end)"
    elif [ $((passed + failed + skipped)) -eq 0 ]; then
        failed=1 why=' (no test in it)'
    fi
    exec 9>>"$sums"
    flock 9
    echo "$passed $failed $skipped" >&9
    if [ "$failed" -ne 0 ]; then
        sed 's/^/    /' "$out"
        echo "FAILED  $program: $failed failed$why, $passed passed"
    else
        echo "ok      $program: $passed passed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
    fi
}

if [ "$1" = --one ]; then
    run_one "$3" "$2"
    exit
fi
sums=$(mktemp) || exit 1
trap 'rm -f "$sums"' EXIT
printf '%s\n' "$@" | xargs -n 1 -P "${JOBS:-$(nproc)}" sh "$0" --one "$sums"
awk -v programs=$# '
{ passed += $1; failed += $2; skipped += $3 }
END {
    failed += programs - NR
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
}' "$sums"
