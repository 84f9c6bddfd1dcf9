"""Compares what npy.test wrote with NumPy's own result."""
import sys

import numpy

folder = sys.argv[1] + "/"
x = numpy.load(folder + "x.npy")
y = numpy.load(folder + "y.npy")
z = numpy.load(folder + "z.npy")
assert y.dtype == numpy.float32 and (y == 2 * x[::-1]).all(), y
assert z.dtype == numpy.float32 and (z == x.sum(1)).all(), z
