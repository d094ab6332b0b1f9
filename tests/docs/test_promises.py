"""docs/promises.md names existing tests and existing parts of scripts/soak."""

import os
import pathlib
import re

root = pathlib.Path(os.environ["DDP_SOURCE"])
text = (root / "docs/promises.md").read_text()
tests = {path: (root / path) for path in re.findall(r"`(tests/[\w/.]+)`", text)}
parts = set(re.findall(r"`scripts/soak (\w+)", text))
missing = [path for path, file in tests.items() if not file.exists()]
missing += [f"scripts/soak {part}" for part in sorted(parts) if not (root / "scripts/soak.d" / part).exists()]
assert len(tests) > 10 and len(parts) > 2, (tests, parts)
assert not missing, f"docs/promises.md names {missing}"
# The name of a test case follows the file of a C++ test.
for path, name in re.findall(r"`(tests/[\w/.]+\.cpp)`, \"([^\"]+)\"", text):
    assert name in tests[path].read_text(), f"{path} has no \"{name}\""
print(f"{len(tests)} files of tests and {len(parts)} parts of scripts/soak are there")
