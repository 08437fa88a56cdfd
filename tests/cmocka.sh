#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs cmocka programs: a line for each, the whole output of one that fails, and the sum as the last line.
# Exit 1 if a test failed, or if a program did not end as a test program ends (a crash, no test at all).
LIMIT_S=600
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
all_passed=0 all_failed=0 all_skipped=0

# The number in cmocka's lines "[  WORD  ] N test(s)...", added up.
count() {
    awk -v word="$1" '$0 ~ "^\\[ +" word " +\\] [0-9]+ test\\(s\\)" { sub(/^\[[^]]*\] /, ""); sum += $1 } END { print sum + 0 }' "$out"
}

for program in "$@"; do
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
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
    if [ "$failed" -ne 0 ]; then
        sed 's/^/    /' "$out"
        echo "FAILED  $program: $failed failed$why, $passed passed"
    else
        echo "ok      $program: $passed passed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
    fi
done
echo "$all_passed passed, $all_failed failed, $all_skipped skipped"
[ "$all_failed" -eq 0 ]
