# Programs that measure what kernels do to one another. The static runtime is the
# toolkit's, for a GPU; NAME-sim carries the stand-in's.
EXPERIMENTS := $(BUILD)/experiments
EXPERIMENT_PROGRAMS := $(foreach name,pairs,$(EXPERIMENTS)/$(name) $(EXPERIMENTS)/$(name)-sim)

$(BUILD)/cuda_tests/experiments/%.o: cuda_tests/experiments/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -c $< -o $@
$(EXPERIMENTS)/%-sim: $(BUILD)/cuda_tests/experiments/%.o $(SIMCUDA)/libcudart_sim.a
	@mkdir -p $(@D)
	$(NVCC) -cudart none $^ -o $@ -ldl -lpthread $(NVCC_SAN)
$(EXPERIMENTS)/%: $(BUILD)/cuda_tests/experiments/%.o
	@mkdir -p $(@D)
	$(NVCC) -cudart static $< -o $@

experiment-programs: $(EXPERIMENT_PROGRAMS)
.PHONY: experiment-programs
.PRECIOUS: $(BUILD)/cuda_tests/experiments/%.o
run-programs: experiment-programs
-include $(wildcard $(BUILD)/cuda_tests/experiments/*.d)
