"""Images decode, whole and in part, to the pixels of Pillow's Image.open(file).convert("RGB"), bit for bit."""

import io
import os
import random
import subprocess
import sys
import tempfile
import warnings

if "DDP_DECODE" not in os.environ:
    print("skipped: this build has nothing that decodes images (-DDDP_IMAGES)")
    sys.exit(77)

import numpy as np
import sklearn
from PIL import Image

PHOTOGRAPHS = os.path.join(os.path.dirname(sklearn.__file__), "datasets/images")
SIZES = [(1, 1), (2, 3), (7, 9), (8, 8), (15, 17), (16, 16), (33, 31), (64, 48), (97, 143), (240, 320)]
PARTS = 24  # per image


class Decoder:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["DDP_DECODE"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, file, part=(0, 0, 0, 0)):
        self.process.stdin.write(("%d %d %d %d " % part + file + "\n").encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        if answer.startswith("error ") or not answer:
            raise ValueError(answer or "the decoder died")
        height, width = map(int, answer.split())
        if part[2]:
            height, width = part[2:]
        return np.frombuffer(self.process.stdout.read(height * width * 3), np.uint8).reshape(height, width, 3)


def photograph(draw, height, width):
    """A part of a photograph, of a size where the surroundings of a block matter."""
    with Image.open(os.path.join(PHOTOGRAPHS, draw.choice(["china.jpg", "flower.jpg"]))) as image:
        left = draw.randrange(image.width - width)
        top = draw.randrange(image.height - height)
        return image.convert("RGB").crop((left, top, left + width, top + height))


def with_alpha(draw, image):
    noise = Image.frombytes("L", image.size, draw.randbytes(image.width * image.height))
    image = image.copy()
    image.putalpha(noise)
    return image


def with_black(draw, image):
    noise = Image.frombytes("L", image.size, draw.randbytes(image.width * image.height))
    return Image.merge("CMYK", (*image.convert("CMYK").split()[:3], noise))


def jpegs(draw, image):
    for subsampling in ("4:4:4", "4:2:2", "4:2:0", "4:1:1"):
        for quality in (30, 60, 75, 85, 90, 95):
            options = {"quality": quality, "subsampling": subsampling, "progressive": draw.random() < 0.5,
                       "optimize": draw.random() < 0.5}
            if draw.random() < 0.3:
                options["restart_marker_blocks"] = draw.randrange(1, 9)
            yield f"{subsampling} quality {quality} {options}", image, options
    for progressive in (False, True):
        yield "gray", image.convert("L"), {"quality": 80, "progressive": progressive}
        yield "kept as RGB", image, {"quality": 80, "keep_rgb": True, "progressive": progressive}
        yield "CMYK", with_black(draw, image), {"quality": 80, "progressive": progressive}


def pngs(draw, image):
    gray = image.convert("L")
    yield "RGB", image, {}
    yield "RGBA", with_alpha(draw, image), {}
    yield "gray", gray, {}
    yield "gray and alpha", with_alpha(draw, gray), {}
    yield "one bit", gray.convert("1"), {}
    yield "gray with a transparent level", gray, {"transparency": 128}
    yield "RGB with a transparent colour", image, {"transparency": image.getpixel((0, 0))}
    for colors, bits in ((2, 1), (4, 2), (16, 4), (200, 8)):
        palette = image.quantize(colors)
        yield f"palette of {colors}", palette, {"bits": bits}
        yield f"palette of {colors} with alpha", palette, {"bits": bits, "transparency": draw.randbytes(colors)}
        yield f"palette of {colors} with a transparent place", palette, {"bits": bits, "transparency": 0}


def webps(draw, image):
    for quality in (30, 60, 75, 90, 100):
        yield f"lossy {quality}", image, {"quality": quality, "method": draw.randrange(7)}
    yield "lossy with alpha", with_alpha(draw, image), {"quality": 80}
    yield "lossless", image, {"lossless": True}
    yield "lossless with alpha", with_alpha(draw, image), {"lossless": True, "exact": True}
    yield "gray", image.convert("L"), {"quality": 75}


def gray_pngs_of_few_bits(folder):
    """A file with 2 or 4 bits, which Pillow does not write."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for bits in (1, 2, 4, 8):
        for interlaced in (0, 1):
            height, width = (1, 1) if interlaced else (5, 13)
            row = -(-width * bits // 8)
            data = b"".join(b"\0" + random.Random(bits).randbytes(row) for _ in range(height))
            file = os.path.join(folder, f"gray{bits}-{interlaced}.png")
            with open(file, "wb") as out:
                out.write(b"\x89PNG\r\n\x1a\n")
                out.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, interlaced)))
                out.write(chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))
            yield file


def random_part(draw, height, width):
    top, left = draw.randrange(height), draw.randrange(width)
    return top, left, draw.randrange(1, height - top + 1), draw.randrange(1, width - left + 1)


def compare(decode, draw, title, file):
    with Image.open(file) as image:
        wanted = np.asarray(image.convert("RGB"))
    got = decode(file)
    assert got.shape == wanted.shape, f"{title}: {got.shape} instead of {wanted.shape}"
    assert np.array_equal(got, wanted), f"{title}: {np.count_nonzero((got != wanted).any(2))} pixels differ"
    height, width = wanted.shape[:2]
    for _ in range(PARTS):
        part = top, left, rows, columns = random_part(draw, height, width)
        got = decode(file, part)
        assert np.array_equal(got, wanted[top : top + rows, left : left + columns]), f"{title}: part {part} of {wanted.shape}"
    return 1 + PARTS


def check_formats(decode, draw, folder):
    compared = 0
    for height, width in SIZES:
        image = photograph(draw, height, width)
        for ending, kinds in (("jpg", jpegs), ("png", pngs), ("webp", webps)):
            for title, made, options in kinds(draw, image):
                file = os.path.join(folder, f"image.{ending}")
                made.save(file, **options)
                compared += compare(decode, draw, f"{ending} {title} {height}x{width}", file)
    return compared


def check_interlaced(decode, draw, folder):
    """An interlaced file, which Pillow does not write: the rows of the seven passes are put together here."""
    import struct
    import zlib

    starts = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    compared = 0
    for height, width in SIZES[:8]:
        pixels = np.asarray(photograph(draw, height, width))
        data = b""
        for top, left, down, right in starts:
            rows = pixels[top::down, left::right]
            data += b"".join(b"\0" + row.tobytes() for row in rows) if rows.size else b""
        chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)), (b"IDAT", zlib.compress(data)), (b"IEND", b"")]
        file = os.path.join(folder, "interlaced.png")
        with open(file, "wb") as out:
            out.write(b"\x89PNG\r\n\x1a\n")
            for kind, content in chunks:
                out.write(struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content)))
        assert np.array_equal(np.asarray(Image.open(file)), pixels), "the file is right"
        compared += compare(decode, draw, f"interlaced {height}x{width}", file)
    return compared


def check_four_channels(decode, draw, folder):
    """YCCK and a CMYK without Adobe's marker, which Pillow does not write: the marker of a CMYK file is changed, or
    left out."""
    compared = 0
    file = os.path.join(folder, "inks.jpg")
    for height, width in SIZES[3:]:
        for progressive in (False, True):
            out = io.BytesIO()
            with_black(draw, photograph(draw, height, width)).save(out, "JPEG", quality=80, progressive=progressive)
            marker = out.getvalue().index(b"Adobe") - 4
            before, adobe, after = out.getvalue()[:marker], out.getvalue()[marker : marker + 16], out.getvalue()[marker + 16 :]
            for title, marked in (("YCCK", adobe[:-1] + b"\2"), ("CMYK without a marker", b"")):
                with open(file, "wb") as f:
                    f.write(before + marked + after)
                compared += compare(decode, draw, f"{title} {height}x{width}", file)
    return compared


def check_other_files(decode, draw, folder):
    compared = 0
    for name in ("china.jpg", "flower.jpg"):
        compared += compare(decode, draw, name, os.path.join(PHOTOGRAPHS, name))
    for file in gray_pngs_of_few_bits(folder):
        compared += compare(decode, draw, os.path.basename(file), file)
    image = photograph(draw, 48, 64)
    rotated = Image.Exif()
    rotated[0x0112] = 6
    image.save(os.path.join(folder, "rotated.jpg"), exif=rotated)
    return compared + compare(decode, draw, "EXIF's orientation is ignored", os.path.join(folder, "rotated.jpg"))


def check_flipped_bits(decode, draw, folder):
    """A damaged JPEG that Pillow decodes has Pillow's pixels. Most of the files that Pillow refuses are refused, but
    not all."""
    decoded = refused = accepted = 0
    for progressive in (False, True):
        out = io.BytesIO()
        photograph(draw, 97, 143).save(out, "JPEG", quality=80, progressive=progressive)
        for _ in range(150):
            bytes_ = bytearray(out.getvalue())
            for _ in range(draw.randrange(1, 4)):
                # The damage lies after the tables: Pillow's own parser reads the header by other rules than libjpeg.
                bytes_[draw.randrange(bytes_.index(b"\xff\xda") + 16, len(bytes_) - 2)] ^= 1 << draw.randrange(8)
            file = os.path.join(folder, "damaged.jpg")
            with open(file, "wb") as f:
                f.write(bytes_)
            try:
                with Image.open(file) as image:
                    image.load()
            except OSError:
                try:
                    decode(file)
                    accepted += 1
                except ValueError:
                    refused += 1
                continue
            compare(decode, draw, "damaged", file)
            decoded += 1
    return decoded, refused, accepted


def check_truncated(decode, draw, folder):
    refused = 0
    for ending, options in (("jpg", {}), ("jpg", {"progressive": True}), ("png", {}), ("webp", {}), ("webp", {"lossless": True})):
        file = os.path.join(folder, f"truncated.{ending}")
        photograph(draw, 97, 143).save(file, **options)
        with open(file, "rb") as f:
            bytes_ = f.read()
        for _ in range(20):
            with open(file, "wb") as f:
                f.write(bytes_[: draw.randrange(1, len(bytes_) - 1 - len(bytes_) // 50)])
            for part in ((0, 0, 0, 0), (0, 0, 1, 1)):
                try:
                    decode(file, part)
                except ValueError as error:
                    assert "truncated." + ending in str(error), f"the error names the file: {error}"
                    refused += 1
                    continue
                assert False, f"a truncated {ending} with {options} is refused"
    return refused


def main():
    warnings.simplefilter("ignore")  # Pillow suggests converting palettes with transparency to RGBA
    draw = random.Random(19)
    decode = Decoder()
    with tempfile.TemporaryDirectory() as folder:
        compared = check_formats(decode, draw, folder)
        compared += check_interlaced(decode, draw, folder)
        compared += check_four_channels(decode, draw, folder)
        compared += check_other_files(decode, draw, folder)
        decoded, damaged, accepted = check_flipped_bits(decode, draw, folder)
        assert decoded > 50, f"only {decoded} damaged files were decoded"
        assert damaged > accepted, f"{accepted} files that Pillow refuses were decoded, only {damaged} refused"
        refused = check_truncated(decode, draw, folder)
    print(f"{compared} images and parts have Pillow's pixels, {decoded} damaged ones too ({damaged + accepted} refused by Pillow, {damaged} here), "
          f"and {refused} calls for truncated ones were refused")


main()
