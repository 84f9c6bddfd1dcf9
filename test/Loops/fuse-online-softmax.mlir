// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax | FileCheck %s
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --canonicalize --cse --loop-invariant-code-motion --tile-fuse-online-softmax | FileCheck %s
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax=normalize=each-step | FileCheck %s --check-prefix=EACH
// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax --remarks-filter=tile-fuse-online-softmax --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Three loops become one that carries maximum, row sum and output; the scores
// are computed once, and the output is divided by the row sum after the loop.
// CHECK: tile.kernel @causal_0
// CHECK: %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[MX:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %{{[^)]*}})
// CHECK: %[[S:.*]] = tile.dot {{.*}} over ["d"]
// CHECK-NOT: over ["d"]
// CHECK: %[[TILE:.*]] = tile.reduce ref
// CHECK: %[[MX1:.*]] = arith.maxnumf %[[MX]], %[[TILE]]
// CHECK: %[[REF:.*]] = tile.ref %[[MX1]]
// The old maximum enters raw: exp(-inf - ref) is 0 for a row that saw nothing.
// CHECK: %[[MOVED:.*]] = arith.subf %[[MX]], %[[REF]]
// CHECK: %[[ALPHA:.*]] = math.exp %[[MOVED]]
// CHECK: arith.mulf %[[L]], %[[ALPHA]]
// CHECK: %[[P:.*]] = math.exp
// CHECK: tile.reduce sum %[[P]]
// CHECK: %[[ALPHA_ME:.*]] = tile.broadcast %[[ALPHA]]
// CHECK: %[[OLD:.*]] = arith.mulf %[[ACC]], %[[ALPHA_ME]]
// CHECK: tile.dot %[[P]], %{{.*}} acc %[[OLD]] over ["n"]
// CHECK-NOT: scf.for
// CHECK: arith.divf %{{.*}}, %[[R]]#1
// CHECK: arith.mulf %[[R]]#2
// CHECK: tile.store
// CHECK: tile.ref %[[R]]#0
// CHECK: math.log %[[R]]#1

// FlashAttention-1: divided in the loop, stored as it is.
// EACH: %[[R:.*]]:3 = scf.for
// EACH: arith.divf
// EACH: } {tile.axis = "n"}
// EACH: tile.store %[[R]]#2

// REMARK: remark: [Passed] Fused {{.*}}"3 loops over n became 1"
