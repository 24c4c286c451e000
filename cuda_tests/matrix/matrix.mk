# The matrix's programs: every one is linked several times, nvcc compiles each .cu once.
#   matrix/shared/    libcudart.so.13: NVIDIA's or the stand-in's, as LD_LIBRARY_PATH says
#   matrix/sim/       the stand-in's static cudart
#   matrix/static/    NVIDIA's static cudart, for a machine with a GPU (matrix-gpu-programs)
#   matrix/driver/    no cudart: the driver linked (linked_) or found at run time (resolved_)
# NAME_ptds: compiled for the per-thread default stream.
MATRIX       := $(BUILD)/matrix
MATRIX_NVCC  := -O2 -Xcompiler -Wall,-Wextra -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90 $(NVCC_SAN)
MATRIX_FLAGS := $(CSTD) $(OPT) $(WARN) -fPIC -pthread -MMD -MP $(if $(SAN),-fsanitize=$(SAN))
MATRIX_PTDS  := -DCUDA_API_PER_THREAD_DEFAULT_STREAM
MATRIX_RUNTIME := $(addprefix runtime_,chevron launch ex cooperative graph)
MATRIX_DRIVER  := $(addprefix driver_,launch ex cooperative graph)
MATRIX_PROCESS := $(addprefix process_,fork_first fork_after fork_busy exec exit daemon closefrom many)
MATRIX_CUDART  := $(MATRIX_RUNTIME) $(MATRIX_RUNTIME:%=%_ptds) $(MATRIX_PROCESS) process_reload process_sqlite plugin_1.so plugin_2.so
MATRIX_PROGRAMS := $(foreach how,shared sim,$(MATRIX_CUDART:%=$(MATRIX)/$(how)/%)) $(addprefix $(MATRIX)/shared/process_cupti,_linked _loaded) \
  $(foreach how,linked resolved,$(foreach name,$(MATRIX_DRIVER) $(MATRIX_DRIVER:%=%_ptds) driver_images,$(MATRIX)/driver/$(how)_$(name))) \
  $(MATRIX)/wrapper.so $(MATRIX)/run-matrix
MATRIX_GPU_PROGRAMS := $(MATRIX_CUDART:%=$(MATRIX)/static/%)

matrix-programs: $(MATRIX_PROGRAMS)
matrix-gpu-programs: $(MATRIX_PROGRAMS) $(MATRIX_GPU_PROGRAMS)
.PHONY: matrix-programs matrix-gpu-programs
run-programs: matrix-programs

# --- objects
$(MATRIX)/obj/%_ptds.o: cuda_tests/matrix/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(MATRIX_NVCC) -MMD --default-stream per-thread -c $< -o $@
$(MATRIX)/obj/plugin_%.o: cuda_tests/matrix/plugin.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(MATRIX_NVCC) -MMD -Xcompiler -fPIC -DPLUGIN=$* -c $< -o $@
$(MATRIX)/obj/%.o: cuda_tests/matrix/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(MATRIX_NVCC) -MMD -c $< -o $@
$(MATRIX)/obj/%_ptds.o: cuda_tests/matrix/%.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) $(MATRIX_PTDS) -c $< -o $@
$(MATRIX)/obj/%.o: cuda_tests/matrix/%.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) -c $< -o $@
$(MATRIX)/obj/process_%.o: cuda_tests/matrix/process/process_%.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) -c $< -o $@
$(MATRIX)/obj/resolved_%_ptds.o: cuda_tests/matrix/%.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) $(MATRIX_PTDS) -DDRIVER_RESOLVED -c $< -o $@
$(MATRIX)/obj/resolved_%.o: cuda_tests/matrix/%.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) -DDRIVER_RESOLVED -c $< -o $@
$(MATRIX)/obj/process_cupti_linked.o: cuda_tests/matrix/process/process_cupti.c $(READY)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) -c $< -o $@
$(MATRIX)/obj/process_cupti_loaded.o: cuda_tests/matrix/process/process_cupti.c $(READY)
	$(CC) $(CPPFLAGS) $(MATRIX_FLAGS) -DCUPTI_LOADED -c $< -o $@
$(MATRIX)/kernels.fatbin: cuda_tests/matrix/kernels.cu cuda_tests/matrix/kernels.h $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(MATRIX_NVCC) -fatbin $< -o $@
$(MATRIX)/obj/image.o: cuda_tests/matrix/image.S $(MATRIX)/kernels.fatbin
	@mkdir -p $(@D)
	$(CC) -DIMAGE='"$(MATRIX)/kernels.fatbin"' -c $< -o $@

# --- programs
matrix_obj = $(patsubst %,$(MATRIX)/obj/%.o,$(1))
matrix_ptds = $(if $(filter %_ptds,$(1)),_ptds)
# What a program of the runtime needs beside its own object.
matrix_parts = $(call matrix_obj,program runtime$(call matrix_ptds,$(1)) kernels $(if $(filter process_%,$(1)),process_common))
MATRIX_CUDART_sim    = $(SIMCUDA)/libcudart_sim.a
MATRIX_CUDART_static = $(CUDA)/lib64/libcudart_static.a
MATRIX_CUDART_shared = $(SIMCUDA)/libcudart.so

define matrix_program # HOW NAME
$(MATRIX)/$(1)/$(2): $(call matrix_obj,$(2)) $(call matrix_parts,$(2)) $(MATRIX_CUDART_$(1))
	@mkdir -p $$(@D)
	$(CC) -o $$@ $$^ -lstdc++ -pthread -ldl -lrt $(MATRIX_LIBS_$(2)) $(LDFLAGS)
endef
define matrix_plugin # HOW NUMBER
$(MATRIX)/$(1)/plugin_$(2).so: $(call matrix_obj,plugin_$(2) runtime kernels program) $(MATRIX_CUDART_$(1))
	@mkdir -p $$(@D)
	$(CC) -shared -o $$@ $$^ -lstdc++ -pthread -ldl -lrt -Wl,-Bsymbolic -Wl,--exclude-libs,ALL $(LDFLAGS)
endef
# Not the linker's own shared library: the archive, all of it exported.
MATRIX_LIBS_process_sqlite := -rdynamic -Wl,-Bstatic $(SQLITE_LIBS) -Wl,-Bdynamic -lm
MATRIX_LIBS_process_cupti_linked := $(SIMCUDA)/libcupti.so.13
$(foreach how,shared sim static,$(foreach name,$(filter-out process_reload %.so,$(MATRIX_CUDART)) $(if $(filter shared,$(how)),process_cupti_linked process_cupti_loaded),\
  $(eval $(call matrix_program,$(how),$(name))))$(foreach n,1 2,$(eval $(call matrix_plugin,$(how),$(n)))))
$(MATRIX)/shared/process_cupti_linked: | $(SIMCUDA)/libcupti.so.13
$(MATRIX)/%/process_reload: $(call matrix_obj,process_reload program)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -ldl -pthread $(LDFLAGS)

$(MATRIX)/driver/linked_%_ptds: $(call matrix_obj,%_ptds driver_ptds program image) | $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(SIMCUDA)/libcuda.so -pthread $(LDFLAGS)
$(MATRIX)/driver/linked_%: $(call matrix_obj,% driver program image) | $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(SIMCUDA)/libcuda.so -pthread $(LDFLAGS)
$(MATRIX)/driver/resolved_%_ptds: $(call matrix_obj,resolved_%_ptds resolved_driver_ptds program image)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -ldl -pthread $(LDFLAGS)
$(MATRIX)/driver/resolved_%: $(call matrix_obj,resolved_% resolved_driver program image)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -ldl -pthread $(LDFLAGS)
$(MATRIX)/wrapper.so: $(call matrix_obj,wrapper)
	$(CC) -shared -o $@ $^ -ldl $(LDFLAGS)
$(MATRIX)/run-matrix: cuda_tests/matrix/run-matrix
	@mkdir -p $(@D)
	install -m 755 $< $@

.PRECIOUS: $(MATRIX)/obj/%.o
-include $(wildcard $(MATRIX)/obj/*.d)
