"""Runs ninja, and shows the progress of the build and its remaining time in one line.

    progress.py BUILD JOBS TARGET...    BUILD: the folder that cmake has configured

On a terminal one line changes in place; elsewhere it prints a line at the start and after every 10 %. The compiler's
messages are passed on unchanged. Exits with ninja's status.

The time of a file is estimated from its length and its headers, in seconds of the machine on which the figures below
were measured. A small compilation before the build, and then the build itself, show the speed of this machine.
"""

import json
import os
import re
import selectors
import shlex
import subprocess
import sys
import time

# Seconds for the headers, and seconds for each thousand lines of the file.
PLAIN = (3.5, 3.0)
TORCH = (3.0, 5.0)  # only tensors
TORCH_NN = (10.0, 8.0)
PRECOMPILED_NN = (3.0, 8.0)
PRECOMPILING = 22.0
LINK = 0.7
OTHER = 0.3
# Seconds of the small compilation on that machine, and its source.
SMALL = 0.6
SMALL_SOURCE = "#include <filesystem>\n#include <functional>\n#include <map>\n#include <string>\n#include <vector>\n"

STATUS = "[%f %t] "
# Lines of ninja to drop. "ninja: error: ..." is passed on.
CHATTER = ("ninja: build stopped", "ninja: no work to do", "ninja: Entering directory")
STEP = re.compile(r"^\[(\d+) (\d+)\] (.*)$")


def lines_of(source):
    """The number of lines of a file, and of the files that a unity file includes."""
    try:
        with open(source, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return 0
    return text.count("\n") + sum(lines_of(path) for path in re.findall(r'^#include "(/[^"]+\.cpp)"', text, re.M))


def cost_of_compiling(command, source):
    reads, each_thousand = PLAIN
    if "cmake_pch.hxx" in command:
        reads, each_thousand = PRECOMPILED_NN
    elif "floors/dist" in command or "floors/models" in command:
        reads, each_thousand = TORCH_NN
    elif "/torch/include" in command:
        reads, each_thousand = TORCH
    return reads + each_thousand * lines_of(source) / 1000


def output_of(command):
    """The output of a compile command. CMake 3.25 writes it nowhere else."""
    return command.rsplit(" -o ", 1)[-1].split(" ", 1)[0]


def costs(build, steps):
    """Maps ninja's description of each step to its estimated seconds."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        compiled = {output_of(entry["command"]): entry for entry in json.load(file)}
    cost = {}
    for step in steps:
        output = step.rsplit(" ", 1)[-1]
        if output.endswith(".gch"):
            cost[step] = PRECOMPILING
        elif output in compiled:
            cost[step] = cost_of_compiling(compiled[output]["command"], compiled[output]["file"])
        else:
            cost[step] = LINK if step.startswith("Linking") else OTHER
    return cost


def slowness(build):
    """The factor by which this machine is slower than the machine of the figures; 1 if it cannot be measured."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        words = shlex.split(json.load(file)[0]["command"])
    compiler = next((word for word in words if not word.endswith("ccache")), "c++")
    begun = time.monotonic()
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"], input=SMALL_SOURCE.encode(), capture_output=True
    )
    return max(0.2, (time.monotonic() - begun) / SMALL) if done.returncode == 0 else 1


class Estimate:
    """Estimates the remaining seconds from the expected costs of the steps and the elapsed seconds."""

    def __init__(self, cost, jobs, slow):
        self.cost = cost
        self.jobs = jobs
        self.total = sum(cost.values())
        self.finished = 0.0
        self.begun = self.last = time.monotonic()
        # The first guess weighs as much as a fifth of the build.
        self.prior = (self.total / 5, self.total / 5 * slow / jobs)
        self.shown = 0.0

    def finish(self, step):
        self.finished += self.cost.get(step, OTHER)
        self.last = time.monotonic()

    def speed(self):
        work, seconds = self.prior
        return (work + self.finished) / (seconds + self.last - self.begun)

    def share(self):
        """The finished share of the work, 0 to 1. Running steps count from the end of the last finished step."""
        under_way = min((time.monotonic() - self.last) * self.speed(), (self.total - self.finished) / 2)
        self.shown = max(self.shown, (self.finished + under_way) / self.total if self.total else 1)
        return min(1.0, self.shown)

    def left(self):
        return max(1.0, self.total * (1 - self.share()) / self.speed())


def in_words(seconds):
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes, rest = divmod(10 * round(seconds / 10), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


class Speaker:
    def __init__(self, files, talks):
        """A short build (`talks` false) shows only the messages of compilers."""
        self.files = files
        self.talks = talks
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.tenth = 0
        self.line_shown = False

    def begin(self, estimate):
        self.say(f"building: {self.files} files, about {in_words(estimate.left())}")

    def show(self, estimate):
        if not self.talks:
            return
        share = estimate.share()
        if self.live:
            text = f"ddp-exp: building: {100 * share:.0f} %, about {in_words(estimate.left())} left"
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
            self.line_shown = True
        elif int(share * 10) > self.tenth and share < 1:
            self.tenth = int(share * 10)
            self.say(f"building: {10 * self.tenth} %, about {in_words(estimate.left())} left")

    def clear(self):
        if self.line_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.line_shown = False

    def say(self, text):
        print(f"ddp-exp: {text}", file=sys.stderr, flush=True)

    def pass_on(self, line):
        self.clear()
        print(line, file=sys.stderr, flush=True)


def steps_to_run(build, jobs, targets):
    """Ninja's descriptions of the steps. Ninja may leave some out when their inputs turn out to be unchanged."""
    subprocess.run(["ninja", "build.ninja"], cwd=build, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # A dry run stops at the step that runs cmake, which looks for new files each time: so remove that step.
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        rules = re.sub(r"^build build\.ninja: .*\n(?:  .*\n)*", "", file.read(), flags=re.M)
    with open(os.path.join(build, "steps.ninja"), "w", encoding="utf-8") as file:
        file.write(rules)
    dry = subprocess.run(
        ["ninja", "-f", "steps.ninja", "-n", "-j", jobs, *targets],
        cwd=build,
        env={**os.environ, "NINJA_STATUS": STATUS},
        capture_output=True,
        text=True,
        check=False,
    )
    return [match[3] for match in map(STEP.match, dry.stdout.splitlines()) if match]


def watch(ninja, estimate, speaker):
    """Passes on the messages of compilers and of ninja until ninja has ended. Returns its exit status."""
    selector = selectors.DefaultSelector()
    selector.register(ninja.stdout, selectors.EVENT_READ)
    pending = b""
    while True:
        if selector.select(timeout=1):
            piece = os.read(ninja.stdout.fileno(), 65536)
            if not piece:
                if pending:
                    speaker.pass_on(pending.decode(errors="replace"))
                return ninja.wait()
            *lines, pending = (pending + piece).split(b"\n")
            for line in (one.decode(errors="replace") for one in lines):
                step = STEP.match(line)
                if step:
                    estimate.finish(step[3])
                elif line and not line.startswith(CHATTER):
                    speaker.pass_on(line)
        speaker.show(estimate)


def main(build, jobs, *targets):
    steps = steps_to_run(build, jobs, targets)
    cost = costs(build, steps)
    long = sum(cost.values()) > 5
    estimate = Estimate(cost, int(jobs), slowness(build) if long else 1)
    speaker = Speaker(sum(step.startswith("Building") for step in steps), long)
    if long:
        speaker.begin(estimate)
    ninja = subprocess.Popen(
        ["ninja", "-j", jobs, *targets],
        cwd=build,
        env={**os.environ, "NINJA_STATUS": STATUS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        status = watch(ninja, estimate, speaker)
    except KeyboardInterrupt:
        ninja.wait()  # the terminal has sent it ^C too
        status = 130
    speaker.clear()
    if long and status == 0:
        speaker.say(f"built, {in_words(time.monotonic() - estimate.begun)}")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
