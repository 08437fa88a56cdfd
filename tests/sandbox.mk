# SPDX-License-Identifier: Apache-2.0
SANDBOX_SRC := $(wildcard tests/sandbox/*.c)
$(B)/wharf-sandbox: $(SANDBOX_SRC:%.c=$(B)/%.o) $(B)/tests/support.a $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(WORLD_LIBS)
