"""What `attentile explain --sizes` is given for an example: of one list for all, what it has."""
import re


def of(source, sizes):
    """Those of `sizes`, values by name, that the file names outside of comments, as --sizes takes them."""
    text = re.sub("//.*", "", source.read_text())
    return ",".join(f"{name}={value}" for name, value in sizes.items() if re.search(rf"\b{name}\b", text))
