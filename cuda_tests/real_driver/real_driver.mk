# What scripts/real-driver runs beside programs of the other folders. calls_linked is linked to whatever libcuda
# LD_LIBRARY_PATH names, the others find theirs when they run.
REAL_DRIVER          := $(BUILD)/real_driver
REAL_DRIVER_PROGRAMS := $(addprefix $(REAL_DRIVER)/,addresses calls calls_linked runtime)

real-driver-programs: all $(REAL_DRIVER_PROGRAMS) $(BUILD)/demo-static $(BUILD)/demo-shared awkward-programs \
  matrix-programs door-programs
.PHONY: real-driver-programs
run-programs: $(REAL_DRIVER_PROGRAMS)

$(addprefix $(REAL_DRIVER)/,addresses calls runtime): $(REAL_DRIVER)/%: $(BUILD)/cuda_tests/real_driver/%.o
	@mkdir -p $(@D)
	$(CC) -o $@ $< -ldl $(LDFLAGS)
$(REAL_DRIVER)/calls_linked: $(BUILD)/cuda_tests/real_driver/calls.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $< -Wl,--no-as-needed $(SIMCUDA)/libcuda.so -ldl $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/real_driver/*.d)
