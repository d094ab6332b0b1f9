"""Draws letters with this machine's fonts, as two image folders. A class is a letter, and no font is in both folders.

    glyphs.py FOLDER [--train 120] [--validation 30] [--side 16] [--seed 0] [--fonts FOLDER...]

Writes FOLDER/train/<letter>/<number>.png and FOLDER/validation/<letter>/<number>.png; --train and --validation are the
numbers of images per letter. Font, size, place, angle, colours and noise are random; the same fonts and seed give the
same images. Whole font families are held out: the styles of one family look too similar for an honest validation. Needs
Pillow.
"""

import argparse
import pathlib
import random
import shutil
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

# The capital letters, and the small letters that look different from their capitals.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"
FOLDERS = ["/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts"]
HELD_OUT = 0.2  # least share of the fonts
LEAST_CONTRAST = 80  # between the gray values of ink and paper, of 255
OVERSAMPLING = 4  # letters are drawn larger and then reduced: fonts have no hinting for such small sizes


def mask_of(font, text):
    mask = font.getmask(text)
    return mask.size, bytes(mask)


def can_write(file):
    """Returns the family of a font; None if it lacks letters or the file is not a font."""
    try:
        font = ImageFont.truetype(str(file), 20)
        missing = mask_of(font, "\uffff")
        drawn = [mask_of(font, letter) for letter in LETTERS]
    except OSError:
        return None
    # A font of symbols has boxes, blanks or the same picture for several letters.
    if missing in drawn or len(set(drawn)) < len(LETTERS):
        return None
    return font.getname()[0]


def families(folders):
    """The fonts of each family, both in the order of their names."""
    files = {file for folder in folders for kind in ("ttf", "otf") for file in pathlib.Path(folder).expanduser().rglob(f"*.{kind}")}
    found = {}
    for file in sorted(files):
        if family := can_write(file):
            found.setdefault(family, []).append(file)
    return dict(sorted(found.items()))


def held_out(found, draws):
    """Chooses the validation's families at random: at least one, and not all."""
    names = list(found)
    draws.shuffle(names)
    wanted = HELD_OUT * sum(map(len, found.values()))
    taken = []
    while not taken or (sum(len(found[name]) for name in taken) < wanted and len(taken) < len(names) - 1):
        taken.append(names[len(taken)])
    return taken


def gray(colour):
    return (299 * colour[0] + 587 * colour[1] + 114 * colour[2]) / 1000


def colours(draws):
    while True:
        paper, ink = (tuple(draws.randrange(256) for _ in range(3)) for _ in range(2))
        if abs(gray(paper) - gray(ink)) >= LEAST_CONTRAST:
            return paper, ink


def draw(letter, file, side, draws):
    """An image of one letter, RGB, side x side."""
    paper, ink = colours(draws)
    large = OVERSAMPLING * side
    font = ImageFont.truetype(str(file), round(large * draws.uniform(0.6, 0.9)))
    shape = Image.new("L", (large, large))
    place = tuple(large * (0.5 + draws.uniform(-0.1, 0.1)) for _ in range(2))
    ImageDraw.Draw(shape).text(place, letter, fill=255, font=font, anchor="mm")
    shape = shape.rotate(draws.uniform(-15, 15), Image.Resampling.BICUBIC)
    image = Image.composite(Image.new("RGB", shape.size, ink), Image.new("RGB", shape.size, paper), shape)
    image = image.resize((side, side), Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(draws.uniform(0, 0.7)))
    strength = draws.uniform(0, 20)
    noisy = bytes(min(255, max(0, round(value + draws.gauss(0, strength)))) for value in image.tobytes())
    return Image.frombytes("RGB", image.size, noisy)


def write(folder, files, count, side, draws):
    for letter in LETTERS:
        (folder / letter).mkdir(parents=True)
        for number in range(count):
            draw(letter, draws.choice(files), side, draws).save(folder / letter / f"{number:04}.png")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=120)
    parser.add_argument("--validation", type=int, default=30)
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fonts", nargs="+", default=FOLDERS)
    arguments = parser.parse_args()
    if arguments.folder.exists():
        sys.exit(f"glyphs: {arguments.folder} exists: remove it, or name another folder")
    found = families(arguments.fonts)
    if len(found) < 2:
        sys.exit(
            f"glyphs: {len(found)} font families in {', '.join(arguments.fonts)}, but two are needed: one for training "
            "and one for validation; on Debian and Ubuntu: apt-get install fonts-dejavu-extra fonts-liberation"
        )
    draws = random.Random(arguments.seed)
    measured = held_out(found, draws)
    sets = {
        "train": (arguments.train, [file for name, files in found.items() if name not in measured for file in files]),
        "validation": (arguments.validation, [file for name in measured for file in found[name]]),
    }
    # One rename puts the folder in place: an interrupted call leaves no incomplete folder.
    unfinished = arguments.folder.with_name(arguments.folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name, (count, files) in sets.items():
        write(unfinished / name, files, count, arguments.side, draws)
        print(f"glyphs: {name}: {count * len(LETTERS)} images, {len(files)} fonts", file=sys.stderr)
    unfinished.rename(arguments.folder)
    print(f"glyphs: held out: {', '.join(measured)}", file=sys.stderr)


if __name__ == "__main__":
    main()
