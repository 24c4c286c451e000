/* What preloading alone costs: a library that does nothing. */
void kc_noop_preload(void);
__attribute__((visibility("default"))) void kc_noop_preload(void)
{
}
