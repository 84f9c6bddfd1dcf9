// Each message of the warp dialect's verifiers.
// RUN: attentile-opt %s -split-input-file -verify-diagnostics


// expected-error @below {{expected a layout #tile.shared<...>, got "plain"}}
func.func private @layout(!warp.buffer<64x64xbf16, "plain">)

// -----

// expected-error @below {{expected 1 or 2 dimensions, got 3}}
func.func private @rank(!warp.buffer<2x64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>)

// -----

// expected-error @below {{expected a pitch of whole chunks of at least 128 elements, got 64}}
func.func private @pitch(!warp.buffer<64x128xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>)

// -----

// expected-error @below {{expected a buffer of f32, f16, bf16, f8E4M3FN, f8E5M2, index or integers, got 'f64'}}
func.func private @element(!warp.buffer<64xf64, #tile.shared<pitch = 64, chunk = 2>>)

// -----

// expected-error @below {{expected a buffer of at least one dimension, each of at least 1}}
func.func private @empty(!warp.buffer<0x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>)

// -----

// expected-error @below {{expected 0 or more stages, got -1}}
func.func private @stages(!warp.buffer<64xf32, #tile.shared<pitch = 64, chunk = 4>, stages = -1>)

// -----

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected 1 to 32 warps, got 0}}
  warp.kernel @k grid(%i < %M) warps(0) {
  }
}

// -----

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected 0 or more shared bytes, got -1}}
  warp.kernel @k grid(%i < %M) warps(4) attributes {shared_bytes = -1} {
  }
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(4) {
    // expected-error @below {{expected an offset that is a multiple of 128, got 64}}
    %b = warp.alloc {offset = 64} : !b
  }
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>, stages = 2>
!one = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @stage(%b: !b, %one: !one, %i: index) {
  %c2 = arith.constant 2 : index
  // expected-error @below {{expected a stage from 0 to 1, got 2}}
  %s = warp.stage %b[%c2] : !b
  return
}

// -----

!one = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @stage(%one: !one, %i: index) {
  // expected-error @below {{expected a buffer with stages, got}}
  %s = warp.stage %one[%i] : !one
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @indices(%b: !b, %i: index) {
  // expected-error @below {{expected 2 indices, got 1}}
  %x = warp.load_shared %b[%i] : !b -> bf16
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @outside(%b: !b, %i: index) {
  %c64 = arith.constant 64 : index
  // expected-error @below {{expected an index from 0 to 63, got 64}}
  %x = warp.load_shared %b[%c64, %i] : !b -> bf16
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>, stages = 2>
func.func @staged(%b: !b, %i: index) {
  // expected-error @below {{expected a buffer without stages, got}}
  %x = warp.load_shared %b[%i, %i] : !b -> bf16
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @element(%b: !b, %i: index) {
  // expected-error @below {{expected elements of 'bf16', got 'f32'}}
  %x = warp.load_shared %b[%i, %i] : !b -> f32
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @packet(%b: !b, %i: index) {
  // expected-error @below {{expected one element, or a power of two of them in at most 16 bytes, got}}
  %x = warp.load_shared %b[%i, %i] : !b -> vector<3xbf16>
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @aligned(%b: !b, %i: index, %x: vector<2xbf16>) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected a last index that is a multiple of 2, got 1}}
  warp.store_shared %x, %b[%i, %c1] : vector<2xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected 2 indices, got 1}}
  warp.copy_async %t[%i] dims [0, 1] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected in_bounds for 2 dimensions, got 1}}
  warp.copy_async %t[%i, %i] dims [0, 1] to %b {in_bounds = array<i1: true>} : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xf16>, %i: index) {
  // expected-error @below {{expected a buffer of 'f16'}}
  warp.copy_async %t[%i, %i] dims [0, 1] to %b : tensor<?x64xf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected 2 dims, got 1}}
  warp.copy_async %t[%i, %i] dims [0] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected dims from 0 to 1, got 2}}
  warp.copy_async %t[%i, %i] dims [0, 2] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected each of dims once, got 1 twice}}
  warp.copy_async %t[%i, %i] dims [1, 1] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<4x12xbf16, #tile.shared<pitch = 24, chunk = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  // expected-error @below {{expected a last dimension of a multiple of 16 bytes, got}}
  warp.copy_async %t[%i, %i] dims [0, 1] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @copy(%b: !b, %t: tensor<?x64xbf16>, %i: index) {
  %c4 = arith.constant 4 : index
  // expected-error @below {{expected a first index along dim 1 that is a multiple of 8, got 4}}
  warp.copy_async %t[%i, %c4] dims [0, 1] to %b : tensor<?x64xbf16>, !b
  return
}

// -----

tile.program @p sizes(%N) ins(%x: f32[N]) outs(%y: f32[N]) {
  warp.kernel @p_0 grid() warps(1) {
    // expected-error @below {{expected as many results as numbers of arrivals, got 1 and 2}}
    %there = warp.mbarriers [32, 1] : !warp.mbarrier
  }
}

// -----

tile.program @p sizes(%N) ins(%x: f32[N]) outs(%y: f32[N]) {
  warp.kernel @p_0 grid() warps(1) {
    // expected-error @below {{expected 1 or more arrivals, got 0}}
    %there = warp.mbarriers [0] : !warp.mbarrier
  }
}

// -----

func.func @wait() {
  // expected-error @below {{expected 0 or more pending groups, got -1}}
  warp.wait_group -1
  return
}

// -----

!b = !warp.buffer<64xbf16, #tile.shared<pitch = 64, chunk = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected a buffer of 2 dimensions, got}}
  %x = warp.ldmatrix %b[%i, %i] num 4 : !b -> vector<8xbf16>
  return
}

// -----

!b = !warp.buffer<64x64xi32, #tile.shared<pitch = 64, chunk = 4>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected a buffer of f16, bf16 or f32, got}}
  %x = warp.ldmatrix %b[%i, %i] num 4 : !b -> vector<4xi32>
  return
}

// -----

!b = !warp.buffer<64x64xf32, #tile.shared<pitch = 64, chunk = 4>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected 16-bit elements to transpose, got}}
  %x = warp.ldmatrix %b[%i, %i] num 4 transpose : !b -> vector<4xf32>
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected 1, 2 or 4 matrices, got 3}}
  %x = warp.ldmatrix %b[%i, %i] num 3 : !b -> vector<6xbf16>
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected a result of 'vector<8xbf16>', got 'vector<4xbf16>'}}
  %x = warp.ldmatrix %b[%i, %i] num 4 : !b -> vector<4xbf16>
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  %c4 = arith.constant 4 : index
  // expected-error @below {{expected a row that is a multiple of 8, got 4}}
  %x = warp.ldmatrix %b[%c4, %i] num 4 : !b -> vector<8xbf16>
  return
}

// -----

!b = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  %c8 = arith.constant 8 : index
  // expected-error @below {{expected a column that is a multiple of 16, got 8}}
  %x = warp.ldmatrix %b[%i, %c8] num 4 : !b -> vector<8xbf16>
  return
}

// -----

!b = !warp.buffer<8x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
func.func @ldmatrix(%b: !b, %i: index) {
  // expected-error @below {{expected a buffer of at least 16x16 elements, got}}
  %x = warp.ldmatrix %b[%i, %i] num 4 : !b -> vector<8xbf16>
  return
}

// -----

func.func @mma(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @below {{expected factors of f16, bf16 or f32, got 'vector<4xi32>'}}
  %d = warp.mma %a, %b, %c : vector<4xi32>, vector<2xi32> -> vector<4xf32>
  return
}

// -----

func.func @mma(%a: vector<4xbf16>, %b: vector<4xbf16>, %c: vector<4xf32>) {
  // expected-error @below {{expected a of 'vector<8xbf16>', got 'vector<4xbf16>'}}
  %d = warp.mma %a, %b, %c : vector<4xbf16>, vector<4xbf16> -> vector<4xf32>
  return
}

// -----

func.func @mma(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) {
  // expected-error @below {{expected b of 'vector<2xf32>', got 'vector<4xf32>'}}
  %d = warp.mma %a, %b, %c : vector<4xf32>, vector<4xf32> -> vector<4xf32>
  return
}

// -----

func.func @mma(%a: vector<8xf16>, %b: vector<4xf16>, %c: vector<8xf32>) {
  // expected-error @below {{expected c of 'vector<4xf32>', got 'vector<8xf32>'}}
  %d = warp.mma %a, %b, %c : vector<8xf16>, vector<4xf16> -> vector<8xf32>
  return
}

// -----

func.func @split(%x: vector<2xbf16>) {
  // expected-error @below {{expected f32, got 'vector<2xbf16>'}}
  %h, %l = warp.split_tf32 %x : vector<2xbf16>
  return
}

// -----

func.func @shuffle(%x: f32) {
  // expected-error @below {{expected a mask from 1 to 31, got 32}}
  %y = warp.shuffle_xor %x, 32 : f32
  return
}

// -----

func.func @load(%t: tensor<?x64xf32>, %i: index) {
  // expected-error @below {{expected a dim from 0 to 1, got 2}}
  %x = warp.load %t[%i, %i] dim 2 : tensor<?x64xf32> -> f32
  return
}

// -----

func.func @load(%t: tensor<f32>) {
  // expected-error @below {{expected one element of a tensor without dimensions, got 'vector<2xf32>'}}
  %x = warp.load %t[] : tensor<f32> -> vector<2xf32>
  return
}

// -----

func.func @store(%t: tensor<?x64xf32>, %i: index, %x: vector<2xf32>) {
  %c3 = arith.constant 3 : index
  // expected-error @below {{expected a first index that is a multiple of 2, got 3}}
  warp.store %x, %t[%i, %c3] : vector<2xf32>, tensor<?x64xf32>
  return
}

// -----

tile.program @p sizes(%M) ins(%K: bf16[M, 64]) outs(%O: f32[M]) {
  warp.kernel @p_0 grid(%i < %M) warps(4) {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !warp.buffer<8x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
    // expected-error @below {{expected rows that 4 warps have alike, of chunks that divide 32 lanes, got}}
    warp.copy_async %K[%i, %c0] dims [0, 1] to %b {own_rows} : tensor<?x64xbf16>, !warp.buffer<8x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
  }
}
