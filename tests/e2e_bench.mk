# SPDX-License-Identifier: Apache-2.0
## make e2e-bench N Jobs at once beside a naive script on real servers, TURNS times each in turns, as a table (N=500 TURNS=2)
N ?= 500
TURNS ?= 2
CONNECTS := $(B)/tests/connects.so

$(CONNECTS): tests/e2e_bench/connects.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=c11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -shared -o $@ $<

.PHONY: e2e-bench
e2e-bench: $(B)/wharf $(ADAPTERS) $(CONNECTS)
	@python3 -B tests/e2e_bench/bench.py --build $(B) --connects $(CONNECTS) -n $(N) --turns $(TURNS) $(E2E_BENCH)

## make e2e-bench-kueue the same with Kueue's MultiKueue as a third; KUEUE_ASSETS is a folder with `kueue` and its repository's `config`
.PHONY: e2e-bench-kueue
e2e-bench-kueue: $(B)/wharf $(ADAPTERS) $(CONNECTS)
	@python3 -B tests/e2e_bench/bench.py --build $(B) --connects $(CONNECTS) -n $(N) --turns $(TURNS) --kueue $(E2E_BENCH)

## make e2e-progress an Indexed Job of N indexes is moved twenty times over three workers (N=1000 E2E_PROGRESS="--kills --reports")
.PHONY: e2e-progress
e2e-progress: N = 1000
e2e-progress: $(B)/wharf $(ADAPTERS)
	@python3 -B tests/e2e_bench/progress.py --build $(B) -n $(N) $(E2E_PROGRESS)
