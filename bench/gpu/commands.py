"""The command line that the scripts of this folder share: `compile` anywhere, `run` where there is a GPU."""
import argparse
import pathlib
import subprocess


def make_parser(doc, rounds):
    """The parser, its commands, and that of `run`, for flags of its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compile", help="make the cubins; no GPU needed")
    command.add_argument("kernels", type=pathlib.Path)
    command.add_argument("--target", default="sm_90")
    command.add_argument("--compiler", default="attentile")
    run = commands.add_parser("run", help="check, then time")
    run.add_argument("kernels", type=pathlib.Path)
    run.add_argument("--rounds", type=int, default=rounds, help="timings of each, of which the median counts")
    run.add_argument("--json", type=pathlib.Path)
    return parser, commands, run


def compile_kernel(arguments, source, bindings, flags, path):
    """Compiles one kernel; whether that went well."""
    names = ",".join(f"{name}={value}" for name, value in bindings.items())
    return subprocess.run([arguments.compiler, "compile", str(source), f"--bind={names}",
                           f"--target={arguments.target}", *flags, "-o", str(path)]).returncode == 0
