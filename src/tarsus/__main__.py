"""Run the command line with `python -m tarsus`."""

from __future__ import annotations

import sys

from tarsus.cli import main

if __name__ == "__main__":
    sys.exit(main())
