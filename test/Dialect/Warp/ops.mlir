// Every operation in its text form, twice through the parser.
// RUN: attentile-opt %s | attentile-opt | FileCheck %s

#half = #tile.shared<pitch = 128, chunk = 8, period = 8>
#single = #tile.shared<pitch = 64, chunk = 4, period = 8>
!half = !warp.buffer<64x128xbf16, #half>
!halves = !warp.buffer<64x128xbf16, #half, stages = 2>
!single = !warp.buffer<16x64xf32, #single>

// CHECK-LABEL: tile.program @ops
tile.program @ops sizes(%B, %M) ins(%K: bf16[B, M, 128], %X: f32[B, M]) outs(%O: bf16[B, M, 128]) {
  // CHECK: warp.kernel @ops_0 grid(%[[B:.*]] < %{{.*}}, %[[I:.*]] < %{{.*}}) warps(4) attributes {shared_bytes = 32768 : i64} {
  warp.kernel @ops_0 grid(%b < %B, %i < %M) warps(4) attributes {shared_bytes = 32768 : i64} {
    // CHECK: %[[KEYS:.*]] = warp.alloc {offset = 0 : i64} : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>, stages = 2>
    %keys = warp.alloc {offset = 0} : !halves
    %other = warp.alloc : !single
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c1 = arith.constant 1 : index
    // CHECK: warp.thread_id : index
    %t = warp.thread_id : index
    // CHECK: warp.lane_id : index
    %l = warp.lane_id : index
    // CHECK: warp.warp_id : index
    %w = warp.warp_id : index
    // CHECK: %[[STAGE:.*]] = warp.stage %[[KEYS]][%{{.*}}] : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>, stages = 2>
    %k1 = warp.stage %keys[%c1] : !halves
    // CHECK: warp.copy_async %{{.*}}[%[[B]], %[[I]], %{{.*}}] dims [1, 2] to %[[STAGE]] {in_bounds = array<i1: true, false, true>} : tensor<?x?x128xbf16>, !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>>
    warp.copy_async %K[%b, %i, %c0] dims [1, 2] to %k1 {in_bounds = array<i1: true, false, true>} : tensor<?x?x128xbf16>, !half
    // CHECK: warp.copy_async {{.*}} {own_rows}
    warp.copy_async %K[%b, %i, %c0] dims [1, 2] to %k1 {own_rows} : tensor<?x?x128xbf16>, !half
    // CHECK: warp.sync
    warp.sync
    // CHECK: warp.copy_async {{.*}} {by_element}
    warp.copy_async %K[%b, %i, %c0] dims [1, 2] to %k1 {by_element} : tensor<?x?x128xbf16>, !half
    // CHECK: warp.commit_group
    warp.commit_group
    // CHECK: warp.wait_group 1
    warp.wait_group 1
    // CHECK: warp.barrier
    warp.barrier
    // CHECK: %[[A:.*]] = warp.ldmatrix %[[STAGE]][%{{.*}}, %{{.*}}] num 4 : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>> -> vector<8xbf16>
    %a = warp.ldmatrix %k1[%c0, %c16] num 4 : !half -> vector<8xbf16>
    // CHECK: warp.ldmatrix %[[STAGE]][%{{.*}}, %{{.*}}] num 2 order columns transpose
    %bb = warp.ldmatrix %k1[%c0, %c16] num 2 order columns transpose : !half -> vector<4xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    // CHECK: warp.mma %[[A]], %{{.*}}, %{{.*}} : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
    %d = warp.mma %a, %bb, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
    // CHECK: %[[HIGH:.*]], %[[LOW:.*]] = warp.split_tf32 %{{.*}} : vector<4xf32>
    %high, %low = warp.split_tf32 %d : vector<4xf32>
    // CHECK: warp.load_shared %{{.*}}[%{{.*}}, %{{.*}}] : !warp.buffer<16x64xf32, #tile.shared<pitch = 64, chunk = 4, period = 8>> -> vector<2xf32>
    %x2 = warp.load_shared %other[%c0, %c16] : !single -> vector<2xf32>
    // CHECK: warp.mma %[[HIGH]], %{{.*}}, %{{.*}} : vector<4xf32>, vector<2xf32> -> vector<4xf32>
    %e = warp.mma %high, %x2, %d : vector<4xf32>, vector<2xf32> -> vector<4xf32>
    // CHECK: warp.shuffle_xor %{{.*}}, 1 : vector<4xf32>
    %s = warp.shuffle_xor %e, 1 : vector<4xf32>
    %one = vector.extract %s[0] : f32 from vector<4xf32>
    // CHECK: warp.shuffle_from %{{.*}}, %{{.*}} : f32
    %of_first = warp.shuffle_from %one, %c0 : f32
    %first = arith.cmpi eq, %l, %c0 : index
    // CHECK: warp.vote_all %[[FIRST:.*]]
    %all = warp.vote_all %first
    // CHECK: warp.vote_any %[[FIRST]]
    %any = warp.vote_any %first
    // CHECK: warp.store_shared %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] if %[[FIRST]] : vector<2xf32>, !warp.buffer<16x64xf32, #tile.shared<pitch = 64, chunk = 4, period = 8>>
    warp.store_shared %x2, %other[%w, %c16] if %first : vector<2xf32>, !single
    // CHECK: warp.load %{{.*}}[%[[B]], %[[I]]] {in_bounds = array<i1: true, true>} : tensor<?x?xf32> -> f32
    %x = warp.load %X[%b, %i] {in_bounds = array<i1: true, true>} : tensor<?x?xf32> -> f32
    // CHECK: %[[PAIR:.*]] = warp.load %{{.*}}[%[[B]], %[[I]], %{{.*}}] dim 1 {by_element} : tensor<?x?x128xbf16> -> vector<2xbf16>
    %pair = warp.load %K[%b, %i, %t] dim 1 {by_element} : tensor<?x?x128xbf16> -> vector<2xbf16>
    // CHECK: warp.store %[[PAIR]], %{{.*}}[%[[B]], %[[I]], %{{.*}}] if %[[FIRST]] : vector<2xbf16>, tensor<?x?x128xbf16>
    warp.store %pair, %O[%b, %i, %c0] if %first : vector<2xbf16>, tensor<?x?x128xbf16>
  }
}
