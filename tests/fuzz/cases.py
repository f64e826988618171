"""How many cases the long forms try: FIRSTLIGHT_FUZZ of them; FIRSTLIGHT_FUZZ_SEED makes them others than last time."""

from __future__ import annotations

import os

CASES = int(os.environ.get("FIRSTLIGHT_FUZZ", "1000"))
SEED = int(os.environ.get("FIRSTLIGHT_FUZZ_SEED", "0"))
