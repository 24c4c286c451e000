/* Student's t distribution. */
#ifndef KC_STUDENT_H
#define KC_STUDENT_H

/* P(T > t) with df > 0 degrees of freedom: half the regularised incomplete beta function I_x(df/2, 1/2) at
 * x = df / (df + t^2) (NIST DLMF 8.17, continued fraction 8.17.22). */
double kc_student_tail(double t, double df);

/* The t for which P(T > t) = tail, 0 < tail <= 0.5. */
double kc_student_point(double tail, double df);

#endif
