// RUN: attentile-opt %s --tile-narrow-branches | FileCheck %s

#m = #tile.axes<"m">

tile.program @p sizes(%M) ins(%X: f32[M], %Y: f32[M]) outs(%Z: bf16[M]) {
  %c0 = arith.constant 0 : index
  %anything = ub.poison : tensor<64xf32, #m>
  // Through both branches, one inside the other; what is not taken needs no rounding.
  // CHECK-LABEL: tile.kernel @chain
  // CHECK: %[[FIRST:.*]]:2 = scf.if %{{.*}} -> (tensor<64xbf16, #{{.*}}>, i1) {
  // CHECK:   %[[A:.*]] = arith.truncf %{{.*}} : tensor<64xf32, #{{.*}}> to tensor<64xbf16, #{{.*}}>
  // CHECK:   scf.yield %[[A]]
  // CHECK: } else {
  // CHECK:   %[[P:.*]] = ub.poison : tensor<64xbf16, #{{.*}}>
  // CHECK:   scf.yield %[[P]]
  // CHECK: scf.if %[[FIRST]]#1 -> (tensor<64xbf16, #{{.*}}>) {
  // CHECK:   scf.yield %[[FIRST]]#0
  // CHECK: } else {
  // CHECK:   arith.truncf
  // CHECK-NOT: arith.truncf
  tile.kernel @chain grid() {
    %m = tile.index %c0 : tensor<64xindex, #m>
    %x = tile.load %X[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %y = tile.load %Y[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %calm = arith.cmpi sgt, %M, %c0 : index
    %a:2 = scf.if %calm -> (tensor<64xf32, #m>, i1) {
      %e = math.exp2 %x : tensor<64xf32, #m>
      scf.yield %e, %calm : tensor<64xf32, #m>, i1
    } else {
      scf.yield %anything, %calm : tensor<64xf32, #m>, i1
    }
    %b = scf.if %a#1 -> (tensor<64xf32, #m>) {
      scf.yield %a#0 : tensor<64xf32, #m>
    } else {
      %e = math.exp2 %y : tensor<64xf32, #m>
      scf.yield %e : tensor<64xf32, #m>
    }
    %r = arith.truncf %b : tensor<64xf32, #m> to tensor<64xbf16, #m>
    %w = arith.extf %r : tensor<64xbf16, #m> to tensor<64xf32, #m>
    tile.store %w, %Z[%m] : tensor<64xf32, #m>, tensor<?xbf16>, (tensor<64xindex, #m>)
  }
  // A result that is used unrounded as well stays.
  // CHECK-LABEL: tile.kernel @two_uses
  // CHECK: scf.if %{{.*}} -> (tensor<64xf32, #{{.*}}>) {
  tile.kernel @two_uses grid() {
    %m = tile.index %c0 : tensor<64xindex, #m>
    %x = tile.load %X[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %y = tile.load %Y[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %calm = arith.cmpi sgt, %M, %c0 : index
    %b = scf.if %calm -> (tensor<64xf32, #m>) {
      scf.yield %x : tensor<64xf32, #m>
    } else {
      scf.yield %y : tensor<64xf32, #m>
    }
    %r = arith.truncf %b : tensor<64xf32, #m> to tensor<64xbf16, #m>
    %w = arith.extf %r : tensor<64xbf16, #m> to tensor<64xf32, #m>
    %s = arith.addf %w, %b : tensor<64xf32, #m>
    tile.store %s, %Z[%m] : tensor<64xf32, #m>, tensor<?xbf16>, (tensor<64xindex, #m>)
  }
}
