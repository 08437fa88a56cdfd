# SPDX-License-Identifier: Apache-2.0
# `make` builds build/wharf, build/wharf-conformance, build/wharf-adapter and build/adapters/*.so. `make help` lists the rest.
VERSION := 0.1.0
B ?= build
CC ?= cc
PREFIX ?= /usr/local
PKGS := libcurl libcjson yaml-0.1 libssl libcrypto libmicrohttpd gnutls
WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Werror
OPT ?= -O2 -g
HARDEN ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
SAN ?=
Q := $(if $(V),,@)
ADAPTER_DIR := $(PREFIX)/lib/wharf/adapters
CPPFLAGS_ALL := -D_GNU_SOURCE -DWHARF_VERSION='"$(VERSION)"' -I. -Iinclude $(CPPFLAGS)
CFLAGS_ALL := -std=c11 $(OPT) $(HARDEN) $(WARN) -fPIE -fvisibility=hidden -pthread $(SAN) $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
LDFLAGS_ALL := -pie -Wl,-z,relro,-z,now,-z,noexecstack -pthread $(SAN) $(LDFLAGS)
LIBS := $(shell pkg-config --libs $(PKGS)) -ldl -lm
SECCOMP_LIBS := $(shell pkg-config --libs libseccomp)

CORE_ROOMS := base json kube config adapter engine host serve
sources = $(wildcard $(foreach folder,$1,$(folder)/*.c $(folder)/*/*.c $(folder)/*/*/*.c)) # of folders and what is below
CORE_SRC := $(call sources,$(CORE_ROOMS:%=core/%))
CORE_OBJ := $(CORE_SRC:%.c=$(B)/%.o)
CMD_OBJ := $(patsubst %.c,$(B)/%.o,$(call sources,core/cmd))
ISOLATE_OBJ := $(patsubst %.c,$(B)/%.o,$(call sources,core/isolate))
CONFORM_OBJ := $(patsubst %.c,$(B)/%.o,$(call sources,core/conform))
# One adapter a folder of plugins/, except that plugins/kubeflow has two, which share a header. shared_<adapter>: sources
# of another adapter that an adapter is made of, too.
PLUGINS := $(sort mpijob $(patsubst plugins/%/,%,$(wildcard plugins/*/)))
shared_jobset := plugins/job/job_progress.c plugins/job/job_indexes.c
plugin_sources = $(if $(filter mpijob,$1),plugins/kubeflow/mpijob.c,$(filter-out %/mpijob.c,$(wildcard plugins/$1/*.c))) $(shared_$1)
plugin_headers = $(wildcard plugins/$(if $(filter mpijob,$1),kubeflow,$1)/*.h $(addsuffix *.h,$(sort $(dir $(shared_$1)))))
ADAPTERS := $(PLUGINS:%=$(B)/adapters/%.so)

comma := ,
space := $(subst ,, )

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY: # objects that only a rule of patterns leads to are kept
.PHONY: all clean help FORCE
## make           build/wharf, build/wharf-conformance, build/wharf-adapter and build/adapters/*.so (may be given: CC, B=<folder>, OPT, SAN, PREFIX; V=1 shows commands)
all: $(B)/wharf $(B)/wharf-conformance $(B)/wharf-adapter $(ADAPTERS)

# The recipes. Each makes its target of what its rule names, the same way everywhere; what is special to a target is a
# variable of that target (CPPFLAGS_ALL, CFLAGS_ALL, LDFLAGS_ALL, LIBS, ADAPTER_FLAGS).
define compile
@mkdir -p $(@D)
@$(if $(V),,echo "CC $(@:$(B)/%=%)")
$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
endef

define archive
@mkdir -p $(@D)
@rm -f $@
@$(if $(V),,echo "AR $@")
$(Q)$(AR) rcs $@ $^
endef

# Archives may be named in any order.
define link
@mkdir -p $(@D)
@$(if $(V),,echo "LD $@")
$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)
endef

# Adapters see the public header and libc, nothing else.
ADAPTER_FLAGS = -std=c11 $(OPT) $(HARDEN) $(WARN) -Iinclude -fPIC -fvisibility=hidden -shared $(SAN) -Wl,-z,relro,-z,now $(CFLAGS) $(LDFLAGS)
define link_adapter
@mkdir -p $(@D)
@$(if $(V),,echo "LD $@")
$(Q)$(CC) $(ADAPTER_FLAGS) -o $@ $(filter %.c,$^)
endef

$(B)/%.o: %.c
	$(compile)

$(B)/core.a: $(CORE_OBJ)
	$(archive)

# The subcommands, for their tests.
$(B)/cmd.a: $(filter-out $(B)/core/cmd/main.o,$(CMD_OBJ))
	$(archive)

$(B)/wharf: $(B)/core/cmd/main.o $(B)/cmd.a $(B)/core.a
	$(link)

# The sandbox of adapters in processes of their own. What links it adds SECCOMP_LIBS.
$(B)/isolate.a: $(filter-out $(B)/core/isolate/main.o,$(ISOLATE_OBJ))
	$(archive)

# The authors' kit, which `wharf adapter test` runs: the daemon does not carry it.
$(B)/conform.a: $(filter-out $(B)/core/conform/main.o,$(CONFORM_OBJ))
	$(archive)

$(B)/wharf-conformance: private LIBS := $(shell pkg-config --libs libcjson yaml-0.1 libcrypto) $(SECCOMP_LIBS) -ldl -lm
$(B)/wharf-conformance: private LDFLAGS_ALL += -rdynamic
$(B)/wharf-conformance: $(B)/core/conform/main.o $(B)/conform.a $(B)/isolate.a $(B)/core.a
	$(link)

# The program that runs an isolated adapter. Whoever runs the wharf of this build finds it beside wharf.
$(B)/wharf: | $(B)/wharf-adapter
$(B)/wharf-adapter: private LIBS := $(shell pkg-config --libs libcjson) $(SECCOMP_LIBS) -ldl
$(B)/wharf-adapter: private LDFLAGS_ALL += -Wl,--as-needed
$(B)/wharf-adapter: $(B)/core/isolate/main.o $(B)/isolate.a $(B)/core.a
	$(link)

# The adapters that come with wharf.
$(B)/core/adapter/load/adapters.o $(B)/abi/grown/core/adapter/load/adapters.o: CPPFLAGS_ALL += '-DWHARF_ADAPTERS=$(subst $(space),$(comma),$(PLUGINS:%="%"))'

# Where adapters are looked for unless the configuration says otherwise. `make install` with another PREFIX than `make`
# builds anew what knows of it, and nothing else.
$(B)/core/config/config.o: CPPFLAGS_ALL += -DWHARF_ADAPTER_DIRECTORY='"$(ADAPTER_DIR)"'
$(B)/core/config/config.o: $(B)/adapter-dir
$(B)/adapter-dir: FORCE
	@mkdir -p $(@D)
	@echo '$(ADAPTER_DIR)' | cmp -s - $@ || echo '$(ADAPTER_DIR)' > $@

# The commit: that of the repository; of a tarball (make dist) or an archive of the sources the one that git wrote into
# etc/commit. Empty where neither is there.
COMMIT ?= $(or $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)),$(shell \
	sed -n 's/^\([0-9a-f]\{12\}\).*/\1/p' etc/commit))
$(B)/core/cmd/main.o: CPPFLAGS_ALL += -DWHARF_COMMIT='"$(COMMIT)"'
$(B)/core/cmd/main.o: $(B)/commit
$(B)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' > $@.now
	@cmp -s $@.now $@ && rm $@.now || mv $@.now $@

$(B)/core/cmd/line/complete.o: $(wildcard core/cmd/line/completion.*)
$(B)/core/cmd/adapter_new/write_code.o $(B)/core/cmd/adapter_new/write_files.o: $(wildcard core/cmd/adapter_new/parts/*) examples/adapter-rust/wharf.rs

# The page at "/" is one file, made of its parts and taken into the program by the assembler (.incbin).
UI_PARTS := $(addprefix core/serve/ui/,begin.html style.css body.html api.js model.js route.js clusters.js table.js story.js main.js end.html)
$(B)/ui.html: $(UI_PARTS)
	@mkdir -p $(@D)
	@cat $^ > $@
$(B)/core/serve/ui/ui.o: CPPFLAGS_ALL += -DWHARF_UI_FILE='"$(B)/ui.html"'
$(B)/core/serve/ui/ui.o: $(B)/ui.html

define adapter_rule
$(B)/adapters/$(1).so: $(call plugin_sources,$(1)) $(call plugin_headers,$(1)) include/wharf/adapter.h
	$$(link_adapter)
endef
$(foreach a,$(PLUGINS),$(eval $(call adapter_rule,$(a))))

include etc/install.mk etc/package.mk tests/programs.mk $(filter-out tests/programs.mk,$(sort $(wildcard tests/*.mk)))

## make clean     removes $(B)
clean:
	rm -rf $(B)

## make help      this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

-include $(shell test -d $(B) && find $(B) -type f -name '*.d')
