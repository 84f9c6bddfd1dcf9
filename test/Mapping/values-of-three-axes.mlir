// RUN: attentile-opt %s -attn-to-tile=target=sm_90 -canonicalize -cse -tile-fuse-online-softmax -cse -tile-partition-warps \
// RUN:   -tile-assign-layouts -tile-to-warp | FileCheck %s

// Values of three axes change their layout in a buffer of rows and columns: what
// leads is rows of rows. They are far from fitting registers, so that a block
// has the fewest rows. (attn-form-grids would step along b. So would
// attn-to-tile, if the rows had no tile of W in common.)
// CHECK: warp.kernel {{.*}} warps(1)
// CHECK: warp.store_shared {{.*}}[%{{[^,]*}}, %{{[^,]*}}] {{.*}} !warp.buffer<256x16xf32,
// CHECK: warp.load_shared {{.*}}[%{{[^,]*}}, %{{[^,]*}}] : !warp.buffer<256x16xf32,
attn.kernel @outer sizes(%B, %N) indices(%b < B, %m < 16, %e < 16, %n < N)
    ins(%X: f32[B, 16], %V: f32[B, N, 16], %W: f32[N, 16]) outs(%O: f32[B, 16, 16]) {
  attn.grid step() tile(%b) loop(%n) whole(%m, %e) {
    %0 = attn.read %X[%b, %m] : tensor<?x16xf32>
    %1 = attn.reduce ref %0 over(%m) : f32
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = attn.reduce sum %3 over(%m) : f32
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %5 = arith.cmpf oeq, %4, %cst : f32
    %6 = arith.divf %cst_0, %4 : f32
    %7 = arith.select %5, %cst, %6 : f32
    %8 = arith.mulf %3, %7 : f32
    %9 = attn.read %V[%b, %n, %e] : tensor<?x?x16xf32>
    %w = attn.read %W[%n, %e] : tensor<?x16xf32>
    %vw = arith.mulf %9, %w : f32
    %10 = arith.mulf %8, %vw : f32
    %11 = attn.reduce sum %10 over(%n) : f32
    attn.write %11 to %O[%b, %m, %e] : f32, tensor<?x16x16xf32>
  }
}
