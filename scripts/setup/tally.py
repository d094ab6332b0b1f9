"""Prints the result of ctest in one line: "N passed, N failed", and ", N skipped" if tests were skipped.

    tally.py RESULTS STATUS    ctest's JUnit file and its exit status

Exits with 1 unless some tests passed and none failed.
"""

import os
import re
import sys
import xml.etree.ElementTree


def outcome(case):
    """The result of a test. ctest also marks a test as skipped that it could not start; such a test has failed."""
    skipped = case.find("skipped")
    if case.get("status") == "run" and case.find("failure") is None:
        return "passed"
    if case.get("status") == "disabled" or skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def cases(test):
    """How many cases of a program a test ran, by Catch's last line; a test without one is a case itself."""
    said = test.findtext("system-out") or ""
    if several := re.search(r"in (\d+) test cases?\)\s*$", said):
        return {"passed": int(several[1]), "failed": 0}
    if several := re.search(r"^test cases:\s+(\d+) \|.*?(\d+) failed", said, re.M):
        return {"passed": int(several[1]) - int(several[2]), "failed": int(several[2])}
    return {}


def main(results, status):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    if os.path.exists(results):
        for test in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
            found = cases(test)
            if sum(found.values()) > 1 and found[outcome(test)] > 0:
                count = {name: number + found.get(name, 0) for name, number in count.items()}
            else:
                count[outcome(test)] += 1
    # An error of ctest outside the tests must not look like success.
    if status != 0 and count["failed"] == 0:
        count["failed"] = 1
    line = f"{count['passed']} passed, {count['failed']} failed"
    print(line + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return count["failed"] > 0 or count["passed"] == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
