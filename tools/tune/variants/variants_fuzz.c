/* Any input as a list of variants, as what was timed of a sound list, and as both. */
#include "tools/command_fuzzing.h"

static struct kc_fuzz_path list, sound, code;

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry f(.param .u64 p, .param .u32 n) {\n\tret;\n}\n";
static const char lines[] = "file,kernel,grid,block,args,tile,staged\n"
			    "k.ptx,f,16,64,\"0x1000,7\",1,True\nk.ptx,f,8,128,\"0x1000,7\",2,True\n"
			    "k.ptx,f,16,64,,1,False\nk.ptx,f,8,1024,,x,False\n";

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	list = kc_fuzz_path("list");
	sound = kc_fuzz_path("sound");
	code = kc_fuzz_path("k.ptx");
	kc_fuzz_write(code.text, ptx, sizeof(ptx) - 1);
	kc_fuzz_write(sound.text, lines, sizeof(lines) - 1);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *const as_list[] = {"tune", list.text, "--device", "a100", "--timed", list.text, NULL},
			  *const as_times[] = {"tune",    sound.text, "--device", "a100",
					       "--timed", list.text,  "--json",   NULL};

	kc_fuzz_write(list.text, bytes, length);
	kc_fuzz_command(&kc_command_tune, as_list);
	kc_fuzz_command(&kc_command_tune, as_times);
	return 0;
}
