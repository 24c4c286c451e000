# Programs of the matrix as libraries, each with all it needs, and the program
# that opens them past LD_PRELOAD.
#   doors/linked_*.so, resolved_*.so    as matrix/driver/
#   doors/shared_*.so, static_*.so      with libcudart.so.13, with a static cudart
DOORS      := $(BUILD)/doors
DOOR_NAMES := $(addprefix linked_driver_,launch ex graph) $(addprefix resolved_driver_,launch graph) \
  $(addprefix shared_runtime_,chevron graph) $(addprefix static_runtime_,chevron launch graph)
DOOR_PROGRAMS := $(DOORS)/open $(DOOR_NAMES:%=$(DOORS)/%.so)
DOOR_LINK      = $(CC) -shared -o $@ $(filter-out %.mk,$^) -lstdc++ -pthread -ldl -lrt $(LDFLAGS)

door-programs: $(DOOR_PROGRAMS)
.PHONY: door-programs

$(DOORS)/open: cuda_tests/matrix/doors/open.c $(READY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CSTD) $(OPT) $(WARN) -o $@ $< -ldl $(LDFLAGS)
$(DOORS)/obj/%.o: cuda_tests/matrix/%.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) $(MATRIX_NVCC) -Xcompiler -fPIC -c $< -o $@
$(DOORS)/linked_%.so: $(call matrix_obj,% driver program image) $(SIMCUDA)/libcuda.so
	@mkdir -p $(@D)
	$(DOOR_LINK)
$(DOORS)/resolved_%.so: $(call matrix_obj,resolved_% resolved_driver program image)
	@mkdir -p $(@D)
	$(DOOR_LINK)
# Where the form itself is CUDA it is compiled for a library, as its kernels are.
DOOR_PARTS := $(call matrix_obj,runtime program) $(DOORS)/obj/kernels.o
$(DOORS)/shared_runtime_chevron.so: $(DOORS)/obj/runtime_chevron.o $(DOOR_PARTS) $(SIMCUDA)/libcudart.so
	$(DOOR_LINK)
$(DOORS)/static_runtime_chevron.so: $(DOORS)/obj/runtime_chevron.o $(DOOR_PARTS) $(SIMCUDA)/libcudart_sim.a
	$(DOOR_LINK)
$(DOORS)/shared_%.so: $(call matrix_obj,%) $(DOOR_PARTS) $(SIMCUDA)/libcudart.so
	$(DOOR_LINK)
$(DOORS)/static_%.so: $(call matrix_obj,%) $(DOOR_PARTS) $(SIMCUDA)/libcudart_sim.a
	$(DOOR_LINK)
.PRECIOUS: $(DOORS)/obj/%.o
