# SPDX-License-Identifier: Apache-2.0
## make sim       the host against clusters in memory, on virtual time, from seeds (SEEDS=2000, FROM=0; SEED=N: one; with TRACE=1 its shortest story)
SEEDS ?= 2000
FROM ?= 0
TEST_TARGETS += sim

# Each adapter in one object, with nothing visible but what its .so exports, under a name of its own.
define sim_adapter_rule
$(B)/tests/simulation/adapters/$(1).o: $(patsubst %.c,$(B)/%.o,$(call plugin_sources,$(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -r -o $$@ $$^
	$$(Q)objcopy --localize-hidden --wildcard --localize-symbol="__odr_asan*" --redefine-sym wharf_module_v1=wharf_adapter_$(1) $$@
endef
$(foreach a,$(PLUGINS),$(eval $(call sim_adapter_rule,$(a))))

# The table of them.
$(B)/tests/simulation/kinds.o: CPPFLAGS_ALL += '-DSIM_ADAPTERS(X)=${PLUGINS:%=X(%)}'
$(B)/tests/simulation/kinds.o: $(B)/tests/simulation/adapter-names
$(B)/tests/simulation/adapter-names: FORCE
	@mkdir -p $(@D)
	@echo '$(PLUGINS)' | cmp -s - $@ || echo '$(PLUGINS)' > $@

.PHONY: sim
sim-programs: $(B)/tests/simulation/sim
sim: sim-programs
	@$(B)/tests/simulation/sim $(if $(SEED),--seed $(SEED) $(if $(TRACE),--shrink --trace),--seeds $(SEEDS) --from $(FROM))
