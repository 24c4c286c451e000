/*
 * Classes of kernels by the operators that launched them, where these are recorded:
 * cuDNN convolves by kernels that are named as matrix products, and what they are
 * for is what the operator does.
 */
#ifndef KC_OPERATOR_CLASS_H
#define KC_OPERATOR_CLASS_H

#include "store/query/query.h"

/* Moves launches of convolutions, those that match the filter, which may be NULL, from the class of products to theirs;
 * a kernel is of the class in which most of its measured time is. Launches are read, unless there are more than
 * KC_ACTIVITY_MOST and the report is not exact. 0 or negative errno. */
int kc_query_operator_classes(struct kc_store *s, struct kc_filter *filter, struct kc_report *report);

#endif
