# SPDX-License-Identifier: Apache-2.0
## make world     the simulated clusters: $(B)/tests/world.a for tests, and the server $(B)/tests/world/world
WORLD_FRONT_SRC := tests/world/http_front.c tests/world/http_answer.c tests/world/certs.c
WORLD_SRC := $(filter-out $(WORLD_FRONT_SRC) tests/world/world_main.c,$(wildcard tests/world/*.c))
WORLD_OBJ := $(WORLD_SRC:%.c=$(B)/%.o)
WORLD_FRONT_OBJ := $(WORLD_FRONT_SRC:%.c=$(B)/%.o)
WORLD_LIBS := $(shell pkg-config --libs libmicrohttpd gnutls libcrypto 2>/dev/null)

# The model and the simulated network; nothing of HTTP.
$(B)/tests/world.a: $(WORLD_OBJ)
	@rm -f $@
	@$(if $(V),,echo "AR $@")
	$(Q)ar rcs $@ $^

# The HTTP front, for whoever links $(WORLD_LIBS) too.
$(B)/tests/world-http.a: $(WORLD_FRONT_OBJ)
	@rm -f $@
	@$(if $(V),,echo "AR $@")
	$(Q)ar rcs $@ $^

$(B)/tests/world/world: $(B)/tests/world/world_main.o $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(WORLD_LIBS)

# Its unit tests need the world besides the core.
$(B)/unit/world/%: tests/unit/world/%.c $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(filter %.a,$^) $(LDFLAGS_ALL) $(LIBS) $(WORLD_LIBS) -lcmocka

.PHONY: world contract
world: $(B)/tests/world/world

## make contract  the world model answers as a kube-apiserver does (tests/contract/table.py)
contract: $(B)/tests/world/world
	@python3 -B tests/contract/world.py $(B)/tests/world/world
TEST_TARGETS += contract
