"""scripts/gpu-bench works on the CPU, and its sides train from the same weights on the same batches: equal losses."""

import os
import pathlib
import re
import subprocess
import sys

if not os.environ.get("DDP_PYTHON"):
    print("skipped: needs PyTorch's Python, which scripts/test sets")
    sys.exit(77)
script = pathlib.Path(os.environ["DDP_SOURCE"]) / "scripts/gpu-bench"
done = subprocess.run([script, "--rehearse"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(done.stdout, done.stderr)
assert done.returncode == 0
for case in ("toy", "mlp-784", "mlp-2048", "resnet18", "resnet50", "gpt2"):
    table = re.search(rf"^{case}, batch .*?(?=\n\n)", done.stdout, re.MULTILINE | re.DOTALL)
    assert table, case
    rows = re.findall(r"^  (ddp-exp|DDP, [^0-9]*?) +([0-9,]+) ", table[0], re.MULTILINE)
    assert [title for title, _ in rows][:2] == ["ddp-exp", "DDP, eager"], rows
    assert all(int(rate.replace(",", "")) > 0 for _, rate in rows), rows
    assert "losses of DDP, eager: 20 of the first 20 equal" in table[0], table[0]
