"""The payment service."""

import gc
import sys
from pathlib import Path

# Objects from a cold start are permanent. With a lower threshold, the first payment would pay 17 ms for a collection.
gc.set_threshold(200_000, 20, 20)

if Path(sys.argv[0]).stem == "chalice":
    sys.dont_write_bytecode = True  # `chalice local` takes new bytecode for a change, and starts again in a request
