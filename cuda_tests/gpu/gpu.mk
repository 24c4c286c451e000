# What scripts/gpu-check needs, gathered in $(BUILD)/gpu, so that the repository and
# this folder are all that goes to a machine with a GPU.
GPU := $(BUILD)/gpu

# No libsqlite3, libjansson or libyajl over there: linked in, where they can be.
GPU_STATIC = $(if $(filter /%,$(shell $(CC) -print-file-name=libjansson.a)),-Wl$(comma)-Bstatic)
# Debian's static yajl has a name of its own.
GPU_JSON_LIBS = $(if $(filter /%,$(shell $(CC) -print-file-name=libyajl_s.a)),$(patsubst -lyajl,-lyajl_s,$(JSON_LIBS)),$(JSON_LIBS))
GPU_PROGRAMS := $(addprefix $(GPU)/,$(PROGRAMS))
$(GPU)/kerncast: $(PROGRAM_OBJ)
$(GPU)/kerncast-lab: $(LAB_OBJ)
$(GPU_PROGRAMS): $(TOOLS) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o,$^) $(TOOLS) $(ARCHIVES) $(GPU_STATIC) $(SQLITE_LIBS) $(GPU_JSON_LIBS) $(ZLIB_LIBS) -Wl,-Bdynamic \
	  $(NAMES_LIBS) $(UNPACK_LIBS) $(SYSTEM_LIBS) $(LDFLAGS)
	strip $@
# Finds driver, CUPTI and runtime with dlopen: it starts on machines that have another CUDA.
FACTS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cuda_tests/gpu/facts/*.c))
$(BUILD)/facts: $(FACTS_OBJ)
	$(CC) -o $@ $^ -pthread -ldl $(LDFLAGS)
-include $(FACTS_OBJ:.o=.d)

# NVIDIA's libraries, from the toolkit that was built with, for a machine that lacks them.
GPU_NVIDIA := $(foreach name,libcudart.so.13 libcupti.so.13,$(firstword $(wildcard \
  $(CUDA)/lib64/$(name) $(CUDA)/extras/CUPTI/lib64/$(name))))
GPU_COPIED := libkerncast.so $(if $(wildcard shim/audit/audit.c),libkerncast-audit.so) gpu-probe facts \
  demo-static demo-static-sim demo-shared launch_path noop_preload.so \
  $(addprefix simcuda/,libcuda.so.1 libcudart.so.13 libcupti.so.13) \
  $(patsubst $(BUILD)/%,%,$(MATRIX_PROGRAMS) $(MATRIX_GPU_PROGRAMS) $(filter-out %-cpu,$(EXPERIMENT_PROGRAMS)))
GPU_FILES := $(GPU_PROGRAMS) $(addprefix $(GPU)/,$(GPU_COPIED)) $(addprefix $(GPU)/,demo.costs facts.costs first.costs) \
  $(patsubst $(BUILD)/%,$(GPU)/%,$(EXPERIMENT_COSTS)) \
  $(addprefix $(GPU)/explain/,simple.ptx shared.ptx matmul.ptx) $(addprefix $(GPU)/lib/,$(notdir $(GPU_NVIDIA)))

$(addprefix $(GPU)/,$(GPU_COPIED)): $(GPU)/%: $(BUILD)/%
	@mkdir -p $(@D)
	cp $< $@
	$(if $(filter %/run-matrix,$@),,strip $@)
$(GPU)/experiments/%.costs: $(EXPERIMENTS)/%.costs
	@mkdir -p $(@D)
	cp $< $@
$(GPU)/facts.costs $(GPU)/first.costs: $(GPU)/%: cuda_tests/gpu/facts/%
	@mkdir -p $(@D)
	cp $< $@
# For every device since compute capability 7.5.
$(GPU)/explain/%.ptx: cuda_tests/explain/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -arch=compute_75 -ptx $< -o $@
$(GPU)/demo.costs: cuda_tests/demo/demo.costs
	@mkdir -p $(@D)
	cp $< $@
define copy_nvidia
$(GPU)/lib/$(notdir $(1)): $(1)
	@mkdir -p $$(@D)
	cp -L $$< $$@
endef
$(foreach file,$(GPU_NVIDIA),$(eval $(call copy_nvidia,$(file))))

gpu-check-files: $(GPU_FILES)
	@scripts/gpu-check-size $(GPU)
.PHONY: gpu-check-files
