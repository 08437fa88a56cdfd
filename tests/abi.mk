# SPDX-License-Identifier: Apache-2.0
## make abi       wharf/adapter.h as C and C++ under gcc and clang; its layout; an adapter in C++
TEST_TARGETS += abi

$(B)/abi/load_test: tests/abi/load_test.c $(B)/core.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(B)/core.a $(LDFLAGS_ALL) $(LIBS) -lcmocka

.PHONY: abi
abi: $(B)/abi/load_test
	@sh tests/abi/run.sh $(B)
