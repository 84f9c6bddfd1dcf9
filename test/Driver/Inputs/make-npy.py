"""Writes the files that npy.test reads into a folder."""
import sys

import numpy

folder = sys.argv[1] + "/"
x = numpy.arange(20, dtype="f4").reshape(5, 4) - 7.5
numpy.save(folder + "x.npy", x)
numpy.save(folder + "fortran.npy", numpy.asfortranarray(x))
numpy.save(folder + "double.npy", x.astype("f8"))
numpy.save(folder + "table.npy", numpy.array([4, 3, 2, 1, 0], dtype="i4"))
numpy.save(folder + "long.npy", numpy.array([4, 3, 2, 1, 0], dtype="i8"))
numpy.save(folder + "six.npy", numpy.zeros(6, dtype="i4"))
numpy.save(folder + "half.npy", x.astype("f2"))
numpy.save(folder + "outside.npy", numpy.array([4, 3, 2, -1, 5], dtype="i4"))
content = open(folder + "x.npy", "rb").read()
open(folder + "short.npy", "wb").write(content[:-3])
open(folder + "lies.npy", "wb").write(content.replace(b"(5, 4)", b"(3, 4)"))
