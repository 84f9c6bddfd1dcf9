"""Writes a program that nests COUNT deep: nest.py KIND COUNT."""
import sys

kind, count = sys.argv[1], int(sys.argv[2])
value, functions, head = "1", "", "Q: f32[M]"
lets = where = outputs = ""
if kind == "brackets":
    value = "(" * count + "1" + ")" * count
elif kind == "minus":
    value = "-" * count + "m"
elif kind == "chain":
    value = "1" + " + 1" * count
elif kind == "reads":
    value, head = "I[" * count + "m" + "]" * count, "I: i32[M]"
elif kind == "functions":  # each calls the one before, so that none recurses
    functions = "fn g0(x) = x;\n" + "".join(
        f"fn g{i}(x) = g{i - 1}(x) + 1;\n" for i in range(1, count))
    value = f"g{count - 1}(1)"
elif kind == "doubling":
    functions = "fn g0(x) = x + x;\n" + "".join(
        f"fn g{i}(x) = g{i - 1}(x) + g{i - 1}(x);\n" for i in range(1, count))
    value = f"g{count - 1}(1)"
elif kind == "backward":  # callers before what they call
    functions = "".join(f"fn g{i}(x) = g{i - 1}(x) + 1;\n" for i in range(count - 1, 0, -1))
    functions += "fn g0(x) = x;\n"
    value = "1"
elif kind == "sharing":  # few nodes, but two to the power of COUNT paths
    functions = "fn g0(x) = x + x;\n" + "".join(
        f"fn g{i}(x) = g{i - 1}(x + x);\n" for i in range(1, count))
    value = f"Q[m] * Q[g{count - 1}(m)]"
    head += f", k: i32 = g{count - 1}(M)"
    where = f"where M % 7 != 0 || g{count - 1}(M) / 3 % 2 == 0"
elif kind == "inputs":
    head = ", ".join(f"Q{i}: f32[M]" for i in range(count))
elif kind == "parameters":
    functions = "fn many(" + ", ".join(f"x{i}" for i in range(count)) + ") = x0;\n"
elif kind == "shapes":
    head = ", ".join("Q%d: f32[%s]" % (i, " + ".join(["M"] * 100)) for i in range(count))
elif kind == "outputs":  # of one long chain
    lets = "".join(f"  let a = {'a' if i else 'Q[m]'} + 1;\n" for i in range(10000))
    lets += "".join(f"  O{i}[m] = a;\n" for i in range(count))
    outputs = "".join(f"O{i}: f32[M], " for i in range(count))
elif kind == "lets":
    lets = "".join(f"  let a = {'a' if i else 'Q[m]'} + 1;\n" for i in range(count))
    value = "a"
elif kind == "axes":
    head = ", ".join(f"Q{i}: f32[M]" for i in range(count - 1))
    value = "0" + " + ".join([""] + [f"sum[x{i}](Q{i}[x{i}])" for i in range(count - 1)])
print(f"{functions}kernel nest({head}) -> ({outputs}O: f32[M]) {where} {{\n{lets}  O[m] = {value};\n}}")
