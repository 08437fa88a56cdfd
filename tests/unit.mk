# SPDX-License-Identifier: Apache-2.0
## make unit      unit tests (cmocka): tests/unit/<folder>/<name>_test.c, one program each (UNIT=PATTERN: only those)
UNIT ?=
UNIT_SRC := $(wildcard tests/unit/*/*_test.c tests/unit/*/*/*_test.c)
UNIT_BIN := $(UNIT_SRC:tests/%.c=$(B)/%)
UNIT_RUN := $(if $(UNIT),$(foreach t,$(UNIT_BIN),$(if $(findstring $(UNIT),$(t)),$(t))),$(UNIT_BIN))
TEST_TARGETS += unit

$(UNIT_BIN): private LIBS += -lcmocka
$(UNIT_BIN): $(B)/unit/%: $(B)/tests/unit/%.o $(B)/core.a
	$(link)

.PHONY: unit
unit-programs: $(UNIT_RUN) $(ADAPTERS)
unit: unit-programs
	@sh tests/cmocka.sh $(UNIT_RUN)

# What a test needs besides the core.
unit_bin = $(filter $(1:%=$(B)/unit/%_test),$(UNIT_BIN))
unit_obj = $(1:%=$(B)/tests/unit/%.o)

$(call unit_bin,cmd/% fault/plan fault/adapter_new): $(B)/cmd.a
$(call unit_bin,conform/%): $(B)/conform.a $(B)/isolate.a
$(call unit_bin,isolate/%): $(B)/isolate.a
$(call unit_bin,isolate/sandbox): $(call unit_obj,isolate/acts) $(BUILT) | $(B)/adapters/job.so
$(call unit_bin,conform/% isolate/%): private LIBS += $(SECCOMP_LIBS)
$(call unit_bin,demo/%): $(B)/tests/demo/table.o $(B)/tests/demo/screen.o $(B)/tests/demo/jobs.o $(WORLD_HTTP)
$(call unit_bin,demo/%): private LIBS += $(WORLD_LIBS)
$(call unit_bin,engine/% serve/api serve/api_explain serve/worker): $(call unit_obj,engine/stage) $(WORLD)
$(call unit_bin,engine/recordings): $(RECORDING) $(SHIPPED)
$(call unit_bin,engine/accounts_kinds): $(SHIPPED)
$(call unit_bin,engine/aside engine/aside_wait): $(B)/tests/support/kind_gate.o
$(call unit_bin,adapter/hello cmd/adapter_new): $(SHIPPED)
$(call unit_bin,engine/waiting fault/engine): $(B)/tests/support/engine_views.o
$(call unit_bin,host/election host/guard_run): $(WORLD)
$(call unit_bin,engine/carry engine/carry_steps engine/mirror engine/values): $(B)/tests/support/trains.o
$(call unit_bin,world/%): $(WORLD_HTTP)
$(call unit_bin,world/player): $(FIXTURE)
$(call unit_bin,world/recordings): $(FIXTURE) $(RECORDING)
$(call unit_bin,world/%): private LIBS += $(WORLD_LIBS)
$(call unit_bin,fault/files): $(call unit_obj,kube/pki)
$(call unit_bin,plugins/kinds): $(call unit_obj,plugins/kinds_compare plugins/kinds_host plugins/kinds_recorded plugins/kinds_story) $(FIXTURE) $(RECORDING) $(SHIPPED)
$(call unit_bin,adapter/adapters adapter/adapter_file adapter/process%): $(call unit_obj,adapter/adapters_stage) $(BUILT) | $(BAD_ADAPTERS)
$(call unit_bin,adapter/process%): $(call unit_obj,adapter/process_stage)
$(call unit_bin,plugins/%): | $(ADAPTERS)
$(call unit_bin,adapter/process% engine/recordings plugins/kinds): | $(B)/wharf-adapter

# Certificates and a server, for what goes over the network.
$(call unit_bin,$(addprefix kube/,$(addprefix transport/,curl_transport curl_cancel curl_limits curl_trust loop tunnel gate) $(addprefix kubeconfig/,kubeconfig endpoint) $(addprefix credentials/,exec_plugin curl_exec))): \
	$(call unit_obj,kube/pki kube/tls_server kube/net_world)
$(call unit_bin,cmd/reporter host/blocking_client host/token_renewal serve/worker): $(call unit_obj,kube/pki kube/tls_server)

# The allocating functions pass through tests/unit/fault/fault.c, which makes them fail.
FAULT_WRAP := malloc calloc realloc reallocarray free strdup strndup vasprintf __vasprintf_chk cJSON_malloc cJSON_free
$(call unit_bin,fault/%): $(call unit_obj,fault/fault)
$(call unit_bin,fault/%): private LDFLAGS_ALL += $(FAULT_WRAP:%=-Wl,--wrap=%)

# <name>_steps_test.c counts what the code does, not how long it takes: the files that it looks at are compiled once more,
# with a call into tests/support/steps.c from each basic block. What ships has none of it.
STEPS_SRC := $(wildcard core/json/*.c core/json/yaml/*.c) $(addprefix core/base/,map.c buffer.c text.c utf8.c) core/kube/object/object.c core/kube/object/span.c $(wildcard core/adapter/services/*.c core/engine/mirror/carry*.c core/engine/mirror/mirror*.c) core/engine/mirror/record.c core/adapter/phase.c
STEPS_OBJ := $(STEPS_SRC:%.c=$(B)/steps/%.o)
$(filter %_steps_test,$(UNIT_BIN)): $(STEPS_OBJ) $(B)/tests/support/steps.o
$(STEPS_OBJ): private CFLAGS_ALL += -fsanitize-coverage=trace-pc
$(STEPS_OBJ): $(B)/steps/%.o: %.c
	$(compile)
