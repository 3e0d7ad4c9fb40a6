"""Schemas of element-wise arithmetic, roundings, logic and elementary functions, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[pointwise]
add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
mul.Tensor(Tensor self, Tensor other) -> Tensor
mul.Scalar(Tensor self, Scalar other) -> Tensor
mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
div.Tensor(Tensor self, Tensor other) -> Tensor
div.Scalar(Tensor self, Scalar other) -> Tensor
div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)
div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)
div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)
true_divide.Tensor(Tensor self, Tensor other) -> Tensor
remainder.Tensor(Tensor self, Tensor other) -> Tensor
remainder.Scalar(Tensor self, Scalar other) -> Tensor
remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
fmod.Tensor(Tensor self, Tensor other) -> Tensor
fmod.Scalar(Tensor self, Scalar other) -> Tensor
fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
pow.Scalar(Scalar self, Tensor exponent) -> Tensor
pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)
pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)
pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)
pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)
neg(Tensor self) -> Tensor
neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
neg_(Tensor(a!) self) -> Tensor(a!)
abs(Tensor self) -> Tensor
abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sign(Tensor self) -> Tensor
sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sign_(Tensor(a!) self) -> Tensor(a!)
exp(Tensor self) -> Tensor
exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
exp_(Tensor(a!) self) -> Tensor(a!)
exp2(Tensor self) -> Tensor
exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
exp2_(Tensor(a!) self) -> Tensor(a!)
expm1(Tensor self) -> Tensor
expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
expm1_(Tensor(a!) self) -> Tensor(a!)
log(Tensor self) -> Tensor
log.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
log_(Tensor(a!) self) -> Tensor(a!)
log2(Tensor self) -> Tensor
log2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
log2_(Tensor(a!) self) -> Tensor(a!)
log10(Tensor self) -> Tensor
log10.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
log10_(Tensor(a!) self) -> Tensor(a!)
log1p(Tensor self) -> Tensor
log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
log1p_(Tensor(a!) self) -> Tensor(a!)
sqrt(Tensor self) -> Tensor
sqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sqrt_(Tensor(a!) self) -> Tensor(a!)
rsqrt(Tensor self) -> Tensor
rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
rsqrt_(Tensor(a!) self) -> Tensor(a!)
reciprocal(Tensor self) -> Tensor
reciprocal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
reciprocal_(Tensor(a!) self) -> Tensor(a!)
square(Tensor self) -> Tensor
square.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
square_(Tensor(a!) self) -> Tensor(a!)
sin(Tensor self) -> Tensor
sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sin_(Tensor(a!) self) -> Tensor(a!)
cos(Tensor self) -> Tensor
cos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
cos_(Tensor(a!) self) -> Tensor(a!)
tan(Tensor self) -> Tensor
tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
tan_(Tensor(a!) self) -> Tensor(a!)
asin(Tensor self) -> Tensor
asin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
asin_(Tensor(a!) self) -> Tensor(a!)
acos(Tensor self) -> Tensor
acos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
acos_(Tensor(a!) self) -> Tensor(a!)
atan(Tensor self) -> Tensor
atan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
atan_(Tensor(a!) self) -> Tensor(a!)
atan2(Tensor self, Tensor other) -> Tensor
atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)
sinh(Tensor self) -> Tensor
sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sinh_(Tensor(a!) self) -> Tensor(a!)
cosh(Tensor self) -> Tensor
cosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
cosh_(Tensor(a!) self) -> Tensor(a!)
tanh(Tensor self) -> Tensor
tanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
tanh_(Tensor(a!) self) -> Tensor(a!)
asinh(Tensor self) -> Tensor
asinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
asinh_(Tensor(a!) self) -> Tensor(a!)
acosh(Tensor self) -> Tensor
acosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
acosh_(Tensor(a!) self) -> Tensor(a!)
atanh(Tensor self) -> Tensor
atanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
atanh_(Tensor(a!) self) -> Tensor(a!)
sigmoid(Tensor self) -> Tensor
sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sigmoid_(Tensor(a!) self) -> Tensor(a!)
erf(Tensor self) -> Tensor
erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
erf_(Tensor(a!) self) -> Tensor(a!)
erfc(Tensor self) -> Tensor
erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
erfc_(Tensor(a!) self) -> Tensor(a!)
floor(Tensor self) -> Tensor
floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
floor_(Tensor(a!) self) -> Tensor(a!)
ceil(Tensor self) -> Tensor
ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
ceil_(Tensor(a!) self) -> Tensor(a!)
round(Tensor self) -> Tensor
round.decimals(Tensor self, *, int decimals) -> Tensor
round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!)
round_(Tensor(a!) self) -> Tensor(a!)
round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)
trunc(Tensor self) -> Tensor
trunc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
trunc_(Tensor(a!) self) -> Tensor(a!)
frac(Tensor self) -> Tensor
frac.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
frac_(Tensor(a!) self) -> Tensor(a!)
clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)
clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)
clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)
clamp_min(Tensor self, Scalar min) -> Tensor
clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
clamp_min.out(Tensor self, Scalar min, *, Tensor(a!) out) -> Tensor(a!)
clamp_min.Tensor_out(Tensor self, Tensor min, *, Tensor(a!) out) -> Tensor(a!)
clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)
clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)
clamp_max(Tensor self, Scalar max) -> Tensor
clamp_max.Tensor(Tensor self, Tensor max) -> Tensor
clamp_max.out(Tensor self, Scalar max, *, Tensor(a!) out) -> Tensor(a!)
clamp_max.Tensor_out(Tensor self, Tensor max, *, Tensor(a!) out) -> Tensor(a!)
clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)
clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)
clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
clip.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)
clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)
maximum(Tensor self, Tensor other) -> Tensor
maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
minimum(Tensor self, Tensor other) -> Tensor
minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
lerp.Scalar_out(Tensor self, Tensor end, Scalar weight, *, Tensor(a!) out) -> Tensor(a!)
lerp.Tensor_out(Tensor self, Tensor end, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)
lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)
lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)
addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
addcmul.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)
addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
addcdiv.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)
addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
logical_and(Tensor self, Tensor other) -> Tensor
logical_and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
logical_and_(Tensor(a!) self, Tensor other) -> Tensor(a!)
logical_or(Tensor self, Tensor other) -> Tensor
logical_or.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
logical_or_(Tensor(a!) self, Tensor other) -> Tensor(a!)
logical_xor(Tensor self, Tensor other) -> Tensor
logical_xor.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
logical_xor_(Tensor(a!) self, Tensor other) -> Tensor(a!)
logical_not(Tensor self) -> Tensor
logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
logical_not_(Tensor(a!) self) -> Tensor(a!)
bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor
bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
bitwise_and.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_and.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_and_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
bitwise_and_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor
bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
bitwise_or.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_or.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_or_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
bitwise_or_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor
bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
bitwise_xor.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_xor.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_xor_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
bitwise_xor_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor
bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
bitwise_left_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_left_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
bitwise_left_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor
bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
bitwise_right_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
bitwise_right_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
bitwise_right_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_not(Tensor self) -> Tensor
bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
bitwise_not_(Tensor(a!) self) -> Tensor(a!)
__xor__.Tensor(Tensor self, Tensor other) -> Tensor
__xor__.Scalar(Tensor self, Scalar other) -> Tensor
isnan(Tensor self) -> Tensor
isinf(Tensor self) -> Tensor
isfinite(Tensor self) -> Tensor
nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
nan_to_num.out(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out) ->
    Tensor(a!)
nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)
masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
positive(Tensor(a) self) -> Tensor(a)
[]
subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
subtract.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
multiply.Tensor(Tensor self, Tensor other) -> Tensor
multiply.Scalar(Tensor self, Scalar other) -> Tensor
multiply.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
divide.Tensor(Tensor self, Tensor other) -> Tensor
divide.Scalar(Tensor self, Scalar other) -> Tensor
divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
divide.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)
divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
divide_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)
divide_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)
divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
true_divide.Scalar(Tensor self, Scalar other) -> Tensor
true_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
floor_divide(Tensor self, Tensor other) -> Tensor
floor_divide.Scalar(Tensor self, Scalar other) -> Tensor
floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
negative(Tensor self) -> Tensor
negative.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
negative_(Tensor(a!) self) -> Tensor(a!)
abs_(Tensor(a!) self) -> Tensor(a!)
absolute(Tensor self) -> Tensor
absolute.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
absolute_(Tensor(a!) self) -> Tensor(a!)
clip.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)
where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor
where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor
where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
where(Tensor condition) -> Tensor[]
where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
__and__.Scalar(Tensor self, Scalar other) -> Tensor
__and__.Tensor(Tensor self, Tensor other) -> Tensor
__or__.Tensor(Tensor self, Tensor other) -> Tensor
__or__.Scalar(Tensor self, Scalar other) -> Tensor
masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)
masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)
[pointwise]
signbit(Tensor self) -> Tensor
signbit.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
copysign.Tensor(Tensor self, Tensor other) -> Tensor
copysign.Scalar(Tensor self, Scalar other) -> Tensor
copysign.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
copysign.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
nextafter(Tensor self, Tensor other) -> Tensor
nextafter.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
nextafter_(Tensor(a!) self, Tensor other) -> Tensor(a!)
hypot(Tensor self, Tensor other) -> Tensor
hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)
fmax(Tensor self, Tensor other) -> Tensor
fmax.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
fmin(Tensor self, Tensor other) -> Tensor
fmin.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
gcd(Tensor self, Tensor other) -> Tensor
gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
lcm(Tensor self, Tensor other) -> Tensor
lcm.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
ldexp.Tensor(Tensor self, Tensor other) -> Tensor
ldexp.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)
frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> (Tensor(a!) mantissa, Tensor(b!)
    exponent)
heaviside(Tensor self, Tensor values) -> Tensor
heaviside.out(Tensor self, Tensor values, *, Tensor(a!) out) -> Tensor(a!)
logaddexp(Tensor self, Tensor other) -> Tensor
logaddexp.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
logaddexp2(Tensor self, Tensor other) -> Tensor
logaddexp2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
float_power.Scalar(Scalar self, Tensor exponent) -> Tensor
float_power.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)
float_power.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)
float_power.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)
float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)
float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
deg2rad(Tensor self) -> Tensor
deg2rad.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
deg2rad_(Tensor(a!) self) -> Tensor(a!)
rad2deg(Tensor self) -> Tensor
rad2deg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
rad2deg_(Tensor(a!) self) -> Tensor(a!)
__lshift__.Tensor(Tensor self, Tensor other) -> Tensor
__lshift__.Scalar(Tensor self, Scalar other) -> Tensor
__rshift__.Tensor(Tensor self, Tensor other) -> Tensor
__rshift__.Scalar(Tensor self, Scalar other) -> Tensor
[]
copysign_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
copysign_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
gcd_(Tensor(a!) self, Tensor other) -> Tensor(a!)
lcm_(Tensor(a!) self, Tensor other) -> Tensor(a!)
heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)
arccos(Tensor self) -> Tensor
arccos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arccos_(Tensor(a!) self) -> Tensor(a!)
arccosh(Tensor self) -> Tensor
arccosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arccosh_(Tensor(a!) self) -> Tensor(a!)
arcsin(Tensor self) -> Tensor
arcsin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arcsin_(Tensor(a!) self) -> Tensor(a!)
arcsinh(Tensor self) -> Tensor
arcsinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arcsinh_(Tensor(a!) self) -> Tensor(a!)
arctan(Tensor self) -> Tensor
arctan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arctan2(Tensor self, Tensor other) -> Tensor
arctan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)
arctan_(Tensor(a!) self) -> Tensor(a!)
arctanh(Tensor self) -> Tensor
arctanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
arctanh_(Tensor(a!) self) -> Tensor(a!)
fix(Tensor self) -> Tensor
fix.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
fix_(Tensor(a!) self) -> Tensor(a!)
"""
