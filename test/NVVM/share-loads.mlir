// RUN: attentile-opt %s --warp-share-loads --cse --split-input-file | FileCheck %s

// The bias of 3 rows and 2 columns, 8 apart, by n - m: what lanes and rows need
// is a window of 32, of which each lane loads one element. Its index is clamped
// as theirs were; nothing is known of lanes beyond the 30 that are asked for.
// CHECK-LABEL: warp.kernel @diagonals
// CHECK: %[[LANE:.*]] = warp.lane_id
// CHECK: %[[LEAST:.*]] = arith.constant -7 : index
// CHECK: %[[FROM:.*]] = arith.subi %{{.*}}, %[[LEAST]] : index
// CHECK: scf.for %[[N0:.*]] =
// CHECK: %[[SUM:.*]] = arith.addi %[[LANE]], %[[N0]]
// CHECK: %[[START:.*]] = arith.constant -15 : index
// CHECK: %[[MINE:.*]] = arith.addi %[[SUM]], %[[START]] : index
// CHECK: %[[PLACE:.*]] = arith.maxsi %[[MINE]], %{{.*}}
// CHECK: %[[ELEMENT:.*]] = warp.load %T[%h, %[[PLACE]]] {in_bounds = array<i1: true, false>}
// CHECK: %[[WIDE:.*]] = arith.extf %[[ELEMENT]] : bf16 to f32
// CHECK: %[[X0:.*]] = warp.shuffle_from %[[WIDE]], %[[FROM]] : f32
// CHECK: %[[AFTER:.*]] = arith.addi %[[FROM]], %c8
// CHECK: %[[X1:.*]] = warp.shuffle_from %[[WIDE]], %[[AFTER]] : f32
// CHECK: %[[X2:.*]] = warp.shuffle_from
// CHECK-NOT: warp.load
// CHECK: %[[A:.*]] = arith.addf %[[X1]], %[[X0]] : f32
// CHECK: arith.addf %[[A]], %[[X2]] : f32
tile.program @p sizes(%H, %R, %N) ins(%T: bf16[H, R]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  warp.kernel @diagonals grid(%h < %H) warps(1) {
    %lane = warp.lane_id : index
    %t = arith.remui %lane, %c4 : index
    %column = arith.muli %t, %c2 : index
    %row = arith.divui %lane, %c4 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %column : index
      %d1 = arith.subi %n, %row : index
      %d0 = arith.subi %d1, %c8 : index
      %d2 = arith.addi %d1, %c8 : index
      %p0 = arith.maxsi %d0, %c0 : index
      %p1 = arith.maxsi %d1, %c0 : index
      %p2 = arith.maxsi %d2, %c0 : index
      %x0 = warp.load %T[%h, %p0] {in_bounds = array<i1: true, true>} : tensor<?x?xbf16> -> bf16
      %x1 = warp.load %T[%h, %p1] {in_bounds = array<i1: true, true>} : tensor<?x?xbf16> -> bf16
      %x2 = warp.load %T[%h, %p2] {in_bounds = array<i1: true, true>} : tensor<?x?xbf16> -> bf16
      %pair = vector.from_elements %x0, %x1 : vector<2xbf16>
      %wide = arith.extf %pair : vector<2xbf16> to vector<2xf32>
      %y0 = vector.extract %wide[0] : f32 from vector<2xf32>
      %y1 = vector.extract %wide[1] : f32 from vector<2xf32>
      %y2 = arith.extf %x2 : bf16 to f32
      %a = arith.addf %y1, %y0 : f32
      %b = arith.addf %a, %y2 : f32
      warp.store %b, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// A load at what was loaded: each lane loads its own index for it, no lane asks
// another that far away.
// CHECK-LABEL: warp.kernel @chain
// CHECK: %[[ROW:.*]] = arith.subi
// CHECK: scf.for
// CHECK: %[[P:.*]] = warp.load %P
// CHECK: %[[AFTER:.*]] = arith.addi %[[ROW]], %c8
// CHECK: %[[Q:.*]] = arith.index_cast %[[P]]
// CHECK: %[[T:.*]] = warp.load %T[%[[Q]]]
// CHECK: %[[X:.*]] = warp.shuffle_from %[[T]], %[[ROW]] : f32
// CHECK: %[[Y:.*]] = warp.shuffle_from %[[T]], %[[AFTER]] : f32
// CHECK: arith.addf %[[X]], %[[Y]]
tile.program @p sizes(%N) ins(%T: f32[N], %P: i32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  warp.kernel @chain grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %row = arith.divui %lane, %c4 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %row : index
      %m = arith.addi %n, %c8 : index
      %p = warp.load %P[%n] : tensor<?xi32> -> i32
      %q = warp.load %P[%m] : tensor<?xi32> -> i32
      %pi = arith.index_cast %p : i32 to index
      %qi = arith.index_cast %q : i32 to index
      %x = warp.load %T[%pi] : tensor<?xf32> -> f32
      %y = warp.load %T[%qi] : tensor<?xf32> -> f32
      %a = arith.addf %x, %y : f32
      warp.store %a, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// Lanes that lie far apart, or whose elements no other needs: loads stay.
// CHECK-LABEL: warp.kernel @apart
// CHECK-COUNT-4: warp.load
// CHECK-NOT: warp.shuffle_from
tile.program @p sizes(%N) ins(%T: f32[N], %P: i32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  warp.kernel @apart grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %far = arith.muli %lane, %c64 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %far : index
      %m = arith.addi %n, %c1 : index
      %x = warp.load %T[%n] : tensor<?xf32> -> f32
      %y = warp.load %T[%m] : tensor<?xf32> -> f32
      %p = warp.load %P[%lane] : tensor<?xi32> -> i32
      %q = arith.index_cast %p : i32 to index
      %z = warp.load %T[%q] : tensor<?xf32> -> f32
      %a = arith.addf %x, %y : f32
      %b = arith.addf %a, %z : f32
      warp.store %b, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// Two sums in one load that grow alike are not one sum: loads stay.
// CHECK-LABEL: warp.kernel @two_sums
// CHECK-COUNT-2: warp.load
// CHECK-NOT: warp.shuffle_from
tile.program @p sizes(%N) ins(%T: f32[N, 64]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  warp.kernel @two_sums grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %row = arith.divui %lane, %c4 : index
    %t = arith.remui %lane, %c4 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %row : index
      %d = arith.addi %t, %c4 : index
      %m = arith.addi %n, %c8 : index
      %e = arith.addi %d, %c8 : index
      %x = warp.load %T[%n, %d] : tensor<?x64xf32> -> f32
      %y = warp.load %T[%m, %e] : tensor<?x64xf32> -> f32
      %a = arith.addf %x, %y : f32
      warp.store %a, %Y[%n] : f32, tensor<?xf32>
    }
  }
}
