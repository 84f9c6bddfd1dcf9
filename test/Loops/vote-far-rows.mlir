// RUN: attentile-opt %S/Inputs/unfused-causal.mlir --tile-fuse-online-softmax --tile-fold-exp2 --canonicalize --cse --tile-vote-far-rows --canonicalize --cse | FileCheck %s

// CHECK: %[[C:.*]] = arith.minimumf
// CHECK: scf.for
// CHECK: %[[REFERENCE:.*]] = tile.ref
// CHECK: %[[SIZE:.*]] = math.absf
// CHECK: %[[CLOSE:.*]] = arith.cmpf ule, %[[SIZE]]
// CHECK: %[[NEAR:.*]] = tile.vote %[[CLOSE]]
// CHECK: %[[FACTOR:.*]] = arith.select
// CHECK: %[[ROWS:.*]] = tile.broadcast %[[FACTOR]]
// CHECK: %[[EXPONENTS:.*]] = scf.if %[[NEAR]]
// CHECK: %[[ALL:.*]] = tile.broadcast %[[C]] : f32 to tensor<16x8xf32, #m_n>
// CHECK: math.fma %{{.*}}, %[[ALL]], %{{.*}}
// CHECK: } else {
// CHECK: math.fma %{{.*}}, %[[ROWS]], %{{.*}}
// CHECK: }
// CHECK: math.exp2 %[[EXPONENTS]]
