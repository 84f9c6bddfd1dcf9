// RUN: attentile-opt %s --nvvm-convert-to-llvm | FileCheck %s

// The high half alone has an instruction; ptxas 13.0 multiplies half of a product of 64 bits, in a loop, the other way
// round: (n * z >> 32) * y becomes n * (z * y >> 32) (random program 830000087: a column of a dilated mask was missing).
// CHECK-LABEL: llvm.func @remainder
llvm.func @remainder(%n: i32, %z: i32, %y: i32) -> i32 {
  // CHECK: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.mulhi.ui"(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
  // CHECK: llvm.mul %[[HIGH]], %{{.*}} : i32
  // CHECK-NOT: i64
  // CHECK: llvm.return
  %low, %high = arith.mului_extended %n, %z : i32
  %product = arith.muli %high, %y : i32
  %rest = arith.subi %n, %product : i32
  llvm.return %rest : i32
}

// Who needs both has both of one product.
// CHECK-LABEL: llvm.func @both
llvm.func @both(%x: i32, %y: i32) -> i32 {
  // CHECK-NOT: call_intrinsic
  // CHECK: llvm.mul %{{.*}}, %{{.*}} : i64
  %low, %high = arith.mului_extended %x, %y : i32
  %mixed = arith.xori %low, %high : i32
  llvm.return %mixed : i32
}

// Other widths have no such instruction.
// CHECK-LABEL: llvm.func @narrow
llvm.func @narrow(%x: i16, %y: i16) -> i16 {
  // CHECK-NOT: call_intrinsic
  // CHECK: llvm.mul
  %low, %high = arith.mului_extended %x, %y : i16
  llvm.return %high : i16
}
