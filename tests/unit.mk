# SPDX-License-Identifier: Apache-2.0
## make unit      unit tests (cmocka): tests/unit/<folder>/<name>_test.c, one program each (UNIT=PATTERN: only those)
UNIT ?=
UNIT_SRC := $(wildcard tests/unit/*/*_test.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
UNIT_RUN := $(if $(UNIT),$(foreach t,$(UNIT_BIN),$(if $(findstring $(UNIT),$(t)),$(t))),$(UNIT_BIN))
TEST_TARGETS += unit

# What a test needs besides the core (objects of its own) is added as a prerequisite by whoever needs it.
$(B)/unit/%: tests/unit/%.c $(B)/core.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(filter %.o,$^) $(filter-out $(B)/core.a,$(filter %.a,$^)) $(B)/core.a $(LDFLAGS_ALL) $(LIBS) -lcmocka

.PHONY: unit
unit: $(UNIT_RUN) $(ADAPTERS)
	@sh tests/cmocka.sh $(UNIT_RUN)

UNIT_CMD := $(filter $(B)/unit/cmd/% $(B)/unit/fault/plan_test,$(UNIT_BIN))
$(UNIT_CMD): $(B)/cmd.a
$(filter $(B)/unit/conform/%,$(UNIT_BIN)): $(B)/conform.a
