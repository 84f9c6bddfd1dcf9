// RUN: attentile-opt %s --attn-expand-random --canonicalize --split-input-file | FileCheck %s

// The known answers that Random123 publishes for philox4x32-7 (kat_vectors).
// CHECK-LABEL: func.func @zeros
// CHECK-DAG: %[[W0:.*]] = arith.constant 1601156873 : i32
// CHECK-DAG: %[[W1:.*]] = arith.constant 227098468 : i32
// CHECK-DAG: %[[W2:.*]] = arith.constant 1326587777 : i32
// CHECK-DAG: %[[W3:.*]] = arith.constant 1332939336 : i32
// CHECK: return %[[W0]], %[[W1]], %[[W2]], %[[W3]]
func.func @zeros() -> (i32, i32, i32, i32) {
  %z = arith.constant 0 : i32
  %w:4 = attn.philox %z, %z, %z, %z key %z, %z : i32
  return %w#0, %w#1, %w#2, %w#3 : i32, i32, i32, i32
}

// -----

// CHECK-LABEL: func.func @ones
// CHECK-DAG: %[[W0:.*]] = arith.constant 1376247234 : i32
// CHECK-DAG: %[[W1:.*]] = arith.constant 1159093849 : i32
// CHECK-DAG: %[[W2:.*]] = arith.constant 1301210961 : i32
// CHECK-DAG: %[[W3:.*]] = arith.constant -1940720030 : i32
// CHECK: return %[[W0]], %[[W1]], %[[W2]], %[[W3]]
func.func @ones() -> (i32, i32, i32, i32) {
  %o = arith.constant 0xffffffff : i32
  %w:4 = attn.philox %o, %o, %o, %o key %o, %o : i32
  return %w#0, %w#1, %w#2, %w#3 : i32, i32, i32, i32
}

// -----

// CHECK-LABEL: func.func @pi
// CHECK-DAG: %[[W0:.*]] = arith.constant 1308412602 : i32
// CHECK-DAG: %[[W1:.*]] = arith.constant 420120560 : i32
// CHECK-DAG: %[[W2:.*]] = arith.constant -999071046 : i32
// CHECK-DAG: %[[W3:.*]] = arith.constant -1229642710 : i32
// CHECK: return %[[W0]], %[[W1]], %[[W2]], %[[W3]]
func.func @pi() -> (i32, i32, i32, i32) {
  %c0 = arith.constant 0x243f6a88 : i32
  %c1 = arith.constant 0x85a308d3 : i32
  %c2 = arith.constant 0x13198a2e : i32
  %c3 = arith.constant 0x03707344 : i32
  %k0 = arith.constant 0xa4093822 : i32
  %k1 = arith.constant 0x299f31d0 : i32
  %w:4 = attn.philox %c0, %c1, %c2, %c3 key %k0, %k1 : i32
  return %w#0, %w#1, %w#2, %w#3 : i32, i32, i32, i32
}

// -----

// On vectors, and with a seed of 64 bits: its high word is the key's second.
// CHECK-LABEL: func.func @elements
// CHECK-DAG: %[[HIGH:.*]] = arith.shrui %{{.*}}, %{{.*}} : vector<8xi64>
// CHECK: arith.trunci %[[HIGH]] : vector<8xi64> to vector<8xi32>
// CHECK-COUNT-14: arith.mului_extended %{{.*}} : vector<8xi32>
// CHECK-NOT: arith.mului_extended
func.func @elements(%seed: vector<8xindex>, %b: vector<8xindex>, %h: vector<8xindex>, %m: vector<8xindex>,
                    %n: vector<8xindex>) -> vector<8xi32> {
  %x = attn.random %seed at [%b, %h, %m, %n] : vector<8xindex> -> vector<8xi32>
  return %x : vector<8xi32>
}

// -----

// Of bytes of seven bits, the first element is the low half of the first word,
// element 9 the high half of the second one.
// CHECK-LABEL: func.func @halves
// CHECK-DAG: arith.constant 14089 : i32
// CHECK-DAG: arith.constant 3337 : i32
func.func @halves() -> (i32, i32) {
  %z = arith.constant 0 : index
  %nine = arith.constant 9 : index
  %a = attn.random %z at [%z] : index -> i32
  %b = attn.random %z at [%nine] : index -> i32
  return %a, %b : i32, i32
}

// -----

// Rows 0 and 8 are of one call; of row 8's words the bytes are turned by one.
// Word 3 is 0x4f730a48: 0x4f73 for row 0 and column 25, 0x730a for row 8 and 24.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: arith.constant 20339 : i32
// CHECK-DAG: arith.constant 29450 : i32
func.func @rows() -> (i32, i32) {
  %z = arith.constant 0 : index
  %eight = arith.constant 8 : index
  %a = arith.constant 24 : index
  %b = arith.constant 25 : index
  %x = attn.random %z at [%z, %b] : index -> i32
  %y = attn.random %z at [%eight, %a] : index -> i32
  return %x, %y : i32, i32
}
