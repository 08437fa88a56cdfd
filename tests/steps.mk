# SPDX-License-Identifier: Apache-2.0
# tests/unit/*/*_steps_test.c count what the code does, not how long it takes: the files that they look at are compiled
# once more, with a call into tests/support/steps.c from each basic block. What ships has none of it.
STEPS_SRC := $(wildcard core/json/*.c) $(addprefix core/base/,map.c buffer.c text.c utf8.c) core/kube/object.c core/kube/span.c $(wildcard core/adapter/services*.c core/engine/carry*.c core/engine/mirror*.c) core/engine/record.c core/adapter/phase.c
STEPS_OBJ := $(STEPS_SRC:%.c=$(B)/steps/%.o)
STEPS_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*/*_steps_test.c))

$(STEPS_BIN): $(STEPS_OBJ) $(B)/tests/support/steps.o

$(B)/steps/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(V),,echo "CC $< (steps)")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fsanitize-coverage=trace-pc -MMD -MP -c -o $@ $<
