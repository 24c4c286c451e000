/* What late.so exports. */
#ifndef RANGES_LATE_H
#define RANGES_LATE_H

__attribute__((visibility("default"))) int late_push(const char *name);
__attribute__((visibility("default"))) int late_pop(void);

#endif
