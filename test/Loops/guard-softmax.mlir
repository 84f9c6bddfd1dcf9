// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax --canonicalize --cse --tile-skip-masked-blocks --canonicalize --cse --tile-fold-exp2 --canonicalize --cse --tile-peel-tails --canonicalize --cse --tile-guard-softmax --canonicalize --cse | FileCheck %s
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax --canonicalize --cse --tile-skip-masked-blocks --canonicalize --cse --tile-guard-softmax='threshold=7' --canonicalize --cse | FileCheck %s --check-prefix=LOWER
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --canonicalize --cse --tile-skip-masked-blocks --canonicalize --cse --tile-guard-softmax --remarks-filter=tile-guard-softmax --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=UNFUSED

// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<3.276800e+04> : tensor<16xf32, #m>
// CHECK-DAG: %[[GROWTH:.*]] = arith.constant dense<3.05175781E-5> : tensor<16xf32, #m>
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// The first block is classical.
// CHECK: scf.for {{.*}} iter_args(%[[MX:.*]] = %[[NONE]], %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}, %[[CALM:.*]] = %[[FALSE]])
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[V:.*]] = tile.load %V
// CHECK: %[[SPEC:.*]]:3 = scf.if %[[CALM]]
// CHECK-NOT: tile.reduce ref
// No row is without a reference here.
// CHECK-NOT: tile.ref
// CHECK-NOT: arith.select
// CHECK: arith.mulf %[[MX]],
// CHECK: %[[P:.*]] = math.exp2
// CHECK-NOT: math.exp2
// CHECK: %[[T:.*]] = tile.reduce sum %[[P]]
// CHECK: %[[SMALL:.*]] = arith.cmpf ole, %[[T]], %[[LIMIT]]
// CHECK: %[[OK:.*]] = tile.vote %[[SMALL]]
// CHECK: scf.yield %[[P]], %[[T]], %[[OK]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %[[FALSE]]
// CHECK: %[[STEP:.*]]:5 = scf.if %[[SPEC]]#2
// No factor of 1 is left: one addition of row sums.
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[L]], %[[SPEC]]#1
// CHECK-NEXT: scf.yield %[[SPEC]]#0, %[[ACC]], %[[MX]], %[[SUM]], %[[TRUE]]
// CHECK: } else {
// CHECK: %[[MAX:.*]] = tile.reduce ref %[[S]]
// CHECK: %[[NEXT:.*]] = arith.maxnumf %[[MX]], %[[MAX]]
// A row far from 0, whose exponents have another factor, is never calm.
// CHECK: %[[CLOSE:.*]] = arith.cmpf ule
// CHECK: %[[NEAR:.*]] = tile.vote %[[CLOSE]]
// CHECK: %[[RESCALE:.*]] = math.exp2
// CHECK: %[[EXP:.*]] = math.exp2
// CHECK: %[[SCALED:.*]] = arith.mulf %[[ACC]]
// CHECK: %[[FIRST:.*]] = arith.cmpf oeq, %[[RESCALE]], %{{.*}}
// CHECK: %[[LITTLE:.*]] = arith.cmpf oge, %[[RESCALE]], %[[GROWTH]]
// CHECK: %[[CAN:.*]] = arith.ori %[[FIRST]], %[[LITTLE]]
// CHECK: %[[HAS:.*]] = arith.cmpf ogt, %[[NEXT]], %[[NONE]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[CAN]], %[[HAS]]
// CHECK: %[[ALL:.*]] = tile.vote %[[BOTH]]
// CHECK: %[[NOW:.*]] = arith.andi %[[ALL]], %[[NEAR]]
// CHECK: scf.yield %[[EXP]], %[[SCALED]], %[[NEXT]], %{{.*}}, %[[NOW]]
// CHECK: tile.dot %[[STEP]]#0, %[[V]] acc %[[STEP]]#1
// CHECK: tile.blocks = #tile.blocks<full>
// Partial blocks stay as they are.
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tile.blocks = #tile.blocks<partial>

// Before tile-fold-exp2, too.
// LOWER: scf.if
// LOWER: math.exp %
// LOWER: arith.cmpf ole, %{{.*}}, %[[LIMIT:.*]] : tensor<16xf32, #m>
// LOWER: tile.vote

// UNFUSED: remark: [Missed] NotGuarded {{.*}}the maximum itself is used, not only as reference{{.*}}every block computes a new row maximum
// UNFUSED-NOT: scf.if
