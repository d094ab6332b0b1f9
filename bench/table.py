"""A table of measurements. The rows are measured in turn, so a noisy minute affects every row."""

import json
import os
import statistics
import time
from dataclasses import dataclass, field

WIDTH = 44


@dataclass
class Table:
    name: str
    title: str
    better: str  # "less" or "more"
    rows: dict  # title of a row -> function that measures it once; ddp-exp first
    peers: bool = True  # compare the first row with the rows below it
    once: bool = False  # one round is enough: some rows take minutes
    best_of: int = 1  # calls of each row in a round, in turn; the best one counts
    values: dict = field(default_factory=dict)

    def measure(self, repeat, warm_up=True):
        """Runs a warm-up round that does not count (disk caches, compiled modules), then `repeat` rounds over all
        rows."""
        self.values = {row: [] for row in self.rows}
        if self.once and warm_up:
            for row, call in self.rows.items():
                first = call()
                self.values[row].append(call() if first < 30 else first)
            return
        for one in range(repeat + warm_up):
            for row, value in self.round().items():
                if one >= warm_up:
                    self.values[row].append(value)

    def round(self):
        calls = [{row: call() for row, call in self.rows.items()} for _ in range(self.best_of)]
        best = min if self.better == "less" else max
        return {row: best(call[row] for call in calls) for row in self.rows}

    def ratio(self, row):
        """The factor by which the first row's median is better than this row's median."""
        ours, theirs = (statistics.median(self.values[name]) for name in (next(iter(self.rows)), row))
        return theirs / ours if self.better == "less" else ours / theirs

    def print(self):
        print(f"\n{self.title}: {self.better} is better")
        timed = all(hasattr(value, "cpu") for values in self.values.values() for value in values)
        heads = ["median", "min", "max", *(["CPU s"] if timed else [])]
        print(f"{'':{WIDTH}}" + "".join(f"{head:>10}" for head in heads) + (f"{'ddp-exp is':>16}" if self.peers else ""))
        for number, (row, values) in enumerate(self.values.items()):
            shown = "".join(f"{f(values):>10.4g}" for f in (statistics.median, min, max))
            if timed:
                shown += f"{statistics.median(value.cpu for value in values):>10.4g}"
            print(f"  {row:{WIDTH - 2}}{shown}" + (f"{self.ratio(row):>9.2f}x better" if number and self.peers else ""), flush=True)

    def save(self, folder):
        os.makedirs(folder, exist_ok=True)
        saved = {
            "title": self.title,
            "better": self.better,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "cores": len(os.sched_getaffinity(0)),
            "rows": [
                {"what": row, "median": statistics.median(values), "ratio": self.ratio(row), "values": values}
                | {"cpu": [value.cpu for value in values if hasattr(value, "cpu")]}
                for row, values in self.values.items()
            ],
        }
        with open(os.path.join(folder, f"{self.name}.json"), "w") as file:
            json.dump(saved, file, indent=2)
            file.write("\n")
