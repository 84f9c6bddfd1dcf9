// RUN: attentile-opt %s --nvvm-lower-to-llvm | FileCheck %s

// Heads go in sections of as many as 32 MB hold, at least one: of 64 KB a program here. Within a section the last
// coordinate varies slowest.
// CHECK-LABEL: llvm.func @sections_0
// CHECK: %[[NUMBER:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[FITS:.*]] = llvm.udiv
// CHECK: %[[LEAST:.*]] = llvm.intr.umax(%[[FITS]],
// CHECK: %[[SIZE:.*]] = llvm.intr.umin(%[[LEAST]],
// CHECK: %[[PROGRAMS:.*]] = llvm.mul %[[SIZE]],
// CHECK: llvm.udiv %[[NUMBER]], %[[PROGRAMS]]
tile.program @sections sizes(%B, %H, %M) ins(%X: f32[B, H, M]) outs(%Y: f32[B, H, M]) {
  warp.kernel @sections_0 grid(%b < %B, %h < %H, %i < %M) warps(1) attributes {tile.common_bytes = 65536 : i64} {
    %x = warp.load %X[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : tensor<?x?x?xf32> -> f32
    warp.store %x, %Y[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : f32, tensor<?x?x?xf32>
  }
}

// No more than so many programs along it have their bytes in the cache: of 64, 512 KB a section's coordinate at most.
// CHECK-LABEL: llvm.func @window_0
// CHECK: %[[MOST:.*]] = llvm.mlir.constant(64 : i32)
// CHECK: %[[TOGETHER:.*]] = llvm.intr.umin(%{{.*}}, %[[MOST]])
// CHECK: %[[EACH:.*]] = llvm.mlir.constant(8 : i32)
// CHECK: %[[WHOLE:.*]] = llvm.mul %[[TOGETHER]], %[[EACH]]
// CHECK: llvm.udiv %{{.*}}, %[[WHOLE]]
tile.program @window sizes(%B, %H, %M) ins(%X: f32[B, H, M]) outs(%Y: f32[B, H, M]) {
  warp.kernel @window_0 grid(%b < %B, %h < %H, %i < %M) warps(1) attributes {tile.common_bytes = 8192 : i64, tile.common_programs = 64 : i64} {
    %x = warp.load %X[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : tensor<?x?x?xf32> -> f32
    warp.store %x, %Y[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : f32, tensor<?x?x?xf32>
  }
}

// Of programs that share no more than a list of blocks, one byte, sections of 32 of the other coordinates run side by
// side, where there are at least four and all are whole: the same division either way.
// CHECK-LABEL: llvm.func @lists_0
// CHECK: %[[NUMBER:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[PAIRS:.*]] = llvm.mul
// CHECK-NOT: llvm.intr.umax
// CHECK: %[[SOME:.*]] = llvm.icmp "uge" %[[PAIRS]], %{{.*}}
// CHECK: %[[OVER:.*]] = llvm.and %[[PAIRS]],
// CHECK: %[[WHOLE:.*]] = llvm.icmp "eq" %[[OVER]],
// CHECK: %[[SECTIONS:.*]] = llvm.and %[[SOME]], %[[WHOLE]]
// CHECK: %[[PROGRAMS:.*]] = llvm.mul
// CHECK: %[[BY:.*]] = llvm.select %[[SECTIONS]], %[[PROGRAMS]], %[[PAIRS]]
// CHECK: %[[QUOTIENT:.*]] = llvm.udiv %[[NUMBER]], %[[BY]]
// CHECK: %[[REST:.*]] = llvm.sub %[[NUMBER]],
// CHECK: %[[LAST:.*]] = llvm.udiv %[[REST]],
// CHECK: llvm.select %[[SECTIONS]], %[[LAST]], %[[QUOTIENT]]
// CHECK: %[[FIRST:.*]] = llvm.mul %[[QUOTIENT]],
// CHECK: %[[IN:.*]] = llvm.and %[[REST]],
// CHECK: %[[PAIR:.*]] = llvm.add %[[FIRST]], %[[IN]]
// CHECK: %[[OTHERS:.*]] = llvm.select %[[SECTIONS]], %[[PAIR]], %[[REST]]
// CHECK-NOT: llvm.intr.umax
// CHECK: llvm.urem %[[OTHERS]],
tile.program @lists sizes(%B, %H, %M) ins(%X: f32[B, H, M]) outs(%Y: f32[B, H, M]) {
  warp.kernel @lists_0 grid(%b < %B, %h < %H, %i < %M) warps(1) attributes {tile.common_bytes = 1 : i64} {
    %x = warp.load %X[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : tensor<?x?x?xf32> -> f32
    warp.store %x, %Y[%b, %h, %i] {in_bounds = array<i1: true, true, true>} : f32, tensor<?x?x?xf32>
  }
}

// Else the last varies fastest.
// CHECK-LABEL: llvm.func @plain_0
// CHECK: %[[NUMBER:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-NOT: llvm.intr.umax
// CHECK: llvm.urem %[[NUMBER]],
tile.program @plain sizes(%B, %M) ins(%X: f32[B, M]) outs(%Y: f32[B, M]) {
  warp.kernel @plain_0 grid(%b < %B, %i < %M) warps(1) {
    %x = warp.load %X[%b, %i] {in_bounds = array<i1: true, true>} : tensor<?x?xf32> -> f32
    warp.store %x, %Y[%b, %i] {in_bounds = array<i1: true, true>} : f32, tensor<?x?xf32>
  }
}
