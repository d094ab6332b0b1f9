"""ddp-exp's transforms and mixes make the pixels of torchvision's v2, bit for bit, from the same drawn numbers.

Each list of transforms runs in ddp-exp, which reports the drawn numbers. v2's transforms with the same arguments then
use these numbers instead of the results of make_params. The automatic policies draw without make_params: they get the
numbers from torch.randint and torch.rand.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from unittest import mock

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402
from torchvision.transforms.functional import _get_perspective_coeffs  # noqa: E402

torch.set_num_threads(1)  # as in a worker of DataLoader: float sums depend on it

SIZES = [(32, 32), (37, 53), (61, 44), (7, 5), (1, 9), (224, 224), (301, 177)]
PHOTO = (400, 500)
NORMALIZE = {"type": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
GRAY = {"type": "Normalize", "mean": [0.1307], "std": [0.3081]}


def of(name, **arguments):
    return {"type": name} | arguments


# Every list runs on images of all sizes, with one and with three channels, in three layouts.
LISTS = [
    [],
    [of("Resize", size=24)],
    [of("Resize", size=[41, 19])],
    [of("Resize", size=[19])],
    [of("Resize", size=20, max_size=23)],
    [of("Resize", max_size=50)],
    [of("Resize", size=[50, 70], interpolation="nearest")],
    [of("Resize", size=[50, 70], interpolation="nearest-exact")],
    [of("Resize", size=[23, 31], interpolation="bicubic")],
    [of("Resize", size=[23, 31], interpolation="bicubic", antialias=False)],
    [of("Resize", size=[23, 31], antialias=False)],
    [of("CenterCrop", size=33)],
    [of("CenterCrop", size=[6, 40])],
    [of("RandomCrop", size=32, padding=4, pad_if_needed=True)],
    [of("RandomCrop", size=[30, 20], padding=[1, 2], pad_if_needed=True, fill=131.7)],
    [of("RandomCrop", size=[4, 6], padding=[1, 3, 2, 0], fill=9)],
    [of("RandomCrop", size=[5, 6], padding=[4, 2], padding_mode="edge", pad_if_needed=True)],
    [of("RandomResizedCrop", size=24)],
    [of("RandomResizedCrop", size=[17, 33], scale=[0.5, 0.6], ratio=[0.1, 0.2])],
    [of("RandomResizedCrop", size=16, interpolation="nearest")],
    [of("RandomHorizontalFlip")],
    [of("RandomVerticalFlip", p=0.7)],
    [of("RandomRotation", degrees=25)],
    [of("RandomRotation", degrees=[-180, 180], interpolation="bilinear", fill=40)],
    [of("RandomRotation", degrees=80, interpolation="bilinear", expand=True)],
    [of("RandomRotation", degrees=80, expand=True, fill=17.5)],
    [of("RandomRotation", degrees=80, center=[3, 11.5], interpolation="bilinear")],
    [of("RandomRotation", degrees=[90, 90], expand=True)],
    [of("RandomRotation", degrees=[-90, -90])],
    [of("RandomRotation", degrees=[180, 180])],
    [of("RandomRotation", degrees=0)],
    [of("ColorJitter", brightness=0.7)],
    [of("ColorJitter", contrast=0.7)],
    [of("ColorJitter", saturation=[0.3, 2.5])],
    [of("ColorJitter", hue=0.5)],
    [of("ColorJitter", brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)],
    [of("RandomAffine", degrees=30)],
    [of("RandomAffine", degrees=[-180, 180], translate=[0.2, 0.3], scale=[0.5, 1.6], shear=20, fill=60)],
    [of("RandomAffine", degrees=0, shear=[-30, 30, 10, 40], interpolation="bilinear")],
    [of("RandomAffine", degrees=80, shear=[-5, 25], translate=[0, 1], center=[4, 2.5], interpolation="bilinear", fill=9)],
    [of("RandomPerspective", p=1)],
    [of("RandomPerspective", distortion_scale=0.9, fill=99.5, interpolation="nearest")],
    [of("RandomPerspective", distortion_scale=1, p=1, fill=77)],
    [of("GaussianBlur", kernel_size=1)],
    [of("RandomGrayscale", p=0.6)],
    [of("RandAugment")],
    [of("RandAugment", num_ops=1, magnitude=30)],
    [of("RandAugment", num_ops=3, magnitude=11, num_magnitude_bins=12, interpolation="bilinear", fill=3)],
    [of("RandAugment", num_ops=1, magnitude=5, num_magnitude_bins=7, interpolation="bilinear")],
    [of("RandAugment", num_ops=2, magnitude=0, fill=200)],
    [of("TrivialAugmentWide")],
    [of("TrivialAugmentWide", num_magnitude_bins=8, interpolation="bilinear", fill=[40])],
    [of("AutoAugment")],
    [of("AutoAugment", policy="cifar10", interpolation="bilinear")],
    [of("AutoAugment", policy="svhn", fill=128)],
    [of("Grayscale")],
    [of("Grayscale", num_output_channels=3)],
    [of("Pad", padding=3)],
    [of("Pad", padding=[2, 5], fill=200)],
    [of("Pad", padding=[1, 2, 3, 4], padding_mode="edge")],
    [of("RandomErasing", p=1)],
    [of("RandomErasing", p=0.6, scale=[0.2, 0.4], value="random")],
    [of("RandomErasing", p=1, value=[0.7])],
    [of("Pad", padding=2, fill=50), of("RandomVerticalFlip"), of("Pad", padding=[3, 1], fill=90),
     of("RandomHorizontalFlip"), of("CenterCrop", size=[9, 13]), of("Pad", padding=1), of("RandomCrop", size=[8, 9])],
    [of("RandomCrop", size=32, padding=4, pad_if_needed=True), of("RandomHorizontalFlip"), of("Grayscale"), GRAY],
    [of("RandomResizedCrop", size=24), of("RandomHorizontalFlip"), of("ColorJitter", brightness=0.4, contrast=0.4),
     of("RandomErasing", p=1, value="random"), of("Normalize", mean=[0.3], std=[0.7])],
]  # fmt: skip
# These lists need images with three channels, or images that are not too small.
COLORED = [
    [NORMALIZE],
    [of("Pad", padding=[1, 2], fill=[1, 130, 255])],
    [of("RandomRotation", degrees=50, fill=[1, 130.5, 255], interpolation="bilinear")],
    [of("RandAugment", num_ops=4, fill=[1, 130.5, 255], interpolation="bilinear")],
    [of("RandomAffine", degrees=50, scale=[0.3, 0.4], fill=[1, 130.5, 255])],
    [of("RandomCrop", size=32, padding=4, pad_if_needed=True), of("RandomHorizontalFlip"), NORMALIZE],
    [of("RandomResizedCrop", size=224), of("RandomHorizontalFlip"), NORMALIZE, of("RandomErasing", value=[1, 2, 3])],
]
LARGE = [
    [of("GaussianBlur", kernel_size=3)],
    [of("GaussianBlur", kernel_size=[9, 5], sigma=[0.5, 4])],
    [of("GaussianBlur", kernel_size=23, sigma=3.3)],
    [of("Pad", padding=6, padding_mode="reflect")],
    [of("Pad", padding=[4, 3, 2, 1], padding_mode="symmetric")],
    [of("RandomCrop", size=32, padding=4, padding_mode="reflect"), of("RandomHorizontalFlip")],
]


def images():
    """Smooth images with some noise and without repeating colors; the larger ones have every value from 0 to 255."""
    draw = np.random.default_rng(7)
    made = {}
    for height, width in [*SIZES, PHOTO]:
        y, x = np.mgrid[0:height, 0:width]
        for channels in (1, 3):
            waves = [np.sin(x / (3 + 5 * c) + y / (7 + c)) for c in range(channels)]
            pixels = 127.5 + 127.5 * np.stack(waves) + draw.normal(0, 20, (channels, height, width))
            made[channels, height, width] = np.clip(pixels, 0, 255).astype(np.uint8)
    return made


def cases(shapes):
    number = 0
    for channels, height, width in shapes:
        lists = [*LISTS, *(COLORED if channels == 3 else []), *(LARGE if min(height, width) >= 30 else [])]
        for transforms in lists:
            for layout in ("planar", "interleaved", "file") if channels == 3 else ("planar", "interleaved"):
                number += 1
                yield {
                    "transforms": transforms, "derived": False, "seed": 42, "epoch": number % 3, "sample": number,
                    "layout": layout, "shape": [channels, height, width],
                }  # fmt: skip


def policy_cases():
    """So many samples that each row of AutoAugment's policies is drawn."""
    for policy in ("imagenet", "cifar10", "svhn"):
        for sample in range(200):
            yield {
                "transforms": [of("AutoAugment", policy=policy)], "derived": False, "seed": 1, "epoch": 0,
                "sample": sample, "layout": "planar", "shape": [3, 37, 53],
            }  # fmt: skip


def run_program(all_cases, folder, pixels):
    files = {}
    for shape, image in pixels.items():
        files[shape] = os.path.join(folder, "-".join(map(str, shape)))
        image.tofile(files[shape])
    request = os.path.join(folder, "cases.json")
    with open(request, "w") as out:
        json.dump([case | {"pixels": files[tuple(case["shape"])]} for case in all_cases], out)
    result = os.path.join(folder, "out")
    subprocess.run([os.environ["DDP_TRANSFORM_IMAGES"], request, result], check=True)
    numbers = np.fromfile(result, dtype=np.float32)
    with open(result + ".json") as file:
        told = json.load(file)
    begin = 0
    for case, each in zip(all_cases, told, strict=True):
        if "error" not in each:
            count = int(np.prod(each["shape"]))
            each["image"] = torch.from_numpy(numbers[begin : begin + count].reshape(each["shape"]))
            begin += count
        if "mix" in case:
            count = len(case["labels"]) * case["classes"]
            each["labels"] = torch.from_numpy(numbers[begin : begin + count].reshape(len(case["labels"]), -1))
            begin += count
    assert begin == len(numbers)
    return told


def v2_transform(entry):
    arguments = {name: value for name, value in entry.items() if name != "type"}
    if "interpolation" in arguments:
        arguments["interpolation"] = InterpolationMode(arguments["interpolation"])
    if entry["type"] == "Resize" and "size" not in arguments:
        arguments["size"] = None
    if "policy" in arguments:
        arguments["policy"] = v2.AutoAugmentPolicy(arguments["policy"])
    return getattr(v2, entry["type"])(**arguments)


def replayed(entry, image, drawn):
    """The image of an automatic policy that draws these operations, and the check that v2 finds their magnitudes."""
    transform = v2_transform(entry)
    policy = entry["type"] == "AutoAugment"
    # What torch.randint and torch.rand give, in v2's order.
    integers, numbers = ([drawn["row"]] if policy else []), []
    names = list(transform._AUGMENTATION_SPACE)
    for each in drawn["operations"]:
        if policy:
            numbers.append(1.5 if each is None else 0)
        if each is None:
            continue
        magnitudes, signed = transform._AUGMENTATION_SPACE[each["transform_id"]]
        if not policy:
            integers.append(names.index(each["transform_id"]))
        if entry["type"] == "TrivialAugmentWide":
            bins = magnitudes(transform.num_magnitude_bins, *image.shape[-2:])
            if bins is not None:
                integers.append((bins - abs(each["magnitude"])).abs().argmin())
        if signed:
            numbers.append(0 if math.copysign(1, each["magnitude"]) < 0 else 1)
    apply = transform._apply_image_or_video_transform
    done = []

    def told(image, transform_id, magnitude, **others):
        done.append({"transform_id": transform_id, "magnitude": magnitude})
        return apply(image, transform_id, magnitude, **others)

    with mock.patch("torch.randint", side_effect=integers), mock.patch("torch.rand", side_effect=numbers):
        transform._apply_image_or_video_transform = told
        image = transform(image)
    assert done == [each for each in drawn["operations"] if each], done
    return image


def v2_result(pixels, layout, transforms, draws):
    image = torch.from_numpy(pixels)
    if layout != "planar":
        image = image.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    to_float = v2.ToDtype(torch.float32, scale=True)
    for entry, params in zip(transforms, draws, strict=True):
        params = dict(params)
        assert params.pop("type") == entry["type"]
        if entry["type"] in ("Normalize", "RandomErasing") and image.dtype == torch.uint8:
            image = to_float(image)
        if not params.pop("apply", True):
            continue
        if params.get("v") is not None:
            params["v"] = torch.tensor(params["v"])
        image = replayed(entry, image, params) if "operations" in params else v2_transform(entry).transform(image, params)
    return to_float(image)


def names_drawn(entry, shape):
    """The keys of v2's make_params for an image of this shape."""
    return set(v2_transform(entry).make_params([torch.zeros(shape, dtype=torch.uint8)]))


def check_names():
    """Every transform that draws reports all members of v2's make_params under the same names."""
    pixels = images()
    some = [case for case in cases([(3, 61, 44)]) if case["layout"] == "planar" and len(case["transforms"]) == 1]
    with tempfile.TemporaryDirectory() as folder:
        told = run_program(some, folder, pixels)
    for case, result in zip(some, told, strict=True):
        drawn = dict(result["draws"][0])
        name = drawn.pop("type")
        if drawn.pop("apply", True) and "operations" not in drawn:
            assert set(drawn) == names_drawn(case["transforms"][0], case["shape"]), (name, drawn)


def check_corners(coefficients, shape, scale):
    """v2's coefficients for corners that v2 may draw."""
    height, width = shape[1:]
    forward = np.linalg.inv(np.array([*coefficients, 1]).reshape(3, 3))
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [width - 1, height - 1, 1], [0, height - 1, 1]])
    moved = corners @ forward.T
    moved = np.rint(moved[:, :2] / moved[:, 2:]).astype(int)
    way = np.abs(moved - corners[:, :2])
    assert (way <= [int(scale * (width // 2)), int(scale * (height // 2))]).all(), moved
    expected = _get_perspective_coeffs(corners[:, :2].tolist(), moved.tolist())
    assert expected == coefficients, (expected, coefficients)


def compare(all_cases, pixels):
    with tempfile.TemporaryDirectory() as folder:
        told = run_program(all_cases, folder, pixels)
    failures = 0
    done = set()
    for case, result in zip(all_cases, told, strict=True):
        title = f"{case['shape']} {case['layout']}: {json.dumps(case['transforms'])}"
        try:
            if "error" in result:
                raise AssertionError(result["error"])
            for entry, draws in zip(case["transforms"], result["draws"], strict=True):
                done |= {(draws["type"], each["transform_id"]) for each in draws.get("operations", []) if each}
                done.add((entry.get("policy"), draws.get("row")))
                if "coefficients" in draws:
                    check_corners(draws["coefficients"], case["shape"], entry.get("distortion_scale", 0.5))
            expected = v2_result(
                pixels[tuple(case["shape"])], case["layout"], case["transforms"], result["draws"]
            ).contiguous()
            assert expected.shape == result["image"].shape, (expected.shape, result["image"].shape)
            differ = (expected.view(torch.int32) != result["image"].view(torch.int32)).sum().item()
            assert differ == 0, f"{differ} of {expected.numel()} numbers differ; drawn: {result['draws']}"[:400]
        except Exception as failure:
            failures += 1
            print(f"{title}\n  {type(failure).__name__}: {failure}")
    print(f"{len(all_cases) - failures} of {len(all_cases)} are the same")
    return failures, done


def check_mixes():
    """Mixed batches have the bits of v2's MixUp and CutMix, labels too, from the same lam and box."""
    draw = np.random.default_rng(3)
    shape = (5, 3, 23, 31)
    pixels = draw.integers(0, 256, shape, dtype=np.uint8)
    labels = [3, 0, 6, 6, 1]
    both = [of("MixUp", alpha=0.2), of("CutMix", alpha=1)]
    batches = [
        {"mix": both, "seed": 42, "step": step, "rank": step % 3, "shape": shape, "labels": labels, "classes": 7}
        for step in range(40)
    ]
    with tempfile.TemporaryDirectory() as folder:
        told = run_program(batches, folder, {shape: pixels})
    types = set()
    for result in told:
        drawn = dict(result["draws"])
        types.add(drawn["type"])
        transform = getattr(v2, drawn.pop("type"))(num_classes=7)
        image, target = torch.from_numpy(pixels).float(), torch.tensor(labels)
        assert set(drawn) == set(transform.make_params([image])), drawn
        params = {"labels": target, "batch_size": len(labels)} | drawn
        assert torch.equal(transform.transform(image, params), result["image"]), drawn
        assert torch.equal(transform.transform(target, params), result["labels"]), drawn
    assert types == {"MixUp", "CutMix"}, types


def main():
    check_names()
    check_mixes()
    pixels = images()
    shapes = [shape for shape in pixels if shape[1:] != PHOTO]
    failures, done = compare([*cases(shapes), *policy_cases()], pixels)
    failures += compare(list(cases([(3, *PHOTO)])), pixels)[0]
    expected = {(policy, row) for policy in ("imagenet", "cifar10", "svhn") for row in range(25)}
    for name in ("RandAugment", "TrivialAugmentWide", "AutoAugment"):
        expected |= {(name, operation) for operation in getattr(v2, name)._AUGMENTATION_SPACE}
    assert expected <= done, expected - done
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
