# SPDX-License-Identifier: Apache-2.0
## make demo      the main job, on clusters that it simulates: a live table, and a summary that can fail
SUPPORT_SRC := $(wildcard tests/support/*.c)
DEMO_SRC := $(wildcard tests/demo/*.c)

# Simulated clusters with a wharf as a child, for the demo and the integration tests.
$(B)/tests/support.a: $(SUPPORT_SRC:%.c=$(B)/%.o)
	@rm -f $@
	@$(if $(V),,echo "AR $@")
	$(Q)$(AR) rcs $@ $^

$(B)/tests/demo/demo: $(DEMO_SRC:%.c=$(B)/%.o) $(B)/tests/support.a $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(WORLD_LIBS)

.PHONY: demo
demo: $(B)/tests/demo/demo $(B)/wharf $(ADAPTERS)
	@$(B)/tests/demo/demo
