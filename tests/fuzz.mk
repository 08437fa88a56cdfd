# SPDX-License-Identifier: Apache-2.0
## make fuzz      libFuzzer targets (clang) with corpora from the fixtures, in build-fuzz (SECONDS=60 each; FUZZ=json: only that one)
SECONDS ?= 60
FUZZ ?=
FUZZ_CC ?= clang
FUZZ_TARGETS = $(FUZZ_PROGRAMS:$(B)/tests/fuzz/%_fuzz=%)
FUZZ_RUN = $(if $(FUZZ),$(filter $(FUZZ),$(FUZZ_TARGETS)),$(FUZZ_TARGETS))
FUZZ_SAN := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
# Set below for the programs of libFuzzer; without it they replay files.
FUZZ_ENGINE ?=
TEST_TARGETS += fuzz-replay

$(B)/tests/fuzz/%.o: CPPFLAGS_ALL += $(if $(FUZZ_ENGINE),-DWHARF_LIBFUZZER)

$(FUZZ_PROGRAMS): private LDFLAGS_ALL += $(FUZZ_ENGINE)

.PHONY: fuzz fuzz-programs fuzz-replay fuzz-corpus
fuzz-programs: $(FUZZ_PROGRAMS)

# A corpus is a folder of files for each target, made from the fixtures and from what was found once.
fuzz-corpus: $(B)/tests/to_json
	@python3 -B tests/fuzz/corpus.py $(B)

## make fuzz-replay  the corpora of the fuzz targets, and changed copies of them, without libFuzzer
fuzz-replay-programs: fuzz-programs fuzz-corpus
fuzz-replay: fuzz-replay-programs
	@sh tests/fuzz/replay.sh $(B) $(FUZZ_TARGETS)

fuzz:
	+@$(MAKE) B=build-fuzz CC="$(FUZZ_CC)" SAN="$(FUZZ_SAN)" HARDEN= OPT="-O1 -g -fno-omit-frame-pointer" FUZZ_ENGINE=-fsanitize=fuzzer fuzz-programs
	+@$(MAKE) fuzz-corpus
	@sh tests/fuzz/run.sh build-fuzz $(B) $(SECONDS) $(FUZZ_RUN)
