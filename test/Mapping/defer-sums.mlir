// RUN: attentile-opt %s --warp-defer-sums --cse | FileCheck %s

tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  // Two chained loops, each rescaling by the maximum's factor: one exchange after the second.
  // CHECK-LABEL: warp.kernel @chained
  // CHECK: scf.for
  // CHECK-COUNT-2: warp.shuffle_xor
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: scf.yield
  // CHECK: %[[SECOND:.*]]:2 = scf.for {{.*}}iter_args(%{{.*}} = %[[FIRST:.*]]#0, %{{.*}} = %[[FIRST]]#1)
  // CHECK-COUNT-2: warp.shuffle_xor
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: scf.yield
  // CHECK: %[[OTHER:.*]] = warp.shuffle_xor %[[SECOND]]#1, 1
  // CHECK: arith.addf %[[SECOND]]#1, %[[OTHER]]
  // CHECK: warp.shuffle_xor %{{.*}}, 2
  warp.kernel @chained grid() warps(1) {
    %lane = warp.lane_id : index
    %r:2 = scf.for %n = %c0 to %c64 step %c64 iter_args(%mx = %ninf, %l = %zero) -> (f32, f32) {
      %s = warp.load %X[%lane] : tensor<?xf32> -> f32
      %m1 = warp.shuffle_xor %s, 1 : f32
      %m2 = arith.maxnumf %s, %m1 : f32
      %m3 = warp.shuffle_xor %m2, 2 : f32
      %m4 = arith.maxnumf %m2, %m3 : f32
      %mx1 = arith.maxnumf %mx, %m4 : f32
      %d = arith.subf %mx, %mx1 : f32
      %a = math.exp2 %d : f32
      %e = arith.subf %s, %mx1 : f32
      %t = math.exp2 %e : f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %t3 = warp.shuffle_xor %t2, 2 : f32
      %t4 = arith.addf %t2, %t3 : f32
      %x = arith.mulf %l, %a : f32
      %y = arith.addf %x, %t4 : f32
      scf.yield %mx1, %y : f32, f32
    }
    %q:2 = scf.for %n = %c0 to %c64 step %c64 iter_args(%mx = %r#0, %l = %r#1) -> (f32, f32) {
      %s = warp.load %X[%lane] : tensor<?xf32> -> f32
      %m1 = warp.shuffle_xor %s, 1 : f32
      %m2 = arith.maxnumf %s, %m1 : f32
      %m3 = warp.shuffle_xor %m2, 2 : f32
      %m4 = arith.maxnumf %m2, %m3 : f32
      %mx1 = arith.maxnumf %mx, %m4 : f32
      %d = arith.subf %mx, %mx1 : f32
      %a = math.exp2 %d : f32
      %e = arith.subf %s, %mx1 : f32
      %t = math.exp2 %e : f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %t3 = warp.shuffle_xor %t2, 2 : f32
      %t4 = arith.addf %t2, %t3 : f32
      %x = arith.mulf %l, %a : f32
      %y = arith.addf %t4, %x : f32
      scf.yield %mx1, %y : f32, f32
    }
    warp.store %q#1, %Y[%lane] : f32, tensor<?xf32>
  }
  // A choice that is the same in all lanes: one exchange behind the loop.
  // CHECK-LABEL: warp.kernel @chosen
  // CHECK: scf.for
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: arith.select
  // CHECK: scf.yield
  // CHECK: warp.shuffle_xor %{{.*}}, 1
  // CHECK: warp.store
  warp.kernel @chosen grid() warps(1) {
    %lane = warp.lane_id : index
    %r = scf.for %n = %c0 to %c64 step %c64 iter_args(%l = %zero) -> (f32) {
      %s = warp.load %X[%lane] : tensor<?xf32> -> f32
      %t = arith.mulf %s, %s : f32
      %s1 = warp.shuffle_xor %s, 1 : f32
      %s2 = arith.addf %s, %s1 : f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %x = arith.addf %l, %s2 : f32
      %y = arith.addf %l, %t2 : f32
      %some = arith.cmpi slt, %n, %N : index
      %z = arith.select %some, %x, %y : f32
      scf.yield %z : f32
    }
    warp.store %r, %Y[%lane] : f32, tensor<?xf32>
  }
  // One that differs: nothing moves.
  // CHECK-LABEL: warp.kernel @chosen_by_lane
  // CHECK: scf.for
  // CHECK-COUNT-1: warp.shuffle_xor
  // CHECK: scf.yield
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: warp.store
  warp.kernel @chosen_by_lane grid() warps(1) {
    %lane = warp.lane_id : index
    %r = scf.for %n = %c0 to %c64 step %c64 iter_args(%l = %zero) -> (f32) {
      %s = warp.load %X[%lane] : tensor<?xf32> -> f32
      %s1 = warp.shuffle_xor %s, 1 : f32
      %s2 = arith.addf %s, %s1 : f32
      %x = arith.addf %l, %s2 : f32
      %some = arith.cmpi slt, %lane, %c2 : index
      %z = arith.select %some, %x, %l : f32
      scf.yield %z : f32
    }
    warp.store %r, %Y[%lane] : f32, tensor<?xf32>
  }
  // The factor differs between the lanes: nothing moves.
  // CHECK-LABEL: warp.kernel @factor_differs
  // CHECK: scf.for
  // CHECK-COUNT-1: warp.shuffle_xor
  // CHECK: scf.yield
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: warp.store
  warp.kernel @factor_differs grid() warps(1) {
    %lane = warp.lane_id : index
    %a = warp.load %X[%lane] : tensor<?xf32> -> f32
    %r = scf.for %n = %c0 to %c64 step %c64 iter_args(%l = %zero) -> (f32) {
      %t = warp.load %X[%n] : tensor<?xf32> -> f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %x = arith.mulf %l, %a : f32
      %y = arith.addf %x, %t2 : f32
      scf.yield %y : f32
    }
    warp.store %r, %Y[%lane] : f32, tensor<?xf32>
  }
  // The loop needs the whole sum itself (normalised at each step): nothing moves.
  // CHECK-LABEL: warp.kernel @used_inside
  // CHECK: scf.for
  // CHECK: warp.shuffle_xor
  // CHECK: scf.yield
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: warp.store
  warp.kernel @used_inside grid() warps(1) {
    %lane = warp.lane_id : index
    %r:2 = scf.for %n = %c0 to %c64 step %c64 iter_args(%l = %zero, %o = %zero) -> (f32, f32) {
      %t = warp.load %X[%lane] : tensor<?xf32> -> f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %y = arith.addf %l, %t2 : f32
      %z = arith.divf %o, %y : f32
      scf.yield %y, %z : f32, f32
    }
    warp.store %r#1, %Y[%lane] : f32, tensor<?xf32>
  }
  // A vote on the sum of four lanes: each looks at its own part, against a quarter.
  // CHECK-LABEL: warp.kernel @vote
  // CHECK: %[[T:.*]] = warp.load
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: %[[QUARTER:.*]] = arith.constant 8.192000e+03 : f32
  // CHECK: arith.cmpf ole, %[[T]], %[[QUARTER]]
  // The comparison is also stored: it must be exact.
  // CHECK: %[[SUM:.*]] = arith.addf
  // CHECK: arith.cmpf ole, %[[SUM]],
  warp.kernel @vote grid() warps(1) {
    %lane = warp.lane_id : index
    %limit = arith.constant 32768.0 : f32
    %t = warp.load %X[%lane] : tensor<?xf32> -> f32
    %t1 = warp.shuffle_xor %t, 1 : f32
    %t2 = arith.addf %t, %t1 : f32
    %t3 = warp.shuffle_xor %t2, 2 : f32
    %t4 = arith.addf %t2, %t3 : f32
    %small = arith.cmpf ole, %t4, %limit : f32
    %all = warp.vote_all %small
    %u1 = warp.shuffle_xor %t, 4 : f32
    %u2 = arith.addf %t, %u1 : f32
    %exact = arith.cmpf ole, %u2, %limit : f32
    %both = arith.andi %all, %exact : i1
    %f = arith.uitofp %both : i1 to f32
    warp.store %f, %Y[%lane] : f32, tensor<?xf32>
  }
  // What a loop around carries is shared out among the four lanes, each of which has it, and put together behind the
  // inner loop.
  // CHECK-LABEL: warp.kernel @nested
  // CHECK: scf.for {{.*}} iter_args(%[[L:[a-z0-9]*]] = %{{.*}})
  // CHECK: %[[QUARTER:.*]] = arith.constant 2.500000e-01 : f32
  // CHECK: %[[SHARE:.*]] = arith.mulf %[[L]], %[[QUARTER]]
  // CHECK: %[[PART:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[SHARE]])
  // CHECK-NOT: warp.shuffle_xor
  // CHECK: }
  // CHECK: warp.shuffle_xor %[[PART]], 1
  // CHECK: warp.shuffle_xor
  // CHECK: scf.yield
  // What differs between lanes is not: nothing moves.
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[OWN:.*]])
  // CHECK: warp.shuffle_xor
  // CHECK: scf.yield
  warp.kernel @nested grid() warps(1) {
    %lane = warp.lane_id : index
    %r = scf.for %y = %c0 to %c64 step %c64 iter_args(%l = %zero) -> (f32) {
      %q = scf.for %n = %c0 to %c64 step %c64 iter_args(%k = %l) -> (f32) {
        %t = warp.load %X[%lane] : tensor<?xf32> -> f32
        %t1 = warp.shuffle_xor %t, 1 : f32
        %t2 = arith.addf %t, %t1 : f32
        %t3 = warp.shuffle_xor %t2, 2 : f32
        %t4 = arith.addf %t2, %t3 : f32
        %z = arith.addf %k, %t4 : f32
        scf.yield %z : f32
      }
      scf.yield %q : f32
    }
    warp.store %r, %Y[%lane] : f32, tensor<?xf32>
    %own = warp.load %X[%lane] : tensor<?xf32> -> f32
    %p = scf.for %n = %c0 to %c64 step %c64 iter_args(%k = %own) -> (f32) {
      %t = warp.load %X[%lane] : tensor<?xf32> -> f32
      %t1 = warp.shuffle_xor %t, 1 : f32
      %t2 = arith.addf %t, %t1 : f32
      %z = arith.addf %k, %t2 : f32
      scf.yield %z : f32
    }
    warp.store %p, %Y[%lane] : f32, tensor<?xf32>
  }
}
