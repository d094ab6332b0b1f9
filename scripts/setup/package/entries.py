"""The files of a package, in a fixed order and with a fixed time."""

import os
import time


def seconds():
    """The time of all entries, in seconds since 1970. Zip files have no times before 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)


def zip_date():
    return time.gmtime(seconds())[:6]


def files(folder):
    """Pairs of a path below the folder and the file, sorted by the path."""
    return sorted((str(file.relative_to(folder)), file) for file in folder.rglob("*") if file.is_file())
