# Programs that do what is allowed but unusual: each .c here and in code/ and processes/ is one, linked to the stand-in
# driver. In libraries/ is what some of them open or run on.
AWKWARD           := $(BUILD)/awkward
AWKWARD_LIBRARIES := $(addprefix $(AWKWARD)/,future_driver/libcuda.so.1 old_cupti/libcupti.so.12 refusing_cupti/libcupti.so.13 profiler_plugin.so \
  interposer.so versioned_interposer.so anywhere_interposer.so global_interposer.so \
  linked_interposer.so \
  clock_plugin.so init_plugin.so old_profiler_plugin.so late.so remote_fs.so slow_folders.so resolver.so exit_waits.so own_memory.so own_strings.so)
AWKWARD_SRC       := $(foreach folder,awkward awkward/code awkward/processes,$(wildcard cuda_tests/$(folder)/*.c))
AWKWARD_PROGRAMS  := $(addprefix $(AWKWARD)/,$(notdir $(basename $(AWKWARD_SRC))))
AWKWARD_OBJECTS   := $(BUILD)/cuda_tests/awkward/libraries

awkward-programs: $(AWKWARD_PROGRAMS) $(AWKWARD_LIBRARIES)
.PHONY: awkward-programs
run-programs: awkward-programs

$(foreach source,$(AWKWARD_SRC),$(eval $(AWKWARD)/$(notdir $(basename $(source))): $(BUILD)/$(basename $(source)).o))
$(AWKWARD_PROGRAMS): $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(CC) -rdynamic -o $@ $(filter %.o,$^) $(filter-out %.o,$^) -pthread -ldl $(LDFLAGS)
# Seconds pass in it as fast as the machine can.
$(AWKWARD)/steady: $(BUILD)/cuda_tests/playback/simulated_time.o
# With a static CUDA runtime.
$(AWKWARD)/small_stack: $(SIMCUDA)/libcudart_sim.a
$(AWKWARD)/small_stack: private LDFLAGS += -Wl,-z,now # what is bound at the first call would hide what that call takes
$(AWKWARD)/profiles: $(SIMCUDA)/libcupti.so.13
$(AWKWARD)/future_driver/libcuda.so.1: $(AWKWARD_OBJECTS)/future_driver.o
$(AWKWARD)/old_cupti/libcupti.so.12: $(AWKWARD_OBJECTS)/old_cupti.o
$(AWKWARD)/refusing_cupti/libcupti.so.13: $(AWKWARD_OBJECTS)/refusing_cupti.o
$(AWKWARD)/init_plugin.so: $(AWKWARD_OBJECTS)/init_plugin.o $(SIMCUDA)/libcuda.so
$(AWKWARD)/late.so: $(AWKWARD_OBJECTS)/late.o
$(AWKWARD)/remote_fs.so: $(AWKWARD_OBJECTS)/remote_fs.o
$(AWKWARD)/slow_folders.so: $(AWKWARD_OBJECTS)/slow_folders.o
$(AWKWARD)/exit_waits.so: $(AWKWARD_OBJECTS)/exit_waits.o
$(AWKWARD)/own_memory.so: $(AWKWARD_OBJECTS)/own_memory.o
$(AWKWARD)/own_strings.so: $(AWKWARD_OBJECTS)/own_strings.o
$(AWKWARD_OBJECTS)/own_strings.o: private CFLAGS += -fno-builtin
$(AWKWARD)/resolver.so: $(AWKWARD_OBJECTS)/resolver.o $(SIMCUDA)/libcuda.so
$(AWKWARD)/profiler_plugin.so: $(AWKWARD_OBJECTS)/profiler_plugin.o $(SIMCUDA)/libcupti.so.13 \
  $(SIMCUDA)/libcuda.so
$(AWKWARD)/clock_plugin.so: $(AWKWARD_OBJECTS)/clock_plugin.o $(SIMCUDA)/libcupti.so.13 $(SIMCUDA)/libcuda.so
$(AWKWARD)/old_profiler_plugin.so: $(AWKWARD_OBJECTS)/profiler_plugin.o $(AWKWARD)/old_cupti/libcupti.so.12 \
  $(SIMCUDA)/libcuda.so
$(AWKWARD)/interposer.so: $(AWKWARD_OBJECTS)/interposer.o
$(AWKWARD)/anywhere_interposer.so: $(AWKWARD_OBJECTS)/anywhere_interposer.o
$(AWKWARD)/global_interposer.so: $(AWKWARD_OBJECTS)/global_interposer.o
$(AWKWARD)/linked_interposer.so: $(AWKWARD_OBJECTS)/linked_interposer.o $(SIMCUDA)/libcuda.so
$(AWKWARD)/versioned_interposer.so: $(AWKWARD_OBJECTS)/versioned_interposer.o
$(AWKWARD)/versioned_interposer.so: private LDFLAGS += -Wl,--version-script=cuda_tests/awkward/libraries/interposer.map
$(AWKWARD_OBJECTS)/anywhere_interposer.o: private CPPFLAGS += -DANYWHERE
$(AWKWARD_OBJECTS)/global_interposer.o: private CPPFLAGS += -DGLOBAL
$(AWKWARD_OBJECTS)/linked_interposer.o: private CPPFLAGS += -DLINKED
$(AWKWARD_OBJECTS)/versioned_interposer.o: private CPPFLAGS += -DVERSIONED
$(AWKWARD_OBJECTS)/%_interposer.o: cuda_tests/awkward/libraries/interposer.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(AWKWARD_LIBRARIES):
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ -Wl,-soname,$(@F) $(LDFLAGS)
# AddressSanitizer checks the whole process for leaks.
$(BUILD)/cuda_tests/awkward/processes/leaks.o: private CFLAGS += -fsanitize=address
$(AWKWARD)/leaks: private LDFLAGS += -fsanitize=address
-include $(patsubst %.c,$(BUILD)/%.d,$(AWKWARD_SRC)) $(wildcard $(AWKWARD_OBJECTS)/*.d)
