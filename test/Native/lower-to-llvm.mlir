// RUN: attentile-opt %s --native-lower-to-llvm | FileCheck %s --implicit-check-not=arith. --implicit-check-not=vector.fma --implicit-check-not=scf. --implicit-check-not=memref. --implicit-check-not=unrealized
// RUN: attentile-opt %s --native-lower-to-llvm=fma=false | FileCheck %s --check-prefix=PLAIN
// RUN: attentile-opt %s --native-lower-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// A row of a product, as tile-to-loops writes it.
// CHECK-LABEL: llvm.func @rows(
// CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr) attributes {native.scratch_bytes = 64 : i64}
// CHECK: llvm.intr.fmuladd
// PLAIN-NOT: fma
// LLVM: define void @rows(ptr %0, i64 %1, i64 %2, ptr %3)
// LLVM: call <8 x float> @llvm.fmuladd.v8f32
func.func @rows(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
    attributes {native.scratch_bytes = 64 : i64} {
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %sum = scf.for %i = %begin to %end step %one iter_args(%acc = %zero) -> (vector<8xf32>) : i64 {
    %at = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
    %v = llvm.load %at {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %next = vector.fma %v, %v, %acc : vector<8xf32>
    scf.yield %next : vector<8xf32>
  }
  llvm.store %sum, %scratch : vector<8xf32>, !llvm.ptr
  return
}
