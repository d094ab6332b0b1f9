"""docs/experiment-file.md names every key that the program knows."""

import json
import os
import pathlib
import subprocess

text = (pathlib.Path(os.environ["DDP_SOURCE"]) / "docs/experiment-file.md").read_text()
schema = json.loads(subprocess.run([os.environ["DDP_EXP"], "schema"], capture_output=True, check=True).stdout)


def section(value):
    """The keys of a table that is not a component: the schema closes these tables."""
    return value.get("properties", {}) if value.get("type") == "object" else {}


keys = set(schema["properties"]) | {k for value in schema["properties"].values() for k in section(value)}
missing = sorted(key for key in keys if f"`{key}`" not in text and f"`[{key}]`" not in text)
assert len(keys) > 30, sorted(keys)
assert not missing, f"docs/experiment-file.md does not name {missing}"
print(f"{len(keys)} keys are documented")
