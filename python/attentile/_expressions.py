"""The expression trees of a manifest that give sizes: integers, 64 bits."""


def _divide(a, b):
    return a // b if b else 0


_OPERATORS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": _divide,
              "floormod": lambda a, b: a % b if b else 0, "ceildiv": lambda a, b: -_divide(-a, b), "min": min,
              "max": max}


def evaluate(tree, values):
    """The value of a tree over sizes that are known; KeyError for one that is
    not."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    operator, *operands = tree
    if operator not in _OPERATORS:
        raise ValueError(f"expected an operator of sizes, got '{operator}'")
    return _OPERATORS[operator](*(evaluate(x, values) for x in operands))
