# Launches that take longer than they should, for known reasons.
SLOW := $(BUILD)/slow/slow-sim
run-programs: $(SLOW)

$(BUILD)/slow/slow.o: cuda_tests/slow/slow.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -Xcompiler -Wall,-Wextra $(NVCC_SAN) -gencode arch=compute_80,code=[sm_80,compute_80] -MMD -c $< -o $@
$(BUILD)/slow/slow-sim: $(BUILD)/slow/slow.o $(SIMCUDA)/libcudart_sim.a
	$(CXX) $^ -o $@ -ldl -lpthread $(LDFLAGS)
-include $(wildcard $(BUILD)/slow/*.d)
