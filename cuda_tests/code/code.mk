# GPU code in every container that nvcc makes, for the unit tests of predictor/code
# and as seeds of its fuzz targets.
CODE     := $(BUILD)/code
CODE_SM  := 75 80 89 90 100 120
CODE_MODULES := $(addprefix $(CODE)/,default.fatbin none.fatbin speed.fatbin size.fatbin two.fatbin specific.fatbin \
  cubin_only.fatbin plain.ptx plain.cubin relocatable.cubin default.o rdc.o rdc $(CODE_SM:%=instructions_%.cubin))

$(CODE)/default.fatbin:    CODE_FLAGS := -arch=sm_90 -fatbin
$(CODE)/none.fatbin:       CODE_FLAGS := -arch=sm_90 -fatbin --compress-mode=none
$(CODE)/speed.fatbin:      CODE_FLAGS := -arch=sm_90 -fatbin --compress-mode=speed
$(CODE)/size.fatbin:       CODE_FLAGS := -arch=sm_90 -fatbin --compress-mode=size
$(CODE)/two.fatbin:        CODE_FLAGS := -fatbin -gencode arch=compute_80,code=[sm_80,compute_80] \
                             -gencode arch=compute_90,code=[sm_90,compute_90]
$(CODE)/specific.fatbin:   CODE_FLAGS := -arch=sm_90a -fatbin
$(CODE)/cubin_only.fatbin: CODE_FLAGS := -fatbin -gencode arch=compute_90,code=sm_90
$(CODE)/plain.ptx:         CODE_FLAGS := -arch=sm_90 -ptx
$(CODE)/plain.cubin:       CODE_FLAGS := -arch=sm_90 -cubin
$(CODE)/default.o:         CODE_FLAGS := -arch=sm_90 -c
$(CODE)/rdc.o:             CODE_FLAGS := -arch=sm_90 -rdc=true -c
$(CODE)/rdc:               CODE_FLAGS := -arch=sm_90 -rdc=true
$(filter-out $(CODE)/instructions_% $(CODE)/relocatable.cubin,$(CODE_MODULES)): cuda_tests/code/containers.cu cuda_tests/code/code.mk $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 $(CODE_FLAGS) $< -o $@
# Large shared arrays.
$(CODE)/relocatable.cubin: cuda_tests/explain/shared.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -arch=sm_90 -rdc=true -cubin $< -o $@
$(CODE)/instructions_%.cubin: cuda_tests/code/instructions.ptx
	@mkdir -p $(@D)
	$(CUDA)/bin/ptxas -arch=sm_$* $< -o $@

$(BUILD)/predictor/code/container/image_test.o $(BUILD)/predictor/code/machine/cubin_test.o: CPPFLAGS += -DKC_CODE_MODULES='"$(abspath $(CODE))"'
$(BUILD)/predictor/code/container/image_test.o $(BUILD)/predictor/code/machine/cubin_test.o: | $(CODE_MODULES)

# What machine code has in common with its PTX: instructions by architecture, and one source whose kernels differ by it.
CODE_FEATURES := $(addprefix $(CODE)/features_,80_80.cubin 80_86.cubin 80_89.cubin 80_90.cubin 80_100.cubin 80_120.cubin \
  89_89.cubin 89_120.cubin 90a_90a.cubin 100a_100a.cubin 120a_120a.cubin)
$(CODE_FEATURES): $(CODE)/features_%.cubin: $(wildcard cuda_tests/code/features_*.ptx)
	@mkdir -p $(@D)
	$(CUDA)/bin/ptxas -arch=sm_$(lastword $(subst _, ,$*)) cuda_tests/code/features_$(firstword $(subst _, ,$*)).ptx -o $@
CODE_DIFFERS  := $(CODE)/differs.fatbin $(CODE)/differs_relocatable.cubin
$(CODE)/differs.fatbin: cuda_tests/code/differs.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -fatbin $(foreach sm,75 80 90 100 120,-gencode arch=compute_$(sm)$(comma)code=sm_$(sm)) \
	  -gencode arch=compute_80$(comma)code=compute_80 -gencode arch=compute_120$(comma)code=compute_120 $< -o $@
$(CODE)/differs_relocatable.cubin: cuda_tests/code/differs.cu $(READY)
	@mkdir -p $(@D)
	$(NVCC) -O2 -arch=sm_90 -rdc=true -cubin $< -o $@
$(BUILD)/predictor/code/features/features_test.o: CPPFLAGS += -DKC_CODE_MODULES='"$(abspath $(CODE))"'
$(BUILD)/predictor/code/features/features_test.o: | $(CODE_FEATURES) $(CODE_DIFFERS)
