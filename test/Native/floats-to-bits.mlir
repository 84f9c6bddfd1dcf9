// RUN: attentile-opt %s --native-floats-to-bits | FileCheck %s --check-prefixes=CHECK,HAS
// RUN: attentile-opt %s --native-floats-to-bits=f16=false | FileCheck %s --check-prefixes=CHECK,PLAIN

// A value of either side is carried, and extended, as an integer.
// CHECK-LABEL: @either(
llvm.func @either(%in: i1, %at: !llvm.ptr) -> f32 {
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  // CHECK: llvm.cond_br %{{.*}}, ^[[INSIDE:.*]], ^[[BEHIND:.*]](%[[ONE]] : i16)
  llvm.cond_br %in, ^inside, ^behind(%one : bf16)
^inside:
  // CHECK: %[[X:.*]] = llvm.load %{{.*}} -> i16
  // CHECK: llvm.br ^[[BEHIND]](%[[X]] : i16)
  %x = llvm.load %at : !llvm.ptr -> bf16
  llvm.br ^behind(%x : bf16)
// CHECK: ^[[BEHIND]](%[[Y:.*]]: i16):
^behind(%y: bf16):
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[Y]] : i16 to i32
  // CHECK: %[[BY:.*]] = llvm.mlir.constant(16 : i32) : i32
  // CHECK: %[[HIGH:.*]] = llvm.shl %[[WIDE]], %[[BY]] : i32
  // CHECK: llvm.bitcast %[[HIGH]] : i32 to f32
  // CHECK-NOT: llvm.fpext
  %z = llvm.fpext %y : bf16 to f32
  llvm.return %z : f32
}

// Vectors, arrays of them and constants; what was an integer before is one.
// CHECK-LABEL: @vectors(
llvm.func @vectors(%bits: vector<4xi16>, %at: !llvm.ptr) -> vector<4xf64> {
  // CHECK: llvm.mlir.constant(dense<{{\[}}16256, 16384, 16448, 16512]> : vector<4xi16>) : vector<4xi16>
  %some = llvm.mlir.constant(dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xbf16>) : vector<4xbf16>
  // CHECK: llvm.mlir.poison : !llvm.array<2 x vector<4xi16>>
  %none = llvm.mlir.poison : !llvm.array<2 x vector<4xbf16>>
  // CHECK: llvm.insertvalue %{{.*}} : !llvm.array<2 x vector<4xi16>>
  %two = llvm.insertvalue %some, %none[0] : !llvm.array<2 x vector<4xbf16>>
  // CHECK-NOT: llvm.bitcast
  %same = llvm.bitcast %bits : vector<4xi16> to vector<4xbf16>
  // CHECK: llvm.store %{{.*}}, %{{.*}} : vector<4xi16>, !llvm.ptr
  llvm.store %same, %at : vector<4xbf16>, !llvm.ptr
  // CHECK: llvm.extractvalue
  %back = llvm.extractvalue %two[0] : !llvm.array<2 x vector<4xbf16>>
  // CHECK: llvm.zext %{{.*}} : vector<4xi16> to vector<4xi32>
  // CHECK: llvm.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
  // CHECK: llvm.fpext %{{.*}} : vector<4xf32> to vector<4xf64>
  %wide = llvm.fpext %back : vector<4xbf16> to vector<4xf64>
  llvm.return %wide : vector<4xf64>
}

// f16 only where the machine has no instructions for it.
// CHECK-LABEL: @halves(
llvm.func @halves(%at: !llvm.ptr, %to: !llvm.ptr) {
  // HAS: llvm.load %{{.*}} -> f16
  // PLAIN: llvm.load %{{.*}} -> i16
  %x = llvm.load %at : !llvm.ptr -> f16
  llvm.store %x, %to : f16, !llvm.ptr
  llvm.return
}
