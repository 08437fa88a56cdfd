# SPDX-License-Identifier: Apache-2.0
# The programs, archives and adapters of the tests, and what each is made of. Programs of unit tests: unit.mk.
objects = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))
BENCH := $(B)/tests/bench
BENCHES := $(addprefix $(BENCH)/,host_bench engine_bench adapter_bench json_bench)
WORLD := $(B)/tests/world.a
WORLD_HTTP := $(B)/tests/world-http.a $(WORLD)
WORLD_LIBS := $(shell pkg-config --libs libmicrohttpd gnutls libcrypto 2>/dev/null)
WORLD_FRONT_OBJ := $(addprefix $(B)/tests/world/,http_front.o http_answer.o certs.o)
INTEGRATION_SRC := $(wildcard tests/integration/*_test.c)
INTEGRATION_BIN := $(INTEGRATION_SRC:%.c=$(B)/%)
INTEGRATION_HELP := $(filter-out $(INTEGRATION_BIN:%=%.o),$(call objects,tests/integration/*.c)) $(B)/tests/unit/kube/tls_server.o
PLUGIN_OBJ := $(PLUGINS:%=$(B)/tests/simulation/adapters/%.o)
FIXTURE := $(B)/tests/support/fixture.o
RECORDING := $(B)/tests/support/recording.o
BUILT := $(B)/tests/support/built.o
SHIPPED := $(B)/tests/support/shipped.o $(BUILT)

# The model of clusters and the simulated network, nothing of HTTP; the HTTP front; clusters with a wharf as a child.
$(B)/tests/world.a: $(filter-out $(WORLD_FRONT_OBJ) $(B)/tests/world/world_main.o,$(call objects,tests/world/*.c))
$(B)/tests/world-http.a: $(WORLD_FRONT_OBJ)
$(B)/tests/support.a: $(call objects,tests/support/*.c)
$(B)/tests/world.a $(B)/tests/world-http.a $(B)/tests/support.a:
	$(archive)

$(B)/tests/world/world: $(B)/tests/world/world_main.o $(WORLD_HTTP)
$(B)/tests/demo/demo: $(call objects,tests/demo/*.c) $(B)/tests/support.a $(WORLD_HTTP)
$(B)/wharf-sandbox: $(call objects,tests/sandbox/*.c) $(B)/tests/support.a $(WORLD_HTTP)
$(B)/tests/simulation/sim: $(call objects,tests/simulation/*.c) $(PLUGIN_OBJ) $(B)/tests/support.a $(WORLD)
$(B)/tests/to_json: $(B)/tests/support/to_json.o
$(BENCH)/host_bench: $(filter-out $(BENCH)/%_bench.o,$(call objects,tests/bench/*.c)) $(BENCH)/host_bench.o $(FIXTURE) $(WORLD_HTTP)
$(BENCH)/engine_bench: $(BENCH)/engine_bench.o $(call objects,plugins/job/*.c) $(SHIPPED)
$(BENCH)/adapter_bench: $(BENCH)/adapter_bench.o $(FIXTURE) $(SHIPPED)
$(BENCH)/json_bench: $(BENCH)/json_bench.o
$(INTEGRATION_BIN): $(B)/tests/integration/%: $(B)/tests/integration/%.o $(INTEGRATION_HELP) $(B)/tests/support.a $(WORLD_HTTP)

# They call the adapters as the simulation has them, with its table of kinds.
FUZZ_PROGRAMS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/*_fuzz.c))
$(FUZZ_PROGRAMS): %: %.o $(B)/tests/fuzz/fuzz_main.o $(B)/tests/simulation/kinds.o $(PLUGIN_OBJ) $(B)/tests/support.a $(WORLD)
$(B)/tests/fuzz/websocket_fuzz: $(B)/cmd.a

WORLD_PROGRAMS := $(B)/wharf-sandbox $(B)/tests/world/world $(B)/tests/demo/demo $(BENCH)/host_bench $(INTEGRATION_BIN)
PROGRAMS := $(WORLD_PROGRAMS) $(B)/tests/simulation/sim $(B)/tests/to_json $(FUZZ_PROGRAMS) $(filter-out $(WORLD_PROGRAMS),$(BENCHES))
$(WORLD_PROGRAMS): private LIBS += $(WORLD_LIBS)
$(INTEGRATION_BIN): private LIBS += -lcmocka
$(PROGRAMS): $(B)/core.a
	$(link)

# Adapters, most of them bad in one way.
BAD_ADAPTERS := $(patsubst tests/unit/adapter/%.c,$(B)/%.so,$(wildcard tests/unit/adapter/bad_adapters/*.c))
BAD_CONFORMANCE := $(patsubst tests/conformance/bad/%.c,$(B)/conformance/%.so,$(wildcard tests/conformance/bad/*.c))
PLANTED := $(B)/conformance/planted.so
HANG_ADAPTERS := $(patsubst tests/integration/hang/%.c,$(B)/hang_adapters/%.so,$(wildcard tests/integration/hang/*.c))
PLAN_ADAPTER := $(B)/plan_adapters/thing.so
SCORER := $(B)/examples/data-locality.so
GALLERY_ADAPTERS := $(patsubst tests/gallery/adapters/%.c,$(B)/gallery/%.so,$(wildcard tests/gallery/adapters/*.c))
TEST_ADAPTERS := $(BAD_ADAPTERS) $(BAD_CONFORMANCE) $(PLANTED) $(HANG_ADAPTERS) $(PLAN_ADAPTER) $(GALLERY_ADAPTERS) $(SCORER)

$(BAD_ADAPTERS): $(B)/%.so: tests/unit/adapter/%.c tests/unit/adapter/bad_adapters/template.h
$(BAD_CONFORMANCE): $(B)/conformance/%.so: tests/conformance/bad/%.c tests/conformance/template.h tests/conformance/adapter.h
$(PLANTED): tests/conformance/planted/planted.c
$(HANG_ADAPTERS): $(B)/hang_adapters/%.so: tests/integration/hang/%.c
$(PLAN_ADAPTER): tests/integration/plan/adapter.c
$(SCORER): examples/scorer-data-locality/data-locality.c
$(GALLERY_ADAPTERS): $(B)/gallery/%.so: tests/gallery/adapters/%.c tests/gallery/farm.h
$(TEST_ADAPTERS): private ADAPTER_FLAGS += -D_GNU_SOURCE -I.
$(B)/gallery/locale.so: private ADAPTER_FLAGS += -Wl,--no-as-needed -lm
$(TEST_ADAPTERS): include/wharf/adapter.h
	$(link_adapter)

.PHONY: bad-adapters
bad-adapters: $(BAD_ADAPTERS)
