#include "formula_read.h"

#include "counting.h"
#include "local_cells.h"

int kc__read_formula(struct kc_formula *f, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel, int follows_memory, struct kc_refusal *refusal)
{
	struct kc__formula_reader r = {.arena = arena, .module = module, .kernel = kernel, .f = f};
	int rc = kc_cfg_read(&f->cfg, arena, module, kernel, refusal);

	f->static_shared_bytes = kernel->static_shared_bytes;
	if (rc || !f->cfg.block_count)
		return rc;
	kc__find_expected_bytes(&r);
	rc = follows_memory ? kc__find_cells(&f->cfg, arena) : 0;
	rc = rc ? rc : kc__slice(&r);
	rc = rc ? rc : kc__find_contractions(&r);
	rc = rc ? rc : kc__find_joined_predicates(&r);
	rc = rc ? rc : kc__find_divergence(&r);
	rc = rc ? rc : kc__build_ssa(&r);
	if (!rc)
		kc__make_sums(f);
	rc = rc ? rc : kc__find_chains(&r);
	if (!rc) {
		kc__drop_fixed_requests(f);
		kc__join_loads(f);
	}
	return rc ? rc : kc__lay_out_values(&r);
}
