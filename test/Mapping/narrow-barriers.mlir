// RUN: attentile-opt %s --warp-narrow-barriers | FileCheck %s

#rows = #tile.shared<pitch = 64, chunk = 8, period = 8>
!rows = !warp.buffer<64x64xbf16, #rows>

// Two warps of 32 rows: what each reads of %q it has copied, and in its room it writes and reads %o.
// CHECK-LABEL: warp.kernel @own_0
// CHECK: warp.copy_async {{.*}} {in_bounds = array<i1: false, true>, own_rows}
// CHECK: scf.for
// CHECK: warp.barrier
// CHECK: }
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.sync
// CHECK: warp.store_shared
// CHECK-NEXT: warp.sync
// CHECK-NOT: warp.barrier
tile.program @own sizes(%M) ins(%Q: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  warp.kernel @own_0 grid(%i < %M) warps(2) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %warp = warp.warp_id : index
    %lane = warp.lane_id : index
    %first = arith.muli %warp, %c32 : index
    %second = arith.addi %first, %c16 : index
    %g = arith.divui %lane, %c4 : index
    %t = arith.remui %lane, %c4 : index
    %row = arith.addi %g, %first : index
    %col = arith.muli %t, %c2 : index
    %q = warp.alloc {offset = 0 : i64} : !rows
    %o = warp.alloc {offset = 0 : i64} : !rows
    warp.copy_async %Q[%i, %c0] dims [0, 1] to %q {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !rows
    warp.commit_group
    %sum = scf.for %n = %c0 to %M step %c32 iter_args(%x = %c0) -> index {
      warp.wait_group 0
      warp.barrier
      %a = warp.ldmatrix %q[%second, %c0] num 4 : !rows -> vector<8xbf16>
      scf.yield %x : index
    }
    warp.wait_group 0
    warp.barrier
    %v = arith.constant dense<0.0> : vector<2xbf16>
    warp.store_shared %v, %o[%row, %col] : vector<2xbf16>, !rows
    warp.barrier
    %y = warp.load_shared %o[%row, %col] : !rows -> vector<2xbf16>
    warp.store %y, %O[%i, %col] {in_bounds = array<i1: true, true>} : vector<2xbf16>, tensor<?x64xbf16>
  }
}

// The room of the keys, which all read; a copy that nobody has waited for where the loop has no turn; rows of another warp
// (what comes behind them waits too); rows that lie otherwise in the same room.
// CHECK-LABEL: warp.kernel @all_0
// CHECK-NOT: own_rows
// CHECK-NOT: warp.sync
tile.program @all sizes(%M) ins(%K: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  warp.kernel @all_0 grid(%i < %M) warps(2) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %warp = warp.warp_id : index
    %first = arith.muli %warp, %c32 : index
    %late = arith.addi %first, %c24 : index
    %half = arith.muli %warp, %c16 : index
    %k = warp.alloc {offset = 0 : i64} : !rows
    %p = warp.alloc {offset = 8192 : i64} : !rows
    %o = warp.alloc {offset = 0 : i64} : !rows
    %narrow = warp.alloc {offset = 0 : i64} : !warp.buffer<32x64xbf16, #rows>
    %v = arith.constant dense<0.0> : vector<2xbf16>
    warp.copy_async %K[%i, %c0] dims [0, 1] to %k {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !rows
    warp.commit_group
    warp.barrier
    warp.store_shared %v, %o[%first, %c0] : vector<2xbf16>, !rows
    warp.wait_group 0
    warp.barrier
    %a = warp.ldmatrix %k[%c0, %c0] num 4 : !rows -> vector<8xbf16>
    warp.barrier
    warp.store_shared %v, %o[%first, %c0] : vector<2xbf16>, !rows
    warp.barrier
    %b = warp.ldmatrix %o[%late, %c0] num 4 : !rows -> vector<8xbf16>
    warp.barrier
    warp.store_shared %v, %narrow[%half, %c0] : vector<2xbf16>, !warp.buffer<32x64xbf16, #rows>
    warp.barrier
    %y = warp.load_shared %o[%first, %c0] : !rows -> vector<2xbf16>
    warp.store %y, %O[%i, %c0] {in_bounds = array<i1: true, true>} : vector<2xbf16>, tensor<?x64xbf16>
  }
}

// A barrier that stays is behind what comes before it: only the last of these may be a warp's.
// CHECK-LABEL: warp.kernel @behind_0
// CHECK: warp.barrier
// CHECK: warp.load_shared
// CHECK: warp.sync
tile.program @behind sizes(%M) ins(%K: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  warp.kernel @behind_0 grid(%i < %M) warps(2) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %warp = warp.warp_id : index
    %first = arith.muli %warp, %c32 : index
    %k = warp.alloc {offset = 0 : i64} : !rows
    %v = arith.constant dense<0.0> : vector<2xbf16>
    warp.store_shared %v, %k[%c0, %c0] : vector<2xbf16>, !rows
    warp.barrier
    %x = warp.load_shared %k[%first, %c0] : !rows -> vector<2xbf16>
    warp.barrier
    warp.store_shared %x, %k[%first, %c0] : vector<2xbf16>, !rows
    %y = warp.load_shared %k[%first, %c0] : !rows -> vector<2xbf16>
    warp.store %y, %O[%i, %c0] {in_bounds = array<i1: true, true>} : vector<2xbf16>, tensor<?x64xbf16>
  }
}

// A copy that is asked for before a barrier and waited for behind it: the second barrier makes it visible.
// CHECK-LABEL: warp.kernel @late_0
// CHECK-NOT: own_rows
// CHECK-NOT: warp.sync
tile.program @late sizes(%M) ins(%K: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  warp.kernel @late_0 grid(%i < %M) warps(2) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %warp = warp.warp_id : index
    %first = arith.muli %warp, %c32 : index
    %a = warp.alloc {offset = 0 : i64} : !rows
    %b = warp.alloc {offset = 8192 : i64} : !rows
    warp.copy_async %K[%i, %c0] dims [0, 1] to %a {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !rows
    warp.commit_group
    warp.copy_async %K[%i, %c0] dims [0, 1] to %b {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !rows
    warp.commit_group
    warp.wait_group 1
    warp.barrier
    %x = warp.load_shared %a[%first, %c0] : !rows -> vector<2xbf16>
    warp.commit_group
    warp.wait_group 1
    warp.barrier
    %y = warp.load_shared %b[%first, %c0] : !rows -> vector<2xbf16>
    warp.store %y, %O[%i, %c0] {in_bounds = array<i1: true, true>} : vector<2xbf16>, tensor<?x64xbf16>
  }
}
