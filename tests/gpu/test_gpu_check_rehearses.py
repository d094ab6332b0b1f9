"""scripts/gpu-check is complete for the day on which a GPU can be had: all of it that needs no GPU works on the CPU."""

import os
import pathlib
import subprocess
import sys

script = pathlib.Path(os.environ["DDP_SOURCE"]) / "scripts/gpu-check"
# Without PyTorch's Python: tests/parity compares with it.
environment = {name: value for name, value in os.environ.items() if name not in ("DDP_PYTHON", "DDP_PYTHONPATH")}
quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
rehearsal = subprocess.run([script, "--rehearse"], env=environment, **quiet)
print(rehearsal.stdout, rehearsal.stderr)
verdicts = [line.split()[0] for line in rehearsal.stdout.splitlines() if not line.startswith(" ")]
wrong = rehearsal.returncode != 0 or "BROKEN" in verdicts or verdicts.count("kept") < 15

if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/dxg"):
    refused = subprocess.run([script], **quiet)
    print(refused.stderr)
    wrong = wrong or refused.returncode != 2 or "this machine has no NVIDIA GPU" not in refused.stderr
sys.exit(1 if wrong else 0)
