// RUN: attentile-opt %s --nvvm-enter-loops | FileCheck %s

// What a loop over blocks hands on where it does not run stands on the way
// around it, which LLVM does not join with another.
// CHECK-LABEL: llvm.func @blocks
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[END:.*]] : index
// CHECK: %[[R:.*]]:16 = scf.if %[[RUNS]]
// CHECK:   %[[L:.*]]:16 = scf.for %{{.*}} = %[[FIRST]] to %[[END]]
// CHECK:   scf.yield %[[L]]#0, %[[L]]#1
// CHECK: } else {
// CHECK:   llvm.inline_asm has_side_effects
// CHECK:   scf.yield %[[ZERO:.*]], %[[ZERO]]
// CHECK: }
// CHECK: llvm.return %[[R]]#15
llvm.func @blocks(%first: i64, %end: i64) -> f32 {
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = arith.index_cast %first : i64 to index
  %b = arith.index_cast %end : i64 to index
  %r:16 = scf.for %n = %a to %b step %c64 iter_args(%x0 = %zero, %x1 = %zero, %x2 = %zero, %x3 = %zero, %x4 = %zero,
      %x5 = %zero, %x6 = %zero, %x7 = %zero, %x8 = %zero, %x9 = %zero, %x10 = %zero, %x11 = %zero, %x12 = %zero,
      %x13 = %zero, %x14 = %zero, %x15 = %zero)
      -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
    scf.yield %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x0
        : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
  } {tile.axis = "n"}
  llvm.return %r#15 : f32
}

// A few values are a few instructions, and other loops are not of blocks.
// CHECK-LABEL: llvm.func @few
// CHECK-NOT: scf.if
llvm.func @few(%first: i64, %end: i64) -> f32 {
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = arith.index_cast %first : i64 to index
  %b = arith.index_cast %end : i64 to index
  %r = scf.for %n = %a to %b step %c64 iter_args(%x = %zero) -> (f32) {
    scf.yield %x : f32
  } {tile.axis = "n"}
  llvm.return %r : f32
}

// LLVM would fold limits into the branch's comparison alone.
// CHECK-LABEL: llvm.func @limited
// CHECK: %[[LEAST:.*]] = arith.minsi
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[LEAST]] : index to i64
// CHECK: %[[MOVED:.*]] = llvm.inline_asm {{.*}}"mov.b64 $0, $1;"{{.*}} %[[NUMBER]]
// CHECK: %[[END:.*]] = arith.index_cast %[[MOVED]] : i64 to index
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[END]] : index
// CHECK: scf.if %[[RUNS]]
// CHECK:   scf.for %{{.*}} = %[[FIRST]] to %[[END]]
llvm.func @limited(%first: i64, %end: i64) -> f32 {
  %c1 = arith.constant 1 : index
  %limit = arith.constant 2147450879 : index
  %zero = arith.constant 0.0 : f32
  %a = arith.index_cast %first : i64 to index
  %b = arith.index_cast %end : i64 to index
  %least = arith.minsi %b, %limit : index
  %r:16 = scf.for %n = %a to %least step %c1 iter_args(%x0 = %zero, %x1 = %zero, %x2 = %zero, %x3 = %zero, %x4 = %zero,
      %x5 = %zero, %x6 = %zero, %x7 = %zero, %x8 = %zero, %x9 = %zero, %x10 = %zero, %x11 = %zero, %x12 = %zero,
      %x13 = %zero, %x14 = %zero, %x15 = %zero)
      -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
    scf.yield %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x0
        : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
  } {tile.axis = "n"}
  llvm.return %r#15 : f32
}
