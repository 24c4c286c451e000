# Programs that do what is allowed and seldom expected; each .c is one, linked to the stand-in driver, but for
# NAME_plugin.c, a library linked to the stand-in's CUPTI, too, and NAME_driver.c, which is itself a driver.
AWKWARD          := $(BUILD)/awkward
AWKWARD_SRC      := $(wildcard cuda_tests/awkward/*.c)
AWKWARD_PROGRAMS := $(patsubst cuda_tests/awkward/%.c,$(AWKWARD)/%,$(filter-out %_plugin.c %_driver.c,$(AWKWARD_SRC)))
AWKWARD_PLUGINS  := $(patsubst cuda_tests/awkward/%.c,$(AWKWARD)/%.so,$(filter %_plugin.c,$(AWKWARD_SRC)))
AWKWARD_DRIVERS  := $(patsubst cuda_tests/awkward/%.c,$(AWKWARD)/%/libcuda.so.1,$(filter %_driver.c,$(AWKWARD_SRC)))

awkward-programs: $(AWKWARD_PROGRAMS) $(AWKWARD_PLUGINS) $(AWKWARD_DRIVERS)
.PHONY: awkward-programs
run-programs: awkward-programs

$(AWKWARD_PROGRAMS): $(AWKWARD)/%: $(BUILD)/cuda_tests/awkward/%.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -rdynamic -o $@ $^ -pthread -ldl $(LDFLAGS)
$(AWKWARD_PLUGINS): $(AWKWARD)/%.so: $(BUILD)/cuda_tests/awkward/%.o $(SIMCUDA)/libcuda.so $(SIMCUDA)/libcupti.so.13
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(LDFLAGS)
$(AWKWARD_DRIVERS): $(AWKWARD)/%/libcuda.so.1: $(BUILD)/cuda_tests/awkward/%.o
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ -Wl,-soname,libcuda.so.1 $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/awkward/*.d)
