// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax --tile-fold-exp2 --canonicalize --cse | FileCheck %s
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fold-exp2 --canonicalize --cse | FileCheck %s --check-prefix=UNFUSED
// RUN: sed -e '/attn.assume/d' %S/Inputs/unfused-causal.mlir | attentile-opt --tile-fuse-online-softmax --tile-fold-exp2 --canonicalize --cse --remarks-filter=tile-fold-exp2 --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed -e 's/over \["n"\] product f32/over ["n"] product f16/' %S/Inputs/unfused-causal.mlir | attentile-opt --tile-fuse-online-softmax --tile-fold-exp2 | FileCheck %s --check-prefix=F16

// scale > 0 is assumed: the maximum is of the unscaled, masked scores.
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.442695
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<2.14748365E+9>
// CHECK-DAG: %[[EXPONENT:.*]] = arith.constant 2139095040 : i32
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147
// CHECK: %[[C0:.*]] = arith.mulf %scale, %[[LOG2E]]
// CHECK: %[[C1:.*]] = arith.maximumf %[[C0]]
// CHECK: %[[C:.*]] = arith.minimumf %[[C1]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[C]] : f32 to i32
// CHECK: %[[MASKED:.*]] = arith.andi %[[BITS]], %[[EXPONENT]]
// CHECK: %[[POWER:.*]] = arith.bitcast %[[MASKED]] : i32 to f32
// CHECK: %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[MX:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{[^)]*}})
// CHECK: %[[S:.*]] = tile.dot
// CHECK-NOT: arith.mulf
// CHECK: %[[VISIBLE:.*]] = arith.select %{{.*}}, %[[S]]
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %[[VISIBLE]]
// CHECK: tile.reduce ref %[[X]]
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// Where the fma's exact product and this one may be 128 apart, c is a power of
// two.
// CHECK: %[[SIZE:.*]] = math.absf %[[PRODUCT]]
// CHECK: %[[FAR:.*]] = arith.cmpf ogt, %[[SIZE]], %[[LIMIT]]
// CHECK: %[[POWERS:.*]] = tile.broadcast %[[POWER]]
// CHECK: %[[FACTOR:.*]] = arith.select %[[FAR]], %[[POWERS]], %{{.*}}
// CHECK: %[[REF:.*]] = arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK: %[[NEGATED:.*]] = arith.negf %[[REF]]
// Rounded like the reference, so that a maximum that stays rescales by 1.
// CHECK: %[[OLD:.*]] = arith.mulf %[[MX]], %[[FACTOR]]
// CHECK: %[[MOVED:.*]] = arith.subf %[[OLD]], %[[REF]]
// CHECK: math.exp2 %[[MOVED]]
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]]
// CHECK: %[[ARGUMENT:.*]] = math.fma %[[X]], %[[FACTORS]]
// CHECK: math.exp2 %[[ARGUMENT]]
// CHECK-NOT: math.exp{{ }}
// CHECK: %[[FINAL:.*]] = tile.ref %[[R]]#0
// CHECK: %[[LAST:.*]] = arith.select %{{.*}} : tensor<16xi1, #m>, tensor<16xf32, #m>
// CHECK: %[[SUBTRACTED:.*]] = arith.mulf %[[FINAL]], %[[LAST]]
// CHECK: %[[UNIT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LN2]]
// CHECK: arith.mulf %[[SUBTRACTED]], %[[UNIT]]

// UNFUSED-COUNT-2: math.exp2
// UNFUSED-NOT: math.exp{{ }}

// UNKNOWN: remark: [Missed] ScaleKept
// UNKNOWN: scf.for
// UNKNOWN: %[[S:.*]] = arith.mulf
// UNKNOWN: arith.select %{{.*}}, %[[S]]
// UNKNOWN: math.fma

// Where a product rounds the exponentials to f16 they stay below 2^8.
// F16: %[[LIMIT:.*]] = arith.constant dense<0x4D800000>
// F16-NEXT: arith.cmpf ogt, %{{.*}}, %[[LIMIT]]
