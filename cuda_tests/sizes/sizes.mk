# One kernel at growing sizes: with PTX, without, and compiled by NVRTC as the program runs. crowd, for `make sanitize`:
# many threads at changing sizes.
SIZES := $(addprefix $(BUILD)/sizes/,sizes-sim sizes-sass-sim sizes_nvrtc)
SANITIZED_SIZES := $(addprefix $(BUILD)/sizes/,sizes-sim crowd-sim)
run-programs: $(SIZES)

$(BUILD)/sizes/sizes.o:      cuda_tests/sizes/sizes.cu
$(BUILD)/sizes/sizes-sass.o: cuda_tests/sizes/sizes.cu
$(BUILD)/sizes/crowd.o:      cuda_tests/sizes/crowd.cu
$(BUILD)/sizes/%.o:          SIZES_CODE := arch=compute_80,code=[sm_80,compute_80]
$(BUILD)/sizes/sizes-sass.o: SIZES_CODE := arch=compute_80,code=sm_80
$(addprefix $(BUILD)/sizes/,sizes.o sizes-sass.o crowd.o): $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -Xcompiler -Wall,-Wextra $(NVCC_SAN) -gencode $(SIZES_CODE) -MMD -c $(filter %.cu,$^) -o $@
$(BUILD)/sizes/%-sim: $(BUILD)/sizes/%.o $(SIMCUDA)/libcudart_sim.a
	$(CXX) $^ -o $@ -ldl -lpthread $(LDFLAGS)
$(BUILD)/sizes/sizes_nvrtc: $(BUILD)/cuda_tests/sizes/sizes_nvrtc.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -ldl -lpthread $(LDFLAGS)
-include $(wildcard $(BUILD)/sizes/*.d $(BUILD)/cuda_tests/sizes/*.d)
