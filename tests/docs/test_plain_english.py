"""Comments, messages, docs and test names keep to plain technical English: no sentence begins with a relative clause
used as a noun ("What is kept", "Who waits"), and no pronoun stands for a noun of another sentence ("that of", "those
who"). Files or folders may be named to look at them alone."""

import io
import os
import re
import sys
import tokenize

ROOT = os.environ.get("DDP_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDERS = ["runner", "models", "datasets", "tests", "bench", "cmake", "scripts", "docs", "experiments", "python"]
FILES = ["README.md", "CMakeLists.txt"]

OPENING = re.compile(
    r"(?:^|(?<=[.!?] ))[\"'(`*]*(Who|What|Which|Where|Whoever|Whatever|Whichever|Whose|That of|Those)\b", re.I
)
ANYWHERE = re.compile(r"\b(that of|those of|those who|those that|those which|of whom)\b", re.I)
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def lines_of_comments(lines, mark):
    """The comments of a file as (line number, text): lines that follow each other are one text."""
    texts, open_text = [], None
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith(mark) and not stripped.startswith("#!"):
            text = stripped[len(mark):].strip()
            if open_text is not None and text:
                texts[-1] = (texts[-1][0], texts[-1][1] + " " + text)
            elif text:
                texts.append((number, text))
            open_text = number if text else None
            continue
        open_text = None
        found = re.search(r"\s" + re.escape(mark) + r" (.*)$", re.sub(STRING, '""', line))
        if found:
            texts.append((number, found.group(1)))
    return texts


def texts_of_cpp(content, of_test):
    lines = content.splitlines()
    yield from lines_of_comments(lines, "//")
    for number, line in enumerate(lines, 1):
        code = line.split(" // ")[0]
        if code.strip().startswith("//") or code.strip().startswith("#include"):
            continue
        # A test expects pieces of messages.
        if of_test and "TEST_CASE" not in code and "SECTION" not in code:
            continue
        for text in STRING.findall(code):
            # Other pieces continue a sentence.
            if " " in text.strip() and not text.startswith((" ", ",")):
                yield number, text


def texts_of_python(content):
    yield from lines_of_comments(content.splitlines(), "#")
    before = None
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.STRING and before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.NL):
            yield token.start[0], " ".join(token.string.strip("\"'").split())
        if token.type != tokenize.COMMENT:
            before = token.type


def texts_of_markdown(content):
    fenced, block, start = False, [], 0
    for number, line in enumerate(content.splitlines() + [""], 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
            stripped = ""
        elif fenced:
            continue
        if not stripped or stripped.startswith(("|", "- ", "* ", "#", ">")):
            if block:
                yield start, " ".join(block)
            block = []
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                yield number, cell.strip()
            continue
        if stripped:
            if not block:
                start = number
            block.append(stripped.lstrip("-*#> "))


def texts_of(path):
    with open(path, encoding="utf-8") as file:
        try:
            content = file.read()
        except UnicodeDecodeError:
            return []
    if path.endswith((".cpp", ".h", ".h.in")):
        return texts_of_cpp(content, of_test=os.path.relpath(path, ROOT).startswith("tests" + os.sep))
    if path.endswith(".py"):
        return texts_of_python(content)
    if path.endswith(".md"):
        return texts_of_markdown(content)
    script = content.startswith("#!") or path.endswith((".sh", ".cmake", ".toml", "CMakeLists.txt"))
    if script and "python" in content.split("\n", 1)[0]:
        return texts_of_python(content)
    return lines_of_comments(content.splitlines(), "#") if script else []


def is_question(text, start):
    """Does the sentence that begins there end with a question mark?"""
    end = re.search(r"[.?!](?=\s|$|\")", text[start:])
    return end is not None and end.group() == "?"


def findings(text):
    for found in OPENING.finditer(text):
        if not is_question(text, found.start(1)):
            yield found.group(1), text[found.start(): found.start() + 70]
    for found in ANYWHERE.finditer(text):
        yield found.group(1), text[max(0, found.start() - 30): found.start() + 40]


BANNED = ["What is kept, and when", "It ends. Who waits, is told.", "the bits are those of one rank", "(Where none is, none)"]
ALLOWED = ["If none is kept, it ends.", "Which rank failed? Rank 1.", "the folder in which it lies", "It says what failed."]


def check_itself():
    for text in BANNED:
        assert list(findings(text)), f"is not found: {text}"
    for text in ALLOWED:
        assert not list(findings(text)), f"is found: {text}"


def paths():
    chosen = sys.argv[1:] or [os.path.join(ROOT, name) for name in FOLDERS + FILES]
    for one in chosen:
        if os.path.isfile(one):
            yield one
        for folder, folders, names in os.walk(one):
            folders[:] = sorted(name for name in folders if name not in ("corpus", "values", "__pycache__"))
            for name in sorted(names):
                yield os.path.join(folder, name)


def main():
    check_itself()
    count = 0
    for path in paths():
        if os.path.abspath(path) == os.path.abspath(__file__):
            continue
        for number, text in texts_of(path):
            for form, excerpt in findings(text):
                count += 1
                print(f"{os.path.relpath(path, ROOT)}:{number}: \"{form}\": {excerpt}")
    if count:
        print(f"{count} sentences to reword: the subject first, as a noun")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
