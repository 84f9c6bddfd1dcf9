// RUN: attentile-opt %s --warp-branch-tanh --cse --split-input-file | FileCheck %s

// A product and a quotient by values that are the same everywhere are one
// product; the slow side has both factors for what one would lose.
// CHECK-LABEL: warp.kernel @cap
// CHECK: %[[FACTOR:.*]] = arith.divf %scale, %cap : f32
// CHECK: %[[VALID:.*]] = arith.andi
// CHECK: %[[FIRST:.*]] = arith.select %[[VALID]], %[[FACTOR]], %scale
// CHECK: %[[ALL:.*]] = vector.broadcast %[[FIRST]]
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %[[ALL]] : vector<4xf32>
// CHECK: vector.to_elements %[[X]]
// CHECK: arith.maxnumf
// CHECK: %[[LIMIT:.*]] = arith.constant 4.000000e-01 : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %{{.*}}, %[[LIMIT]]
// CHECK: arith.andi %[[SMALL]], %[[VALID]]
// CHECK: %[[VOTE:.*]] = warp.vote_all
// CHECK: %[[RESULT:.*]] = scf.if %[[VOTE]] -> (vector<4xf32>)
// CHECK: %[[Z:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-COUNT-2: math.fma %{{.*}}, %[[Z]]
// CHECK: math.fma %{{.*}}, %[[X]], %[[X]]
// CHECK: else
// CHECK: math.tanh
// CHECK: vector.to_elements %[[RESULT]]
tile.program @p sizes(%N) ins(%scale: f32, %cap: f32, %X: f32[N]) outs(%Y: f32[N]) {
  warp.kernel @cap grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xf32> -> f32
    %s = vector.broadcast %x : f32 to vector<4xf32>
    %scales = vector.broadcast %scale : f32 to vector<4xf32>
    %caps = vector.broadcast %cap : f32 to vector<4xf32>
    %p = arith.mulf %scales, %s : vector<4xf32>
    %q = arith.divf %p, %caps : vector<4xf32>
    %t = math.tanh %q : vector<4xf32>
    %e:4 = vector.to_elements %t : vector<4xf32>
    warp.store %e#0, %Y[%i] : f32, tensor<?xf32>
  }
}

// -----

// Any other operand is taken as it is.
// CHECK-LABEL: warp.kernel @any
// CHECK-NOT: arith.divf
// CHECK: %[[ELEMENTS:.*]]:2 = vector.to_elements %[[S:.*]] : vector<2xf32>
// CHECK: warp.vote_all
// CHECK: math.tanh %[[S]]
tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  warp.kernel @any grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xf32> -> f32
    %s = vector.broadcast %x : f32 to vector<2xf32>
    %t = math.tanh %s : vector<2xf32>
    %e:2 = vector.to_elements %t : vector<2xf32>
    warp.store %e#0, %Y[%i] : f32, tensor<?xf32>
  }
}
