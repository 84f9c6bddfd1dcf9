// RUN: attentile-opt %s --warp-branch-tanh --cse --split-input-file | FileCheck %s

// A product and a quotient by values that are the same everywhere are in the
// coefficients of a polynomial in the square less a limit, whose signs tell
// whether it is small; the slow side has both factors for what their quotient
// would lose.
// CHECK-LABEL: warp.kernel @cap
// CHECK: %[[FACTOR:.*]] = arith.divf %scale, %cap : f32
// CHECK: %[[VALID:.*]] = arith.andi
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[FACTOR]], %[[FACTOR]]
// CHECK: %[[LIMIT:.*]] = arith.divf %{{.*}}, %[[SQUARE]]
// CHECK: %[[SHIFT:.*]] = arith.select %[[VALID]], %[[LIMIT]]
// CHECK: %[[FIRST:.*]] = arith.select %[[VALID]], %[[FACTOR]], %scale
// CHECK: %[[SHIFTS:.*]] = vector.broadcast %[[SHIFT]]
// CHECK: %[[W:.*]] = math.fma %[[Y:.*]], %[[Y]], %[[SHIFTS]] : vector<4xf32>
// CHECK: %[[SIGNS:.*]] = arith.andi
// CHECK: %[[SMALL:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32 : i32
// CHECK: %[[VOTE:.*]] = warp.vote_all %[[SMALL]]
// CHECK: %[[RESULT:.*]] = scf.if %[[VOTE]] -> (vector<4xf32>)
// CHECK-COUNT-3: math.fma %{{.*}}, %[[W]]
// CHECK: arith.mulf %[[Y]]
// CHECK: else
// CHECK: %[[FIRSTS:.*]] = vector.broadcast %[[FIRST]]
// CHECK: arith.mulf %[[Y]], %[[FIRSTS]]
// CHECK-NOT: arith.select
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

// Any other operand is taken as it is, 32 registers at a time.
// CHECK-LABEL: warp.kernel @any
// CHECK-NOT: arith.divf %{{.*}}, %cap
// CHECK-COUNT-2: warp.vote_all
// CHECK-NOT: warp.vote_all
tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  warp.kernel @any grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xf32> -> f32
    %s = vector.broadcast %x : f32 to vector<40xf32>
    %t = math.tanh %s : vector<40xf32>
    %e:40 = vector.to_elements %t : vector<40xf32>
    warp.store %e#0, %Y[%i] : f32, tensor<?xf32>
  }
}

// -----

// Of 64 registers a shorter polynomial comes first, before the branch. Behind
// it small operands keep what it gave.
// CHECK-LABEL: warp.kernel @many
// CHECK: %[[W:.*]] = math.fma %[[Y:.*]], %[[Y]], %{{.*}} : vector<32xf32>
// CHECK: %[[VOTE:.*]] = warp.vote_all
// CHECK: math.fma %{{.*}}, %[[W]]
// CHECK: %[[Q:.*]] = math.fma %{{.*}}, %[[W]]
// CHECK: %[[EARLY:.*]] = arith.mulf %[[Y]], %[[Q]]
// CHECK: scf.if %[[VOTE]] -> (vector<32xf32>) {
// CHECK-NEXT: scf.yield %[[EARLY]]
// CHECK-NEXT: } else {
// CHECK: %[[FAR:.*]] = math.fma %[[Y]], %[[Y]]
// CHECK: %[[SECOND:.*]] = warp.vote_all
// CHECK: scf.if %[[SECOND]]
// CHECK-COUNT-3: math.fma %{{.*}}, %[[FAR]]
// CHECK: else
// CHECK: %[[U:.*]] = arith.select %{{.*}}, %[[EARLY]]
// CHECK: %[[TANH:.*]] = math.tanh %[[U]]
// CHECK: arith.select %{{.*}}, %[[U]], %[[TANH]]
tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  warp.kernel @many grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xf32> -> f32
    %s = vector.broadcast %x : f32 to vector<64xf32>
    %t = math.tanh %s : vector<64xf32>
    %e:64 = vector.to_elements %t : vector<64xf32>
    warp.store %e#0, %Y[%i] : f32, tensor<?xf32>
  }
}
