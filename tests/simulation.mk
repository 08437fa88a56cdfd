# SPDX-License-Identifier: Apache-2.0
## make sim       the host against clusters in memory, on virtual time, from seeds (SEEDS=2000, FROM=0)
SEEDS ?= 2000
FROM ?= 0
SIM_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/simulation/*.c)) $(B)/tests/simulation/job_adapter.o
TEST_TARGETS += sim

# The adapter in one object, with nothing visible but what its .so exports.
$(B)/tests/simulation/job_adapter.o: $(patsubst %.c,$(B)/%.o,$(wildcard plugins/job/*.c))
	@mkdir -p $(@D)
	$(Q)$(LD) -r -o $@ $^
	$(Q)objcopy --localize-hidden $@

$(B)/tests/simulation/sim: $(SIM_OBJ) $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(SIM_OBJ) $(B)/tests/world.a $(B)/core.a $(LIBS)

.PHONY: sim
sim: $(B)/tests/simulation/sim
	@$(B)/tests/simulation/sim --seeds $(SEEDS) --from $(FROM)
