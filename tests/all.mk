# SPDX-License-Identifier: Apache-2.0
## make test      all tests that need no clusters, and one line with their sum
.PHONY: test
test:
	+@MAKE='$(MAKE)' sh tests/run.sh $(B) $(TEST_TARGETS) -- $(TEST_ALONE)

ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all
ASAN_TARGETS = $(filter-out abi authors cli-test gallery,$(TEST_TARGETS))
ASAN_SEEDS ?= 200

# Of clang, which finds other things, in a folder of its own.
ASAN_B := build-asan$(if $(findstring clang,$(CC)),-clang)
TSAN_B := build-tsan$(if $(findstring clang,$(CC)),-clang)

## make asan      the tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer, in build-asan (ASAN_SEEDS=200; CC=clang too)
.PHONY: asan
asan: export ASAN_OPTIONS := detect_leaks=1:detect_stack_use_after_return=1:abort_on_error=0:allocator_may_return_null=1
asan: export LSAN_OPTIONS := suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0
asan: export UBSAN_OPTIONS := print_stacktrace=1
asan:
	+@MAKE='$(MAKE) B=$(ASAN_B) SEEDS=$(ASAN_SEEDS) SAN="$(ASAN)" HARDEN= OPT="-O1 -g -fno-omit-frame-pointer"' sh tests/run.sh $(ASAN_B) $(ASAN_TARGETS) -- $(TEST_ALONE)

## make tsan      the integration tests under ThreadSanitizer, in build-tsan
.PHONY: tsan
tsan: export TSAN_OPTIONS := halt_on_error=0
tsan:
	+@MAKE='$(MAKE) B=$(TSAN_B) SAN=-fsanitize=thread HARDEN= OPT="-O1 -g"' sh tests/run.sh $(TSAN_B) integration -- churn
