// A product, a copy and an exchange, from the warp level to the LLVM dialect.
// RUN: attentile-opt %s --nvvm-lower-to-llvm | FileCheck %s
// RUN: attentile-opt %s --warp-mark-elements=all --nvvm-lower-to-llvm | FileCheck %s --check-prefix=ALL

#layout = #tile.shared<pitch = 64, chunk = 8, period = 8>
!half = !warp.buffer<64x64xbf16, #layout>
!halves = !warp.buffer<64x64xbf16, #layout, stages = 2>

// CHECK: llvm.mlir.global external @attentile_shared() {addr_space = 3 : i32, alignment = 1024 : i64, dso_local} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @product_0(
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: i64
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 128>
tile.program @product sizes(%B, %M) ins(%Q: bf16[B, M, 64], %K: bf16[B, M, 64]) outs(%O: bf16[B, M, 64]) {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @product_0 grid(%b < %B, %i < %blocks) warps(4) attributes {shared_bytes = 24576 : i64} {
    %keys = warp.alloc {offset = 0} : !halves
    %rows = warp.alloc {offset = 16384} : !half
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %m0 = arith.muli %i, %c64 : index
    // CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 128>
    // CHECK: nvvm.shfl.sync idx
    %w = warp.warp_id : index
    %lane = warp.lane_id : index
    %row = arith.muli %w, %c16 : index
    %key = warp.stage %keys[%c1] : !halves
    // Known inside: no count of bytes. Four rows of 16 a thread.
    // CHECK-COUNT-4: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>{{$}}
    warp.copy_async %Q[%b, %m0, %c0] dims [1, 2] to %rows {in_bounds = array<i1: true, true, true>} : tensor<?x?x64xbf16>, !half
    // CHECK-COUNT-4: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
    warp.copy_async %K[%b, %m0, %c0] dims [1, 2] to %key : tensor<?x?x64xbf16>, !half
    // CHECK: nvvm.cp.async.commit.group
    warp.commit_group
    // CHECK: nvvm.cp.async.wait.group 0
    warp.wait_group 0
    // CHECK: nvvm.barrier0
    warp.barrier
    // CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
    %a = warp.ldmatrix %rows[%row, %c16] num 4 : !half -> vector<8xbf16>
    // CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 2
    %k = warp.ldmatrix %key[%c0, %c16] num 2 transpose : !half -> vector<4xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    // CHECK: nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C
    %d = warp.mma %a, %k, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    %s = warp.shuffle_xor %d, 1 : vector<4xf32>
    %one = vector.extract %s[0] : f32 from vector<4xf32>
    // CHECK: nvvm.shfl.sync idx
    %of_first = warp.shuffle_from %one, %c0 : f32
    %ones = vector.broadcast %of_first : f32 to vector<4xf32>
    %t = arith.addf %s, %ones : vector<4xf32>
    %o = arith.truncf %t : vector<4xf32> to vector<4xbf16>
    %pair = vector.extract_strided_slice %o {offsets = [0], sizes = [2], strides = [1]} : vector<4xbf16> to vector<2xbf16>
    // No branch: a store under a predicate.
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "@$1 st.global.b32 [$0], $2;", "l,b,r"
    warp.store %pair, %O[%b, %lane, %c0] : vector<2xbf16>, tensor<?x?x64xbf16>
    // CHECK-NOT: llvm.cond_br
    // CHECK: llvm.return
  }
}

// Asking nothing of strides: elements under predicates.
// ALL-LABEL: llvm.func @product_0(
// ALL: ld.global.nc.b16
// ALL-NOT: nvvm.cp.async.shared.global
