"""Writes the data of bench/exported.py, with the peer's Python: exported_files.py FOLDER ROWS"""

import os
import sys

import numpy as np

folder, rows = sys.argv[1], int(sys.argv[2])
draw = np.random.default_rng(0)
np.save(os.path.join(folder, "images.npy"), draw.standard_normal((rows, 3, 32, 32), dtype=np.float32))
np.save(os.path.join(folder, "classes.npy"), draw.integers(0, 10, rows))
draw.integers(0, 65, 1_000_000).astype(np.uint16).tofile(os.path.join(folder, "tokens.bin"))
