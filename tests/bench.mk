# SPDX-License-Identifier: Apache-2.0
## make bench     the figures: writes, rates, memory, start, latency, as a table; nothing fails on a time
BENCH_SRC := tests/bench/host_bench.c tests/bench/bench_setup.c tests/bench/bench_lives.c tests/bench/bench_latency.c tests/bench/bench_mix.c
BENCH_OBJ := $(BENCH_SRC:%.c=$(B)/%.o)

$(B)/tests/bench/host_bench: $(BENCH_OBJ) $(B)/tests/support/fixture.o $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(WORLD_LIBS)

$(B)/tests/bench/engine_bench: $(B)/tests/bench/engine_bench.o $(patsubst %.c,$(B)/%.o,$(wildcard plugins/job/*.c)) $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(B)/tests/bench/adapter_bench: $(B)/tests/bench/adapter_bench.o $(B)/tests/support/fixture.o $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(B)/tests/bench/json_bench: $(B)/tests/bench/json_bench.o $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

.PHONY: bench
bench: $(B)/wharf $(ADAPTERS) $(addprefix $(B)/tests/bench/,host_bench engine_bench adapter_bench json_bench)
	@$(B)/tests/bench/engine_bench
	@$(B)/tests/bench/json_bench
	@$(B)/tests/bench/adapter_bench $(B)
	@$(B)/tests/bench/host_bench $(B)
