// RUN: attentile-opt %s --warp-allocate-shared | FileCheck %s
// RUN: attentile-opt %s --warp-allocate-shared=limit=1024 | FileCheck %s --check-prefix=TIGHT

// The larger buffers first; %a's room is %c's after its last use, %b's is
// needed to the end. Between the read of %a and the write of %c all threads
// must meet: a barrier is added. Before %d one stands already.
// CHECK: warp.kernel @reuse_0 grid() warps(1) attributes {shared_bytes = 768 : i64}
// CHECK: %[[A:.*]] = warp.alloc {offset = 0 : i64} : !warp.buffer<4x32xf32
// CHECK: %[[B:.*]] = warp.alloc {offset = 512 : i64} : !warp.buffer<1x32xf32
// CHECK: %[[C:.*]] = warp.alloc {offset = 0 : i64} : !warp.buffer<4x32xf32
// CHECK: %[[D:.*]] = warp.alloc {offset = 640 : i64} : !warp.buffer<1x32xf32
// CHECK: warp.load_shared %[[A]]
// CHECK-NEXT: warp.barrier
// CHECK-NEXT: warp.store_shared %{{.*}}, %[[C]]
tile.program @reuse sizes() ins() outs(%O: f32[32]) {
  warp.kernel @reuse_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %lane = warp.lane_id : index
    %one = arith.constant 1.0 : f32
    %a = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %b = warp.alloc : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %c = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %d = warp.alloc : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.store_shared %one, %a[%c0, %lane] : f32, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.store_shared %one, %b[%c0, %lane] : f32, !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.barrier
    %x = warp.load_shared %a[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    warp.store_shared %x, %c[%c0, %lane] : f32, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.barrier
    %y = warp.load_shared %c[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    warp.store_shared %y, %d[%c0, %lane] : f32, !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.barrier
    %z = warp.load_shared %d[%c0, %lane] : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    %w = warp.load_shared %c[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    %v = warp.load_shared %b[%c0, %lane] : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    %zw = arith.addf %z, %w : f32
    %s = arith.addf %zw, %v : f32
    warp.store %s, %O[%lane] : f32, tensor<32xf32>
  }
}

// What each turn of a loop writes before it reads it shares room where all would
// not fit. Each is written behind a barrier that stands behind the other's
// reads, around the loop's end too. What a turn reads of the one before stays.
// CHECK: warp.kernel @turns_0 grid() warps(1) attributes {shared_bytes = 1152 : i64}
// TIGHT: warp.kernel @turns_0 grid() warps(1) attributes {shared_bytes = 640 : i64}
// TIGHT: %[[A:.*]] = warp.alloc {offset = 0 : i64}
// TIGHT: %[[B:.*]] = warp.alloc {offset = 0 : i64}
// TIGHT: %[[C:.*]] = warp.alloc {offset = 512 : i64}
// TIGHT: scf.for
// TIGHT-NEXT: warp.barrier
// TIGHT-NEXT: warp.store_shared %{{.*}}, %[[A]]
// TIGHT-NEXT: warp.barrier
// TIGHT-NEXT: warp.load_shared %[[A]]
// TIGHT-NEXT: warp.barrier
// TIGHT-NEXT: scf.for
// TIGHT-NEXT: warp.store_shared %{{.*}}, %[[B]]
tile.program @turns sizes(%N) ins(%X: f32[32]) outs(%O: f32[32]) {
  warp.kernel @turns_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %lane = warp.lane_id : index
    %one = arith.constant 1.0 : f32
    %a = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %b = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %c = warp.alloc : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %s = scf.for %i = %c0 to %N step %c1 iter_args(%sum = %one) -> (f32) {
      warp.store_shared %sum, %a[%c0, %lane] : f32, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
      warp.barrier
      %x = warp.load_shared %a[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
      %w = scf.for %j = %c0 to %i step %c1 iter_args(%part = %x) -> (f32) {
        warp.store_shared %part, %b[%c0, %lane] : f32, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
        warp.barrier
        %y = warp.load_shared %b[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
        warp.barrier
        scf.yield %y : f32
      }
      %z = warp.load_shared %c[%c0, %lane] : !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
      warp.store_shared %z, %c[%c0, %lane] : f32, !warp.buffer<1x32xf32, #tile.shared<pitch = 32, chunk = 4>>
      %zw = arith.addf %z, %w : f32
      scf.yield %zw : f32
    }
    warp.store %s, %O[%lane] : f32, tensor<32xf32>
  }
}

// So do copies of a turn, whatever loops in it read them, and what is stored
// before a loop that reads it. What is requested for the next turn, and so before
// the first one too, stays.
// CHECK: warp.kernel @copies_0 grid() warps(1) attributes {shared_bytes = 1280 : i64}
// TIGHT: warp.kernel @copies_0 grid() warps(1) attributes {shared_bytes = 768 : i64}
// TIGHT: %[[A:.*]] = warp.alloc {offset = 0 : i64}
// TIGHT: %[[B:.*]] = warp.alloc {offset = 0 : i64}
// TIGHT: %[[C:.*]] = warp.alloc {offset = 512 : i64}
// TIGHT: warp.copy_async {{.*}} to %[[C]]
// TIGHT: scf.for
// TIGHT: warp.copy_async {{.*}} to %[[C]]
// TIGHT: warp.barrier
// TIGHT-NEXT: warp.copy_async {{.*}} to %[[A]]
// TIGHT: scf.for
// TIGHT: warp.load_shared %[[A]]
// TIGHT: }
// TIGHT-NEXT: warp.barrier
// TIGHT-NEXT: warp.store_shared %{{.*}}, %[[B]]
// TIGHT: scf.for
// TIGHT: warp.load_shared %[[B]]
tile.program @copies sizes(%N) ins(%X: f32[N, 32]) outs(%O: f32[32]) {
  warp.kernel @copies_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %lane = warp.lane_id : index
    %one = arith.constant 1.0 : f32
    %a = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %b = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %c = warp.alloc : !warp.buffer<2x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.copy_async %X[%c0, %c0] dims [0, 1] to %c : tensor<?x32xf32>, !warp.buffer<2x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.commit_group
    %s = scf.for %i = %c0 to %N step %c1 iter_args(%sum = %one) -> (f32) {
      warp.wait_group 0
      warp.barrier
      %z = warp.load_shared %c[%c0, %lane] : !warp.buffer<2x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
      warp.barrier
      %next = arith.addi %i, %c1 : index
      warp.copy_async %X[%next, %c0] dims [0, 1] to %c : tensor<?x32xf32>, !warp.buffer<2x32xf32, #tile.shared<pitch = 32, chunk = 4>>
      warp.commit_group
      warp.barrier
      warp.copy_async %X[%i, %c0] dims [0, 1] to %a : tensor<?x32xf32>, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %x = scf.for %j = %c0 to %i step %c1 iter_args(%part = %sum) -> (f32) {
        %v = warp.load_shared %a[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
        %p = arith.addf %part, %v : f32
        scf.yield %p : f32
      }
      warp.store_shared %x, %b[%c0, %lane] : f32, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
      warp.barrier
      %y = scf.for %j = %c0 to %i step %c1 iter_args(%part = %z) -> (f32) {
        %v = warp.load_shared %b[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
        %p = arith.addf %part, %v : f32
        scf.yield %p : f32
      }
      scf.yield %y : f32
    }
    warp.store %s, %O[%lane] : f32, tensor<32xf32>
  }
}
