"""What is measured: kernels, sizes, and the work each does."""
import dataclasses
import pathlib

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
TOKENS, WIDTH = 16384, 2048  # tokens a batch, heads x head size
HEAD_SIZES = (64, 128, 256)
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
WINDOW = 1024
DOCUMENTS = 12  # that are packed into a sequence


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One compiled kernel: an example bound to a head size, and to scalars of a length that it is measured at."""
    example: str
    head_size: int
    scalars: tuple = ()  # (name, value)
    length: int = 0  # of keys; 0: any

    @property
    def stem(self):
        return "-".join([self.example, f"d{self.head_size}", *(f"{name}{value}" for name, value in self.scalars)])

    @property
    def source(self):
        return EXAMPLES / f"{self.example}.attn"

    def bindings(self, type="bf16"):
        names = {"D": self.head_size, "E": self.head_size, "T": type}
        text = self.source.read_text()
        if "type TB" in text:
            names["TB"] = type
        return names | dict(self.scalars)


PLAIN, CAUSAL, BIAS = "01-attention", "02-causal", "06-learned-bias"
VARIANTS = ("03-sliding-window", "04-alibi", "05-soft-cap", BIAS)


def all_kernels():
    return [Kernel(e, d) for d in HEAD_SIZES for e in (PLAIN, CAUSAL)] + \
        [Kernel(e, d) for d in (64, 128) for e in VARIANTS]


def visible_pairs(kind, s):
    """Pairs of a query and a key that it sees, in one head."""
    if kind in (PLAIN, BIAS):
        return s * s
    if kind == "03-sliding-window":
        w = min(WINDOW, s)
        return w * (w + 1) // 2 + (s - w) * w
    return s * (s + 1) // 2


def flops(kind, b, h, s, d):
    """4 for each pair and column; half of the square under a causal mask."""
    pairs = s * s / 2 if kind not in (PLAIN, BIAS, "03-sliding-window") else visible_pairs(kind, s)
    return 4 * b * h * d * pairs
