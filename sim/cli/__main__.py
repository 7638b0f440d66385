"""``python -m sim.cli``: the command where its script is not on the path."""

import sys

from sim.cli import main

sys.exit(main())
