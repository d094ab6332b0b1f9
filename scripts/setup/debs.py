"""Makes an apt repository from a folder of Debian packages.

    debs.py FOLDER REPOSITORY     writes REPOSITORY/Packages, and links to the files of FOLDER beside it
"""

import hashlib
import pathlib
import subprocess
import sys


def main(folder, repository):
    with open(repository / "Packages", "w") as index:
        for number, file in enumerate(sorted(folder.glob("*.deb"))):
            fields = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True)
            if fields.returncode != 0:
                sys.exit(f"ddp-exp: {file} is damaged: fetch it again\n{fields.stderr}")
            with open(file, "rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            # Versions of apt quote some characters of the original names differently; these names have no such
            # characters.
            (repository / f"{number}.deb").symlink_to(file)
            index.write(f"{fields.stdout.rstrip()}\nFilename: ./{number}.deb\nSize: {file.stat().st_size}\n"
                        f"SHA256: {digest}\n\n")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
