#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer programs one after the other: run.sh FUZZ-BUILD BUILD SECONDS TARGET...
# What they find stays in FUZZ-BUILD/findings, what they learn in FUZZ-BUILD/corpus.
fuzz=$1
build=$2
seconds=$3
shift 3
passed=0
failed=0
mkdir -p "$fuzz/findings"
for target; do
    learned=$fuzz/corpus/$target
    mkdir -p "$learned"
    log=$fuzz/$target.log
    if "$fuzz/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$fuzz/findings/$target-" "$learned" "$build/fuzz-corpus/$target" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $target: $(grep -E '^Done' "$log")"
    else
        failed=$((failed + 1))
        echo "FAILED  $target, see $log"
        grep -E 'fuzz:|ERROR|SUMMARY|runtime error|artifact' "$log" | head -n 5
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
