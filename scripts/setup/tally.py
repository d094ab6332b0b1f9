"""Prints the result of ctest in one line: "N passed, N failed", and ", N skipped" if tests were skipped.

    tally.py RESULTS STATUS    ctest's JUnit file and its exit status

Exits with 1 unless some tests passed and none failed.
"""

import os
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


def main(results, status):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    if os.path.exists(results):
        for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
            count[outcome(case)] += 1
    # An error of ctest outside the tests must not look like success.
    if status != 0 and count["failed"] == 0:
        count["failed"] = 1
    line = f"{count['passed']} passed, {count['failed']} failed"
    print(line + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return count["failed"] > 0 or count["passed"] == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
