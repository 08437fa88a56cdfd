# SPDX-License-Identifier: Apache-2.0
## make sim       the host against clusters in memory, on virtual time, from seeds (SEEDS=2000, FROM=0)
SEEDS ?= 2000
FROM ?= 0
SIM_PLUGINS := $(sort $(patsubst plugins/%/,%,$(dir $(wildcard plugins/*/*.c))))
SIM_ADAPTERS := $(SIM_PLUGINS:%=$(B)/tests/simulation/adapters/%.o)
SIM_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/simulation/*.c)) $(SIM_ADAPTERS)
TEST_TARGETS += sim

# Each adapter in one object, with nothing visible but what its .so exports, under a name of its own.
define sim_adapter_rule
$(B)/tests/simulation/adapters/$(1).o: $(patsubst %.c,$(B)/%.o,$(wildcard plugins/$(1)/*.c))
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -r -o $$@ $$^
	$$(Q)objcopy --localize-hidden --redefine-sym wharf_adapters_v1=wharf_adapter_$(1) $$@
endef
$(foreach a,$(SIM_PLUGINS),$(eval $(call sim_adapter_rule,$(a))))

# The table of them.
$(B)/tests/simulation/kinds.o: CPPFLAGS_ALL += '-DSIM_ADAPTERS(X)=${SIM_PLUGINS:%=X(%)}'
$(B)/tests/simulation/kinds.o: $(B)/tests/simulation/adapter-names
$(B)/tests/simulation/adapter-names: FORCE
	@mkdir -p $(@D)
	@echo '$(SIM_PLUGINS)' | cmp -s - $@ || echo '$(SIM_PLUGINS)' > $@

$(B)/tests/simulation/sim: $(SIM_OBJ) $(B)/tests/support.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(SIM_OBJ) $(B)/tests/support.a $(B)/tests/world.a $(B)/core.a $(LIBS)

.PHONY: sim
sim: $(B)/tests/simulation/sim
	@$(B)/tests/simulation/sim --seeds $(SEEDS) --from $(FROM)
