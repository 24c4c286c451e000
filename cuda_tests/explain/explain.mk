# Kernels whose counts were derived by hand, as a shared object, and one of their
# files through every container that nvcc makes. Nothing here runs on a GPU.
EXPLAIN         := $(BUILD)/explain
EXPLAIN_KERNELS := $(addprefix cuda_tests/explain/,matmul.cu simple.cu shared.cu irregular.cu own_memory.cu)
EXPLAIN_SRC     := $(wildcard cuda_tests/explain/*.c)
EXPLAIN_TESTS   := $(EXPLAIN)/counts_test $(EXPLAIN)/reading_test $(EXPLAIN)/launch_test
EXPLAIN_ARCH    := -gencode arch=compute_90,code=[sm_90,compute_90]

# Never loaded, so it needs no runtime; NVCCFLAGS name other architectures.
$(EXPLAIN)/libkernels.so: $(EXPLAIN_KERNELS) $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -shared -Xcompiler -fPIC -cudart none $(EXPLAIN_ARCH) $(filter %.cu,$^) -o $@
$(EXPLAIN)/counts_test: $(addprefix $(BUILD)/cuda_tests/explain/,counts_test.o oracle.o cases_matmul.o cases_simple.o \
  cases_shared.o cases_irregular.o cases_own_memory.o)
	$(CC) -o $@ $^ $(JSON_LIBS) -lcmocka $(SYSTEM_LIBS) $(LDFLAGS)
$(EXPLAIN)/reading_test: $(BUILD)/cuda_tests/explain/reading_test.o $(PREDICTOR)
	$(CC) -o $@ $^ -lcmocka $(SYSTEM_LIBS) $(LDFLAGS)
$(EXPLAIN)/launch_test: $(addprefix $(BUILD)/cuda_tests/explain/,launch_test.o oracle.o cases_matmul.o cases_simple.o \
  cases_shared.o cases_irregular.o cases_own_memory.o) $(PREDICTOR)
	$(CC) -o $@ $^ -lcmocka $(SYSTEM_LIBS) $(LDFLAGS)
# What they read when they run.
$(EXPLAIN_TESTS): | $(EXPLAIN)/libkernels.so $(EXPLAIN_KERNELS:cuda_tests/explain/%.cu=$(EXPLAIN)/%.ptx) $(BUILD)/kerncast
$(BUILD)/predictor/code/features/block_freedom_test.o $(BUILD)/tools/tune/runs/run_blocks_trace_test.o: \
  CPPFLAGS += -DKC_EXPLAIN='"$(abspath $(EXPLAIN))"'
$(addprefix $(BUILD)/,predictor/code/features/block_freedom_test predictor/solo/curve_trace_test \
  tools/tune/runs/run_blocks_trace_test): | $(addprefix $(EXPLAIN)/,matmul.ptx simple.ptx shared.ptx)

$(EXPLAIN)/%.ptx: cuda_tests/explain/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -arch=compute_90 -ptx $< -o $@

# Launches of these kernels, on the simulated device.
$(EXPLAIN)/launch_shapes: $(BUILD)/cuda_tests/explain/launch_shapes.o $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS)
run-programs: $(EXPLAIN)/launch_shapes

# --- one source, every container
CONTAINERS := $(EXPLAIN)/containers
CONTAINED  := cuda_tests/explain/shared.cu
contain     = @mkdir -p $(@D); $(NVCC) -O2 $(1) $(CONTAINED) -o $@
$(CONTAINERS)/sm_90.o: $(CONTAINED) $(READY)
	$(call contain,-arch=sm_90 -c)
$(CONTAINERS)/default.o: $(CONTAINED) $(READY)
	$(call contain,-c)
$(CONTAINERS)/none.o $(CONTAINERS)/speed.o $(CONTAINERS)/size.o: $(CONTAINERS)/%.o: $(CONTAINED) $(READY)
	$(call contain,-arch=sm_90 --compress-mode=$* -c)
$(CONTAINERS)/kernels.fatbin: $(CONTAINED) $(READY)
	$(call contain,$(EXPLAIN_ARCH) -fatbin)
$(CONTAINERS)/kernels.ptx: $(CONTAINED) $(READY)
	$(call contain,-arch=compute_90 -ptx)
$(CONTAINERS)/kernels.cubin: $(CONTAINED) $(READY)
	$(call contain,-arch=sm_90 -cubin)
$(CONTAINERS)/program: $(CONTAINERS)/sm_90.o cuda_tests/explain/main.c
	$(NVCC) -cudart shared $^ -o $@
$(CONTAINERS)/library.so: $(CONTAINED) $(READY)
	$(call contain,-arch=sm_90 -shared -Xcompiler -fPIC -cudart shared)
# Two files linked on the device, one of them without kernels.
$(CONTAINERS)/rdc: $(CONTAINED) cuda_tests/explain/main.c $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -arch=sm_90 -rdc=true -cudart shared $(filter %.cu %.c,$^) -o $@
# Machine code for one architecture, PTX of an older one; and no PTX at all.
$(CONTAINERS)/mixed.o: $(CONTAINED) $(READY)
	$(call contain,-gencode arch=compute_75$(comma)code=[sm_75$(comma)compute_75] \
	  -gencode arch=compute_90$(comma)code=sm_90 -c)
$(CONTAINERS)/code_only.o: $(CONTAINED) $(READY)
	$(call contain,-gencode arch=compute_90$(comma)code=sm_90 -c)

explain-files: $(EXPLAIN)/libkernels.so $(EXPLAIN)/simple.ptx $(EXPLAIN)/own_memory.ptx $(addprefix $(CONTAINERS)/,sm_90.o default.o none.o speed.o \
  size.o kernels.fatbin kernels.ptx kernels.cubin program library.so rdc mixed.o code_only.o)
run-programs: explain-files
.PHONY: explain-files
-include $(wildcard $(BUILD)/cuda_tests/explain/*.d)
