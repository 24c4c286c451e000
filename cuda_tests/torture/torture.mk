# What scripts/torture runs: programs that count their own launches, and one that runs a command in a tight place.
TORTURE          := $(BUILD)/torture
TORTURE_PROGRAMS := $(addprefix $(TORTURE)/,work_driver work_runtime confine)

torture-programs: all $(TORTURE_PROGRAMS) $(BUILD)/demo-static-sim $(SIMCUDA_LIBS)
.PHONY: torture-programs
run-programs: $(TORTURE_PROGRAMS)

$(TORTURE)/work_driver: $(SIMCUDA)/libcuda.so
$(TORTURE)/work_runtime: $(SIMCUDA)/libcudart.so.13
$(TORTURE)/work_%: $(BUILD)/cuda_tests/torture/work.o $(BUILD)/cuda_tests/torture/work_%.o $(BUILD)/cuda_tests/torture/deny.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -pthread -ldl $(LDFLAGS)
$(TORTURE)/confine: $(addprefix $(BUILD)/cuda_tests/torture/,confine.o deny.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS)
-include $(wildcard $(BUILD)/cuda_tests/torture/*.d)
