/*
 * Shared by the parts of a report's text.
 */
#ifndef KC_TOOLS_REPORT_TEXT_H
#define KC_TOOLS_REPORT_TEXT_H

#include "report_forms.h"

#define KC_REPORT_INDENT 2u

/* The kernels that took most of the measured time. 0 or -ENOMEM. */
int kc__report_print_time(const struct kc_report_view *view);

#endif
