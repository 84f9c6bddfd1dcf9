// RUN: attentile-opt %s -tile-to-warp=registers-at-once=0 -canonicalize -cse | FileCheck %s

// A warp has 32 rows, two blocks of 16. Each decides by itself: its exponentials
// and, if its vote fails, its maximum; the flag holds if both blocks' do.
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 4 reg 1, 2 warp 1]>>
#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 2 reg 8, 2 warp 1], [2 reg 1, 4 lane 1, 2 reg 4]>>

tile.program @p sizes(%M) ins(%S: f32[M, 16]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %limit = arith.constant dense<8.0> : tensor<64xf32, #m>
  %anything = ub.poison : tensor<64x16xf32, #mn>
  %nothing = ub.poison : tensor<64xf32, #m>
  %false = arith.constant false
  %true = arith.constant true
  // CHECK-LABEL: warp.kernel @k
  // CHECK: %[[CALM:.*]] = arith.cmpi sgt
  // CHECK: %[[FIRST:.*]]:2 = scf.if %[[CALM]] -> (vector<2xf32>, i1)
  // CHECK:   math.exp2 %{{.*}} : vector<8xf32>
  // CHECK:   warp.vote_all
  // CHECK: %[[UPPER:.*]]:2 = scf.if %[[FIRST]]#1 -> (vector<2xf32>, i1)
  // CHECK:   maxnumf
  // CHECK:   warp.vote_all
  // CHECK: %[[SECOND:.*]]:2 = scf.if %[[CALM]] -> (vector<2xf32>, i1)
  // CHECK:   math.exp2 %{{.*}} : vector<8xf32>
  // CHECK: %[[LOWER:.*]]:2 = scf.if %[[SECOND]]#1 -> (vector<2xf32>, i1)
  // CHECK: arith.andi %[[UPPER]]#1, %[[LOWER]]#1
  tile.kernel @k grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %c0 : tensor<64xindex, #m>
    %n = tile.index %c0 : tensor<16xindex, #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>>
    %s = tile.load %S[%m, %n] : tensor<?x16xf32>, (tensor<64xindex, #m>, tensor<16xindex, #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>>) -> tensor<64x16xf32, #mn>
    %calm = arith.cmpi sgt, %M, %c0 : index
    %a:2 = scf.if %calm -> (tensor<64xf32, #m>, i1) {
      %e = math.exp2 %s : tensor<64x16xf32, #mn>
      %t = tile.reduce sum %e over ["n"] : tensor<64x16xf32, #mn> -> tensor<64xf32, #m>
      %small = arith.cmpf ole, %t, %limit : tensor<64xf32, #m>
      %ok = tile.vote %small : tensor<64xi1, #m>
      scf.yield %t, %ok : tensor<64xf32, #m>, i1
    } else {
      scf.yield %nothing, %false : tensor<64xf32, #m>, i1
    }
    %b:2 = scf.if %a#1 -> (tensor<64xf32, #m>, i1) {
      scf.yield %a#0, %true : tensor<64xf32, #m>, i1
    } else {
      %t = tile.reduce ref %s over ["n"] : tensor<64x16xf32, #mn> -> tensor<64xf32, #m>
      %small = arith.cmpf ole, %t, %limit : tensor<64xf32, #m>
      %ok = tile.vote %small : tensor<64xi1, #m>
      scf.yield %t, %ok : tensor<64xf32, #m>, i1
    }
    %zero = arith.constant dense<0.0> : tensor<64xf32, #m>
    %flag = tile.broadcast %b#1 : i1 to tensor<64xi1, #m>
    %r = arith.select %flag, %b#0, %zero : tensor<64xi1, #m>, tensor<64xf32, #m>
    tile.store %r, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
  // What is the same for all rows is decided once.
  // CHECK-LABEL: warp.kernel @rowless
  // CHECK: scf.if {{.*}} -> (vector<4xf32>)
  // CHECK-NOT: scf.if
  tile.kernel @rowless grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %c0 : tensor<64xindex, #m>
    %y = tile.load %Y[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %calm = arith.cmpi sgt, %M, %c0 : index
    %b = scf.if %calm -> (tensor<64xf32, #m>) {
      %e = math.exp2 %y : tensor<64xf32, #m>
      scf.yield %e : tensor<64xf32, #m>
    } else {
      scf.yield %y : tensor<64xf32, #m>
    }
    tile.store %b, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}
