# SPDX-License-Identifier: Apache-2.0
# `make` builds build/wharf and build/adapters/*.so. `make help` lists the rest.
VERSION := 0.1.0
B ?= build
CC ?= cc
PKGS := libcurl libcjson yaml-0.1 libcrypto
WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Werror
OPT ?= -O2 -g
HARDEN ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
SAN ?=
CPPFLAGS_ALL := -D_GNU_SOURCE -DWHARF_VERSION='"$(VERSION)"' -I. -Iinclude $(CPPFLAGS)
CFLAGS_ALL := -std=c11 $(OPT) $(HARDEN) $(WARN) -fPIE -fvisibility=hidden -pthread $(SAN) $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
LDFLAGS_ALL := -pie -Wl,-z,relro,-z,now,-z,noexecstack -pthread $(SAN) $(LDFLAGS)
LIBS := $(shell pkg-config --libs $(PKGS)) -ldl

CORE_SRC := $(wildcard core/base/*.c core/json/*.c core/kube/*.c core/host/*.c core/serve/*.c)
CORE_OBJ := $(CORE_SRC:%.c=$(B)/%.o)
MAIN_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard core/main*.c))
ADAPTERS := $(patsubst plugins/%/,$(B)/adapters/%.so,$(wildcard plugins/*/))

.DEFAULT_GOAL := all
.PHONY: all clean help
all: $(B)/wharf $(ADAPTERS)

$(B)/core.a: $(CORE_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(B)/wharf: $(MAIN_OBJ) $(B)/core.a
	$(CC) $(LDFLAGS_ALL) -o $@ $(MAIN_OBJ) $(B)/core.a $(LIBS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# One .so a folder of plugins/. Adapters see the public header and libc, nothing else.
define adapter_rule
$(B)/adapters/$(1).so: $(wildcard plugins/$(1)/*.c) include/wharf/adapter.h
	@mkdir -p $$(@D)
	$$(CC) -std=c11 $$(OPT) $$(HARDEN) $$(WARN) -Iinclude -fPIC -fvisibility=hidden -shared $$(SAN) -Wl,-z,relro,-z,now $$(CFLAGS) $$(LDFLAGS) -o $$@ $$(filter %.c,$$^)
endef
$(foreach a,$(patsubst plugins/%/,%,$(wildcard plugins/*/)),$(eval $(call adapter_rule,$(a))))

include $(wildcard tests/*.mk)

clean:
	rm -rf $(B)

help:
	@grep -hE '^## ' $(MAKEFILE_LIST) | sed 's/^## //'

-include $(shell test -d $(B) && find $(B) -name '*.d')
