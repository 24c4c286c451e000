# Programs of the papers' experiments, every one linked three times:
#   NAME       the toolkit's shared runtime, for a GPU
#   NAME-sim   the stand-in's, for the simulated device
#   NAME-cpu   no CUDA: the kernels themselves run on the CPU (on_cpu.h), not pairs and sharing, which compute nothing
EXPERIMENTS := $(BUILD)/experiments
EXPERIMENT_OBJ := $(BUILD)/cuda_tests/experiments
EXPERIMENT_MEASURED := real_pairs bsp cycles block_size boat_hull
# Without the papers' algorithms.
EXPERIMENT_ALONE := pairs sharing
EXPERIMENT_SHARED := linear sequence grid points image
EXPERIMENT_C := $(patsubst cuda_tests/experiments/%.c,$(EXPERIMENT_OBJ)/%.o,cuda_tests/experiments/program_options.c \
  $(filter-out %_test.c,$(wildcard cuda_tests/experiments/reference/*.c)))
EXPERIMENT_PROGRAMS := $(foreach name,$(EXPERIMENT_ALONE) $(EXPERIMENT_MEASURED),$(EXPERIMENTS)/$(name) $(EXPERIMENTS)/$(name)-sim) \
  $(EXPERIMENT_MEASURED:%=$(EXPERIMENTS)/%-cpu)

# What a program needs beside its own object, by how that was compiled: cuda or cpu.
experiment_parts = $(patsubst %,$(EXPERIMENT_OBJ)/%.$(2).o,program $(if $(filter-out $(EXPERIMENT_ALONE),$(1)),$(EXPERIMENT_SHARED))) $(EXPERIMENT_C)

# compress-mode: they are carried to machines with a GPU (cuda_tests/gpu/gpu.mk).
$(EXPERIMENT_OBJ)/%.cuda.o: cuda_tests/experiments/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) --compress-mode=size -MMD -c $< -o $@
EXPERIMENT_CXX := $(if $(findstring clang,$(CC)),clang++,g++)
EXPERIMENT_CPU := $(EXPERIMENT_CXX) -std=c++17 $(OPT) -Wall -Wextra -Werror -MMD -MP -c
$(EXPERIMENT_OBJ)/%.cpu.o: cuda_tests/experiments/%.cu $(READY)
	@mkdir -p $(@D)
	$(EXPERIMENT_CPU) -x c++ $< -o $@
$(EXPERIMENT_OBJ)/on_cpu.o: cuda_tests/experiments/on_cpu.cc $(READY)
	@mkdir -p $(@D)
	$(EXPERIMENT_CPU) $< -o $@

define experiment_program # NAME
$(EXPERIMENTS)/$(1): $(EXPERIMENT_OBJ)/$(1).cuda.o $(call experiment_parts,$(1),cuda)
	@mkdir -p $$(@D)
	$(NVCC) -cudart shared $$^ -o $$@ -Xlinker -rpath,$(CUDA)/lib64 $(NVCC_SAN)
$(EXPERIMENTS)/$(1)-sim: $(EXPERIMENT_OBJ)/$(1).cuda.o $(call experiment_parts,$(1),cuda) $(SIMCUDA)/libcudart_sim.a
	@mkdir -p $$(@D)
	$(NVCC) -cudart none $$^ -o $$@ -ldl -lpthread $(NVCC_SAN)
$(EXPERIMENTS)/$(1)-cpu: $(EXPERIMENT_OBJ)/$(1).cpu.o $(call experiment_parts,$(1),cpu) $(EXPERIMENT_OBJ)/on_cpu.o
	@mkdir -p $$(@D)
	$(EXPERIMENT_CXX) $$^ -o $$@ -lm $(LDFLAGS)
endef
$(foreach name,$(EXPERIMENT_ALONE) $(EXPERIMENT_MEASURED),$(eval $(call experiment_program,$(name))))

EXPERIMENT_TESTS := $(EXPERIMENTS)/reference_test
$(EXPERIMENTS)/reference_test: $(EXPERIMENT_OBJ)/reference/reference_test.o $(EXPERIMENT_C)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcmocka -lm $(LDFLAGS)

experiment-programs: $(EXPERIMENT_PROGRAMS)
.PHONY: experiment-programs
run-programs: experiment-programs
-include $(wildcard $(EXPERIMENT_OBJ)/*.d $(EXPERIMENT_OBJ)/reference/*.d)

# What the simulated device is told, beside the programs: `kerncast-lab experiment` finds it there.
EXPERIMENT_COSTS := $(addprefix $(EXPERIMENTS)/,programs.costs pairs.costs sharing.costs)
$(EXPERIMENT_COSTS): $(EXPERIMENTS)/%: cuda_tests/experiments/%
	@mkdir -p $(@D)
	cp $< $@
experiment-programs: $(EXPERIMENT_COSTS)
