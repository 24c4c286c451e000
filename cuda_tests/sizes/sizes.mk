# One kernel at growing sizes: with its PTX, and with machine code alone.
SIZES := $(addprefix $(BUILD)/sizes/,sizes-sim sizes-sass-sim)
run-programs: $(SIZES)

$(BUILD)/sizes/sizes.o:      SIZES_CODE := arch=compute_80,code=[sm_80,compute_80]
$(BUILD)/sizes/sizes-sass.o: SIZES_CODE := arch=compute_80,code=sm_80
$(BUILD)/sizes/%.o: cuda_tests/sizes/sizes.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -Xcompiler -Wall,-Wextra -gencode $(SIZES_CODE) -MMD -c $< -o $@
$(BUILD)/sizes/%-sim: $(BUILD)/sizes/%.o $(SIMCUDA)/libcudart_sim.a
	$(CXX) $^ -o $@ -ldl -lpthread
-include $(wildcard $(BUILD)/sizes/*.d)
