# SPDX-License-Identifier: Apache-2.0
## make bench     the figures: writes, rates, memory, start, latency, as a table; nothing fails on a time
.PHONY: bench
bench: $(B)/wharf $(ADAPTERS) $(BENCHES)
	@$(BENCH)/engine_bench 40000 0 isolated
	@$(BENCH)/json_bench
	@$(BENCH)/adapter_bench
	@$(BENCH)/host_bench $(B)
