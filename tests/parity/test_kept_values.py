"""The reference values of the tests of train, models, datasets and schedule are the values that PyTorch computes.

    DDP_VALUES=write scripts/test -R "kept values"     computes them again and writes tests/*/values/*.json
"""

import json
import math
import os
import pathlib
import runpy
import sys

# Another vector width would round sums and the last elements of a tensor differently.
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"

import torch  # noqa: E402

# Matrix products depend on the processor.
DEPENDS_ON_PROCESSOR = {"output", "trained_output"}
TOLERANCE = 1e-5


def as_text(cases):
    """Writes one case per line."""
    lines = (f"{json.dumps(title)}: {json.dumps(case)}" for title, case in cases.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def numbers(text):
    return [float.fromhex(word) for word in text.split()]


def same(kept, computed, key=None):
    if isinstance(kept, dict) and isinstance(computed, dict):
        return kept.keys() == computed.keys() and all(
            same(kept[k], computed[k], key if key in DEPENDS_ON_PROCESSOR else k) for k in kept
        )
    if key in DEPENDS_ON_PROCESSOR and isinstance(kept, str):
        pairs = list(zip(numbers(kept), numbers(computed), strict=True))
        return all(abs(a - b) <= TOLERANCE for a, b in pairs)
    return kept == computed


def check(file, cases):
    kept = json.loads(file.read_text()) if file.exists() else {}
    wrong = [title for title in kept.keys() | cases.keys() if not same(kept.get(title), cases.get(title))]
    for title in wrong:
        print(f"{file.name}: {title}: kept {kept.get(title)}, computed {cases.get(title)}")
    print(f"{len(cases)} cases in {file.name}, {len(wrong)} differ")
    return not wrong


def main():
    if torch.backends.cpu.get_cpu_capability() != "AVX2":
        print("skipped: the values are those of a processor with AVX2")
        return 77
    numbers = torch.arange(1, 1000).float() / 7
    # MKL rounds square roots as IEEE 754 asks on processors of AMD only.
    if not torch.equal(numbers.sqrt(), torch.tensor([math.sqrt(number) for number in numbers.tolist()])):
        DEPENDS_ON_PROCESSOR.update({"parameters", "state"})
    torch.set_num_threads(1)
    good = True
    scripts = sorted((pathlib.Path(os.environ["DDP_SOURCE"]) / "tests").glob("*/values/compute.py"))
    assert len(scripts) == 4, scripts
    for script in scripts:
        for name, cases in runpy.run_path(str(script))["tables"]().items():
            file = script.parent / name
            if os.environ.get("DDP_VALUES") == "write":
                file.write_text(as_text(json.loads(json.dumps(cases))))
                print(f"written: {file}")
            else:
                good &= check(file, json.loads(json.dumps(cases)))
    return 0 if good else 1


sys.exit(main())
