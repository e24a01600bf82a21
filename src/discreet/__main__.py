"""``python -m discreet`` is the command ``discreet``."""

import sys

from discreet.cli import main

sys.exit(main())
