// Elements of vectors, arithmetic and branches in one conversion.
// RUN: attentile-opt %s --nvvm-convert-to-llvm --reconcile-unrealized-casts | FileCheck %s

// CHECK-LABEL: llvm.func @pair
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32, %[[OLD:.*]]: vector<2xf32>
llvm.func @pair(%x: f32, %y: f32, %old: vector<2xf32>, %n: i32) -> vector<2xf32> {
  // CHECK: %[[NONE:.*]] = llvm.mlir.poison : vector<2xf32>
  // CHECK: %[[LOW:.*]] = llvm.insertelement %[[X]], %[[NONE]][%{{.*}} : i64] : vector<2xf32>
  // CHECK: %[[PAIR:.*]] = llvm.insertelement %[[Y]], %[[LOW]][%{{.*}} : i64] : vector<2xf32>
  %pair = vector.from_elements %x, %y : vector<2xf32>
  // CHECK: llvm.extractelement %[[OLD]][%{{.*}} : i64] : vector<2xf32>
  %low = vector.extract %old[0] : f32 from vector<2xf32>
  %big = arith.cmpf ogt, %low, %x : f32
  // CHECK: llvm.intr.exp2
  %z = math.exp2 %low : f32
  %sum = vector.from_elements %z, %y : vector<2xf32>
  // CHECK: llvm.cond_br %{{.*}}, ^bb1(%[[PAIR]] : vector<2xf32>), ^bb1(
  cf.cond_br %big, ^end(%pair : vector<2xf32>), ^end(%sum : vector<2xf32>)
^end(%result: vector<2xf32>):
  // CHECK: llvm.return
  llvm.return %result : vector<2xf32>
}
