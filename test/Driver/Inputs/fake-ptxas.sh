#!/bin/sh
# Spills SPILLS bytes at every level but -O1, as the real one does of kernels near the limit.
case "$*" in
*--version*) echo "Cuda compilation tools, release 13.0, V13.0.1"; exit;;
*-O1*) spills=0 level=-O1;;
*) spills=${SPILLS:-8} level=-O3;;
esac
while [ "$1" != -o ]; do shift; done
echo "of $spills bytes at $level" > "$2"
echo "ptxas info    : Compiling entry function 'causal_0' for 'sm_80'"
echo "    8 bytes stack frame, $spills bytes spill stores, $spills bytes spill loads"
echo "ptxas info    : Used 200 registers, used 1 barriers"
