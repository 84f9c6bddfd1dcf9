// Fragments become registers: scalars, pairs of 16-bit floats; also through a loop.
// RUN: attentile-opt %s --warp-unroll-fragments | FileCheck %s

tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%Y: bf16[M, 8]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    // CHECK: %[[X:.*]] = warp.load {{.*}} -> vector<4xbf16>
    // CHECK: %[[REGS:.*]]:2 = builtin.unrealized_conversion_cast %[[X]] : vector<4xbf16> to vector<2xbf16>, vector<2xbf16>
    %x = warp.load %X[%i, %c0] : tensor<?x8xbf16> -> vector<4xbf16>
    // CHECK: %[[WIDE:.*]] = arith.extf %[[REGS]]#0 : vector<2xbf16> to vector<2xf32>
    // CHECK: %[[X0:.*]] = vector.extract %[[WIDE]][0]
    %f = arith.extf %x : vector<4xbf16> to vector<4xf32>
    // CHECK: %[[SUMS:.*]]:4 = scf.for {{.*}} -> (f32, f32, f32, f32)
    %sum = scf.for %j = %c0 to %M step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) {
      // CHECK-COUNT-4: arith.addf %{{.*}}, %{{.*}} : f32
      %next = arith.addf %acc, %f : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    // Register moves leave nothing behind.
    // CHECK-NOT: vector.shuffle
    %turned = vector.shuffle %sum, %sum [2, 3, 0, 1] : vector<4xf32>, vector<4xf32>
    // CHECK: %[[PAIR:.*]] = vector.from_elements %[[SUMS]]#2, %[[SUMS]]#3 : vector<2xf32>
    // CHECK: arith.truncf %[[PAIR]] : vector<2xf32> to vector<2xbf16>
    %y = arith.truncf %turned : vector<4xf32> to vector<4xbf16>
    warp.store %y, %Y[%i, %c0] : vector<4xbf16>, tensor<?x8xbf16>
  }
}
