# SPDX-License-Identifier: Apache-2.0
# tests/unit/engine: the engine between clusters in memory (stage.h).
STAGE_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/engine/*_test.c))
$(STAGE_BIN): $(B)/unit/engine/%: tests/unit/engine/%.c $(B)/tests/unit/engine/stage.o $(B)/tests/world.a $(B)/core.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_ALL) $(LIBS) -lcmocka
