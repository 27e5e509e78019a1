"""python -m kickdrift."""

import sys

from .cli import main

sys.exit(main())
