# SPDX-License-Identifier: Apache-2.0
## make lint      layers, sizes, words, I/O of the engine, layout (clang-format), clang-tidy, cppcheck, shellcheck; repeated runs are short
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy
CPPCHECK ?= cppcheck
SHELLCHECK ?= shellcheck
LINT_C := $(sort $(shell find core include plugins tests examples -name '*.[ch]'))
LINT_SH := bootstrap .ci/run $(sort $(shell find tests examples etc -name '*.sh'))
TIDY_CORE := $(filter core/%.c plugins/%.c examples/%.c,$(LINT_C))
TIDY_TESTS := $(filter tests/%.c,$(LINT_C))
LINTS := lint-tree lint-engine lint-format lint-shell lint-cppcheck lint-tidy mutants-apply

.PHONY: lint $(LINTS)
lint:
	+@$(MAKE) --no-print-directory -k $(if $(filter --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc)) $(LINTS)

lint-tree:
	@python3 -B tests/lint

# What the engine's objects need, for it does no I/O.
lint-engine: $(CORE_OBJ)
	@python3 -B tests/lint/symbols.py $^

## make lint-report  functions with fewer users than their place suggests; nothing fails on it
.PHONY: lint-report
lint-report:
	@python3 -B tests/lint/single_use.py

lint-format:
	@$(CLANG_FORMAT) --dry-run -Werror $(LINT_C)

lint-shell:
	@$(SHELLCHECK) $(LINT_SH)

lint-cppcheck:
	@mkdir -p $(B)/lint/cppcheck
	@$(CPPCHECK) --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--cppcheck-build-dir=$(B)/lint/cppcheck --suppressions-list=tests/lint/cppcheck.txt -D_GNU_SOURCE \
		-I. -Iinclude core plugins $(wildcard examples)

lint-tidy: $(TIDY_CORE:%=$(B)/lint/%.tidy) $(TIDY_TESTS:%=$(B)/lint/%.tidy)

# A file is looked at again when it changed, or what it includes. analyzer.h tells the analyzer the error convention.
$(B)/lint/core/base/error.c.tidy: TIDY_MODEL :=
$(B)/lint/%.tidy: TIDY_MODEL = -include tests/lint/analyzer.h
$(B)/lint/%.tidy: % .clang-tidy tests/.clang-tidy tests/lint/analyzer.h
	@mkdir -p $(@D)
	@$(if $(V),echo "TIDY $<",:)
	@$(CLANG_TIDY) --quiet $< -- $(CPPFLAGS_ALL) -std=gnu11 $(TIDY_MODEL) $(shell pkg-config --cflags $(PKGS)) > $@.out 2>&1 || { cat $@.out; exit 1; }
	@$(CC) $(CPPFLAGS_ALL) -std=c11 $(shell pkg-config --cflags $(PKGS)) -MM -MP -MT $@ -MF $@.d $<
	@touch $@
