"""Every key of an experiment, and each value of a closed list, matters: of two runs that differ in it alone, the files,
events or words differ. The keys come from the schema; contexts.py says where each matters."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import contexts
import made

PROGRAM = os.environ["DDP_EXP"]
KINDS = ("weights", "optimizer", "averages", "state", "events", "files", "summary", "words", "exit", "threads")
# Times, paths, and copies of the configuration, some only where they are text.
TIMES = re.compile(
    r"(seconds.*|samples_per_second|stall|started|ended|time|config_hash|data|graphs|sources|git|xxh3|command|repeat)$")
COPIES = ("name", "metric", "method", "goal", "origin")
NUMBERS = re.compile(r"[0-9.]+ samples/s|[0-9.]+ s\b(?! \()|/[^ \"]*/(work|results|meet)[^ \"]*|[0-9:.]{8,}|e[0-9]+\.toml")


def component(schema):
    """The tag (name or type) and the name of a component's schema, else None."""
    for tag in ("name", "type"):
        values = schema.get("properties", {}).get(tag, {}).get("enum", [])
        if len(values) == 1:
            return tag, values[0]
    return None


class Schema:
    """`keys`: the schema of each key. A component's option is "KIND.NAME.OPTION". Kinds that appear in several places,
    such as the transforms of each dataset, must be the same there."""

    def __init__(self, schema):
        self.keys, self.kinds = {}, {}
        for key, value in schema["properties"].items():
            self.add(key, value)

    def add(self, path, schema):
        if schema.get("type") != "object" or "properties" not in schema:
            self.keys[path] = schema
        forms = [schema, *schema.get("anyOf", [])]
        for form in [*forms, *(form["items"] for form in forms if "items" in form)]:
            of_kind = [one for one in form.get("anyOf", []) if component(one)]
            if of_kind:
                self.add_kind(path.rsplit(".", 1)[-1], of_kind)
            elif not component(form):
                for key, value in form.get("properties", {}).items():
                    self.add(f"{path}.{key}", value)

    def add_kind(self, kind, components):
        known = {component(one)[1]: one for one in components}
        if kind in self.kinds:
            assert self.kinds[kind] == known, f"two places take different {kind}"
            return
        self.kinds[kind] = known
        for name, one in known.items():
            self.keys[f"{kind}={name}"] = one
            for option, value in one["properties"].items():
                if option != component(one)[0]:
                    self.add(f"{kind}.{name}.{option}", value)


def values_of(schema):
    """The values of a closed list."""
    forms = [schema, *schema.get("anyOf", []), *schema.get("items", {}).get("anyOf", [])]
    named = any(component(form) for form in forms)
    return [] if named else [value for form in forms for value in form.get("enum", [])]


def derived(schema, value):
    """Another value than `value`, or None if the schema gives none."""
    form = next((one for one in [schema, *schema.get("anyOf", [])] if "type" in one), schema)
    if form.get("type") == "boolean":
        return not value
    if form.get("type") not in ("integer", "number") or isinstance(value, (str, list)) or value is None:
        return None
    if form["type"] == "integer":
        return value + 1
    return value / 2 if value else min(0.1, form.get("maximum", 1))


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def without_times(value):
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not TIMES.match(k) and not (k in COPIES and isinstance(v, str))}
        return {k: without_times(v) for k, v in kept.items()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def lines_of(file):
    # Sorted, because a save ends at any moment.
    return sorted(json.dumps(without_times(json.loads(line))) for line in file.read_text().splitlines())


class Runs:
    """Runs experiments, each once, two at a time."""

    def __init__(self, folder):
        self.folder, self.pool, self.jobs = folder, concurrent.futures.ThreadPoolExecutor(2), {}

    def start(self, experiment, row, again=""):
        text = "".join(f"{key} = {toml(value)}\n" for key, value in experiment.items() if value is not None)
        how = (row.get("command", "run"), tuple(row.get("environment", {}).items()), row.get("watch"), row.get("limit"))
        asked = (text, *how, again)
        if asked not in self.jobs:
            self.jobs[asked] = self.pool.submit(self.run, len(self.jobs), *asked)
        return self.jobs[asked]

    def run(self, number, text, command, environment, watch, limit, _):
        file, results = self.folder / f"e{number}.toml", self.folder / "work" / str(number)
        file.write_text(text.replace("@", f"{self.folder}/meet{number}"))
        words = [PROGRAM, *command.split(), file.name, "--run-id", "r", "--results", str(results)]
        words = ["prlimit", f"--fsize={limit}", *words] if limit else words
        clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "OMP_NUM_THREADS")}
        threads = 0
        with tempfile.TemporaryFile("w+") as printed:
            process = subprocess.Popen(words, cwd=self.folder, env=clean | dict(environment), stdin=subprocess.DEVNULL,
                                       stdout=printed, stderr=printed)  # fmt: skip
            while watch and process.poll() is None:
                threads = max(threads, most_threads(process.pid))
            code = process.wait(120)
            printed.seek(0)
            said = printed.read()
        found = {"exit": code, "words": NUMBERS.sub("", said), "said": said, "threads": threads // 16}
        found |= self.results(results)
        subprocess.run(["rm", "-rf", results], check=True)
        return found

    @staticmethod
    def results(results):
        files = sorted(results.rglob("*"))
        found = {"files": [re.sub(r"events\.out.*", "events", str(file.relative_to(results))) for file in files]}

        def contents(name, read):
            found = [file for file in files if file.name == name]
            # Of the checkpoints of a run, the newest.
            newest = {file.parent.parent if file.parent.name.startswith("step-") else file: file for file in found}
            return [read(file) for file in newest.values()]

        for kind, name in {"weights": "model", "optimizer": "optimizer", "averages": "ema"}.items():
            found[kind] = contents(f"{name}.safetensors", lambda file: hashlib.sha256(file.read_bytes()).hexdigest())
        found["state"] = contents("state.json", lambda file: without_times(json.loads(file.read_text())))
        found["summary"] = contents("summary.json", lambda file: without_times(json.loads(file.read_text())))
        found["events"] = contents("metrics.jsonl", lines_of)
        return found


def most_threads(pid):
    try:
        ranks = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return max((len(os.listdir(f"/proc/{rank}/task")) for rank in ranks), default=0)
    except OSError:
        return 0


def pairs(schema):
    """Yields the key with its value, the two experiments (None if the table lacks the value), and the row of the table."""
    for key, one in schema.keys.items():
        if key in contexts.GPUS or key in contexts.REFUSED or key in schema.kinds:
            continue
        seen = []
        for row in contexts.rows_of(key, schema):
            value = contexts.value_at(row["base"], row["path"])
            value = row.get("default", one).get("default") if value is None else value
            others = row["others"] or [v for v in values_of(one) if v != value] or [derived(one, value)]
            seen += [value, *others, *(v[0] for v in [value, *others] if isinstance(v, list) and v)]
            for other in others:
                name = key if "=" in key else f"{key}={json.dumps(other)}"
                yield name, row["base"] if other is not None else None, contexts.put(row["base"], row["path"], other), row
        for value in values_of(one):
            if "=" not in key and value not in seen:
                yield f"{key}={json.dumps(value)}", None, None, {}


def checked(name, base, other, row, a, b):
    """The kind of difference that was found, and the failure if there is none."""
    value = name.split("=", 1)[-1]
    expected = (0, row["fails"][value]) if value in row.get("fails", {}) else row.get("exits", (0, 0))
    ended = (a["exit"], b["exit"])
    kinds = [kind for kind in row.get("kinds", KINDS) if a[kind] != b[kind]]
    if ended != expected:
        return "", f"{name}: {toml(base)}: exit codes {ended}, not {expected}: {(a if a['exit'] else b)['said'][-600:]}"
    if ended[0] != ended[1]:
        return "exit", ""
    return (kinds[0], "") if kinds else ("", f"{name}: {toml(base)}: no difference in {', '.join(row.get('kinds', KINDS))}")


def same(schema):
    """Yields two experiments that should end in the same way, and their exit codes."""
    for name, base in contexts.REPEATED.items():
        row = {"command": "sweep --jobs 1"} if "sweep" in base else {}
        yield name, row, base, base, (0, 0)
    for key, value in contexts.GPUS.items():
        assert key in schema.keys, key
        yield key, {}, contexts.FLAT, contexts.put(contexts.FLAT, key, value), (0, 0)
    for key, value in contexts.REFUSED.items():
        assert key in schema.keys, key
        yield key, {}, contexts.FLAT, contexts.put(contexts.FLAT, key, value), (0, 2)


def main():
    printed = subprocess.run([PROGRAM, "schema", "experiment"], capture_output=True, check=True).stdout
    schema = Schema(json.loads(printed))
    begun = time.monotonic()
    failures, shown = [], {kind: [] for kind in KINDS}
    chosen = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    with tempfile.TemporaryDirectory(prefix="ddp-keys-") as folder:
        made.write_all(folder)
        runs = Runs(pathlib.Path(folder))
        excused = [(name, ended, runs.start(base, row), runs.start(other, row, again="again"))
                   for name, row, base, other, ended in same(schema) if chosen.search(name)]  # fmt: skip
        asked = []
        for name, base, other, row in pairs(schema):
            if chosen.search(name) and base is None:
                failures.append(f"{name}: has no pair in tests/keys/contexts.py")
            elif chosen.search(name):
                asked.append((name, base, other, row, runs.start(base, row), runs.start(other, row)))
        for *pair, first, second in asked:
            kind, failure = checked(*pair, first.result(), second.result())
            failures += [failure] if failure else []
            shown.get(kind, []).append(pair[0])
        for name, ended, *both in excused:
            a, b = (one.result() for one in both)
            differ = [kind for kind in KINDS[:-2] if a[kind] != b[kind] and (kind, name) not in contexts.MAY_DIFFER]
            if (a["exit"], b["exit"]) != ended or (differ and ended == (0, 0)) or (ended[1] and name not in b["said"]):
                found = [(a[kind], b[kind]) for kind in differ]
                failures.append(f"{name}: should change nothing here: exit codes {a['exit']}, {b['exit']}; {found}")
    for failure in failures:
        print(failure)
    print(f"{len(schema.keys)} keys and components, {len(asked)} pairs, {len(runs.jobs)} runs, {time.monotonic() - begun:.0f} s")
    print("of GPUs alone:", ", ".join(contexts.GPUS), "; bound a wait:", ", ".join(contexts.REFUSED))
    print("differences:", ", ".join(f"{len(names)} {kind}" for kind, names in shown.items()), f"; {len(failures)} failures")
    for kind in KINDS[5:]:
        print(f"only in {kind}:", ", ".join(sorted(shown[kind])))
    return 1 if failures else 0


sys.exit(main())
