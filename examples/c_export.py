"""Export a robot's dynamics and simulation step as C code, and verify it.

Write a folder with a header, a source, test vectors and a main loop. If there is a C compiler,
build it, run the test and measure a step. The code needs only math.h and string.h.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import tarsus
from tarsus.exchange.c_export import export_c


def main(folder: str = "out/cheetah_c") -> None:
    """Export, build, test."""
    robot = tarsus.load("mini_cheetah")
    sim = tarsus.Simulation(robot, tarsus.Moreau(mu=0.6), controller=None, dt=0.001)
    where = Path(folder)
    for path in export_c(sim, where):
        print(path, f"{Path(path).stat().st_size // 1024} kB")
    compiler = shutil.which("cc")
    if compiler is None:
        print("no C compiler here: the folder is ready for one")
        return
    flags = ["-std=c11", "-O1", "-ffp-contract=off", "-fno-tree-slp-vectorize", f"-I{where}"]
    for program in ("test_mini_cheetah", "example"):
        sources = [str(where / f"{program}.c"), str(where / "mini_cheetah.c")]
        target = str(where / program)
        subprocess.run([compiler, *flags, *sources, "-lm", "-o", target], check=True)
        print(subprocess.run([target], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
