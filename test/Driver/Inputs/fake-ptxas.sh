#!/bin/sh
# Says what the real one does of a kernel that spills.
case "$*" in
*--version*) echo "Cuda compilation tools, release 13.0, V13.0.1"; exit;;
*-O1*) level=-O1;;
*) level="another level";;
esac
while [ "$1" != -o ]; do shift; done
echo "assembled with $level" > "$2"
echo "ptxas info    : Compiling entry function 'causal_0' for 'sm_80'"
echo "    8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads"
echo "ptxas info    : Used 200 registers, used 1 barriers"
