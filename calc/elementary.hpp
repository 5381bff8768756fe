#pragma once
/// Elementary functions whose results are bit-identical on every machine and with every compiler. They use only
/// additions, multiplications, divisions and square roots of IEEE doubles in a fixed order, so they must be compiled
/// without contraction into fused multiply-adds (-ffp-contract=off). Standard math libraries differ from each other
/// in the last bit.
///
/// Errors are below 0.7 units in the last place; below 1 for expm1(); for erfc(), see its comment. Infinities, NaNs,
/// zeros and domain errors follow the C standard, except that errno is not set.

namespace llmcalc::elementary {

double exp(double x);
/// e^x - 1.
double expm1(double x);
double log(double x);
/// log(1 + x).
double log1p(double x);
/// Binary logarithm, exact for powers of two.
double log2(double x);
double log10(double x);
/// x^y. A negative x requires an integral y.
double pow(double x, double y);
/// 1 - erf(x). The relative error is below 1e-13 for results of at least 1e-30.
double erfc(double x);

}  // namespace llmcalc::elementary
