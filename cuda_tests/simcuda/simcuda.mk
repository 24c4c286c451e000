# Stand-ins for NVIDIA's libraries, for tests on machines without a GPU.
# SIMCUDA_LIBS: everything a test needs in its LD_LIBRARY_PATH; SIMCUDA_TESTS: unit tests.
SIMCUDA := $(BUILD)/simcuda

# --- libcuda.so.1: the simulated driver
SIMCUDA_DRIVER_SRC := $(filter-out %_test.c %/cu_resolve.c,$(wildcard cuda_tests/simcuda/driver/*.c cuda_tests/simcuda/gpu/*.c))
SIMCUDA_DRIVER_OBJ := $(patsubst cuda_tests/simcuda/%.c,$(SIMCUDA)/%.o,$(SIMCUDA_DRIVER_SRC))
SIMCUDA_LIBS += $(SIMCUDA)/libcuda.so.1 $(SIMCUDA)/libcuda.so
SIMCUDA_TESTS += $(SIMCUDA)/scheduler_test $(SIMCUDA)/driver_test

$(SIMCUDA)/driver/errors_table.h: cuda_tests/simcuda/driver/driver_errors.awk $(CUDA)/include/cuda.h
	@mkdir -p $(@D)
	awk -f $^ > $@.new && mv $@.new $@
$(SIMCUDA)/driver/resolve_table.h: cuda_tests/simcuda/driver/driver_table.awk $(SIMCUDA_DRIVER_OBJ)
	$(NM) $(SIMCUDA_DRIVER_OBJ) > $(@D)/names.txt
	awk -f $< $(CUDA)/include/cudaTypedefs.h $(CUDA)/include/cudaProfilerTypedefs.h $(@D)/names.txt > $@.new && mv $@.new $@
$(SIMCUDA)/driver/unsupported_table.h: $(addprefix cuda_tests/simcuda/driver/,driver_unsupported.awk unsupported.txt) \
  $(CUDA)/include/cuda.h
	@mkdir -p $(@D)
	awk -f $^ > $@.new && mv $@.new $@
$(SIMCUDA)/driver/cu_error.o: $(SIMCUDA)/driver/errors_table.h
$(SIMCUDA)/driver/cu_unsupported.o: $(SIMCUDA)/driver/unsupported_table.h
$(SIMCUDA)/driver/cu_resolve.o: $(SIMCUDA)/driver/resolve_table.h
$(SIMCUDA_DRIVER_OBJ) $(SIMCUDA)/driver/cu_resolve.o: $(SIMCUDA)/%.o: cuda_tests/simcuda/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -I$(SIMCUDA)/driver $(CFLAGS) -c $< -o $@

# liblz4 and libzstd are linked statically and hidden, so that the tested process never meets them.
$(SIMCUDA)/libcuda.so.1: $(SIMCUDA_DRIVER_OBJ) $(SIMCUDA)/driver/cu_resolve.o cuda_tests/simcuda/driver/driver.map
	$(CC) -shared -o $@ $(filter %.o,$^) -Wl,-Bstatic -llz4 -lzstd -Wl,-Bdynamic -pthread -ldl -lm \
	  -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--version-script=cuda_tests/simcuda/driver/driver.map -Wl,-z,defs $(LDFLAGS)
$(SIMCUDA)/libcuda.so: $(SIMCUDA)/libcuda.so.1
	ln -sf $(<F) $@
$(SIMCUDA)/scheduler_test: cuda_tests/simcuda/gpu/scheduler_test.c $(SIMCUDA)/gpu/scheduler.o
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka -ljansson $(LDFLAGS)

# --- libnvidia-ml.so.1 and libcudnn.so.9
SIMCUDA_COMPANIONS := $(addprefix $(SIMCUDA)/,libnvidia-ml.so.1 libcudnn.so.9)
SIMCUDA_LIBS += $(SIMCUDA_COMPANIONS)
$(SIMCUDA)/companions/%.o: cuda_tests/simcuda/companions/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(SIMCUDA)/libnvidia-ml.so.1: $(SIMCUDA)/companions/nvml.o
$(SIMCUDA)/libcudnn.so.9: $(SIMCUDA)/companions/cudnn.o
$(SIMCUDA_COMPANIONS):
	$(CC) -shared -o $@ $^ -ldl -Wl,-soname,$(@F) -Wl,-z,defs $(LDFLAGS)

$(SIMCUDA)/driver_test: cuda_tests/simcuda/driver/driver_test.c $(SIMCUDA)/libcuda.so.1
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c %.1,$^) -lcmocka -Wl,-rpath,'$$ORIGIN' $(LDFLAGS)

# CUPTI's headers: with the others, or in a folder of their own, as the toolkit's packager chose
SIMCUDA_CUPTI_INC := $(patsubst %/cupti_result.h,%,$(firstword $(wildcard \
  $(CUDA)/include/cupti_result.h $(CUDA)/extras/CUPTI/include/cupti_result.h)))

# --- libcudart.so.13 and, for nvcc -cudart none, libcudart_sim.a: one source, built twice
SIMCUDA_GENERATED := $(SIMCUDA)/generated
SIMCUDA_CUDART_SRC := $(wildcard cuda_tests/simcuda/cudart/*.c)
SIMCUDA_CUDART_HDR := $(addprefix $(SIMCUDA_GENERATED)/cudart_, driver_table.h cbids.h errors.h)
SIMCUDA_CUDART_NAME := $(notdir $(basename $(SIMCUDA_CUDART_SRC))) \
  $(patsubst %_calls.c,%_ptsz,$(notdir $(filter %_calls.c,$(SIMCUDA_CUDART_SRC))))
SIMCUDA_CUDART_FLAGS := -I$(SIMCUDA_GENERATED)
SIMCUDA_LIBS += $(SIMCUDA)/libcudart.so.13 $(SIMCUDA)/libcudart.so $(SIMCUDA)/libcudart_sim.a

$(SIMCUDA_GENERATED)/cudart_driver_table.h: cuda_tests/simcuda/cudart/cudart_table.awk $(CUDA)/include/cudaTypedefs.h
$(SIMCUDA_GENERATED)/cudart_cbids.h: cuda_tests/simcuda/cudart/cudart_cbids.awk $(SIMCUDA_CUPTI_INC)/cupti_runtime_cbid.h
$(SIMCUDA_GENERATED)/cudart_errors.h: cuda_tests/simcuda/cudart/cudart_errors.awk $(CUDA)/include/driver_types.h
$(SIMCUDA_CUDART_HDR):
	@mkdir -p $(@D)
	awk -f $^ > $@.new && mv $@.new $@

$(SIMCUDA)/cudart/%_ptsz.o: cuda_tests/simcuda/cudart/%_calls.c $(SIMCUDA_CUDART_HDR)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIMCUDA_CUDART_FLAGS) $(CFLAGS) -DCUDA_API_PER_THREAD_DEFAULT_STREAM -c $< -o $@
$(SIMCUDA)/cudart/%.o: cuda_tests/simcuda/cudart/%.c $(SIMCUDA_CUDART_HDR)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIMCUDA_CUDART_FLAGS) $(CFLAGS) -c $< -o $@
$(SIMCUDA)/cudart-shared/%_ptsz.o: cuda_tests/simcuda/cudart/%_calls.c $(SIMCUDA_CUDART_HDR)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIMCUDA_CUDART_FLAGS) $(CFLAGS) -fvisibility=default -DCUDA_API_PER_THREAD_DEFAULT_STREAM \
	  -c $< -o $@
$(SIMCUDA)/cudart-shared/%.o: cuda_tests/simcuda/cudart/%.c $(SIMCUDA_CUDART_HDR)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIMCUDA_CUDART_FLAGS) $(CFLAGS) -fvisibility=default -c $< -o $@

$(SIMCUDA)/libcudart_sim.a: $(SIMCUDA_CUDART_NAME:%=$(SIMCUDA)/cudart/%.o)
	rm -f $@ && $(AR) rcs $@ $^
$(SIMCUDA)/libcudart.so.13: $(SIMCUDA_CUDART_NAME:%=$(SIMCUDA)/cudart-shared/%.o) cuda_tests/simcuda/cudart/cudart.map
	$(CC) -shared -o $@ $(filter %.o,$^) -pthread -ldl -Wl,-soname,libcudart.so.13 -Wl,-Bsymbolic-functions \
	  -Wl,--version-script=cuda_tests/simcuda/cudart/cudart.map -Wl,-z,defs $(LDFLAGS)
$(SIMCUDA)/libcudart.so: $(SIMCUDA)/libcudart.so.13
	ln -sf $(<F) $@

# --- libcupti.so.13, which stays loaded: it has a thread, and the driver calls it
SIMCUDA_CUPTI_SRC := $(filter-out %_test.c %/cupti_client.c,$(wildcard cuda_tests/simcuda/cupti/*.c))
SIMCUDA_CUPTI_NAME := $(notdir $(basename $(SIMCUDA_CUPTI_SRC)))
SIMCUDA_LIBS += $(SIMCUDA)/libcupti.so.13

$(SIMCUDA_GENERATED)/cupti_names.h: cuda_tests/simcuda/cupti/cupti_names.awk \
  $(addprefix $(SIMCUDA_CUPTI_INC)/cupti_,result.h driver_cbid.h runtime_cbid.h)
	@mkdir -p $(@D)
	awk -f $^ > $@.new && mv $@.new $@
$(SIMCUDA)/cupti/%.o: cuda_tests/simcuda/cupti/%.c $(SIMCUDA_GENERATED)/cupti_names.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -I$(SIMCUDA_GENERATED) $(CFLAGS) -fvisibility=default -c $< -o $@
$(SIMCUDA)/libcupti.so.13: $(SIMCUDA_CUPTI_NAME:%=$(SIMCUDA)/cupti/%.o) cuda_tests/simcuda/cupti/cupti.map
	$(CC) -shared -o $@ $(filter %.o,$^) -pthread -ldl -Wl,-soname,libcupti.so.13 -Wl,-z,nodelete \
	  -Wl,--version-script=cuda_tests/simcuda/cupti/cupti.map -Wl,-z,defs $(LDFLAGS)

SIMCUDA_CUPTI_TESTS := $(addprefix $(SIMCUDA)/,cupti_test cupti_delivery_test)
SIMCUDA_TESTS += $(SIMCUDA_CUPTI_TESTS)
$(SIMCUDA_CUPTI_TESTS): $(SIMCUDA)/%: cuda_tests/simcuda/cupti/%.c cuda_tests/simcuda/cupti/cupti_client.c \
  cuda_tests/simcuda/cupti/cupti_client.h $(SIMCUDA)/libcupti.so.13 $(SIMCUDA)/libcuda.so.1
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c %.13 %.1,$^) -lcmocka -Wl,-rpath,'$$ORIGIN' $(LDFLAGS)

-include $(wildcard $(SIMCUDA)/*.d $(SIMCUDA)/*/*.d)
