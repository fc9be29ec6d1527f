"""How many bits of the hash of an image does an edit change, and how many differ by chance?

The images are drawn: smooth colours, shapes, noise.  Needs `pip install imagehash pillow pdqhash`.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageEnhance

from record import installed, options, recorded

EDGES = (0.01, 0.025, 0.05)
Bits = npt.NDArray[np.bool_]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--images", type=int, default=200)
    with recorded(__doc__, parser) as record:
        chance = np.random.default_rng(1)
        images = [drawn(chance) for _ in range(record.arguments.images)]
        for name, hashed in hashes().items():
            plain = np.array([hashed(each) for each in images])
            for edit, edited in edits().items():
                after = np.array([hashed(edited(each)) for each in images])
                add(record, f"{name}: {edit}", (after != plain).sum(axis=1))
            others = (plain[:, None] != plain[None]).sum(axis=2)
            add(record, f"{name}: unrelated", others[np.triu_indices(len(images), 1)])
        if pdqhash := installed("pdqhash"):
            for turn in Image.Transpose:
                every = [nearest_variant(pdqhash, each, turn) for each in images]
                add(record, f"pdq, nearest of eight: {turn.name}", np.array(every))


def add(record: Any, name: str, bits: npt.NDArray[np.int64]) -> None:
    """Add the median of the changed bits, and their least, 95th percentile and most."""
    least, high, most = np.quantile(bits, (0, 0.95, 1))
    note = f"least {least:.0f}, 95 % {high:.0f}, most {most:.0f}"
    record.add(name, float(np.median(bits)), "bits", note=note)


def nearest_variant(pdqhash: Any, image: Image.Image, turn: Image.Transpose) -> int:
    """Return the number of bits in which the best variant of a turned image differs."""
    variants, _ = pdqhash.compute_dihedral(np.asarray(image.transpose(turn)))
    plain, _ = pdqhash.compute(np.asarray(image))
    return int((np.array(variants) != plain).sum(axis=1).min())


def hashes() -> dict[str, Callable[[Image.Image], Bits]]:
    """Return the functions of installed packages that hash an image."""
    found: dict[str, Callable[[Image.Image], Bits]] = {}
    if pdqhash := installed("pdqhash"):
        found["pdq"] = lambda image: np.asarray(pdqhash.compute(np.asarray(image))[0], bool)
    if imagehash := installed("imagehash"):
        found["phash 256"] = lambda image: imagehash.phash(image, hash_size=16).hash.ravel()
        found["dhash 256"] = lambda image: imagehash.dhash(image, hash_size=16).hash.ravel()
        found["phash 64"] = lambda image: imagehash.phash(image).hash.ravel()
    return found


def edits() -> dict[str, Callable[[Image.Image], Image.Image]]:
    """Return the usual edits of images."""
    return {
        "JPEG 40": compressed,
        "half the width": lambda image: image.resize((image.width // 2, image.height // 2)),
        "a line of text": titled,
        "brighter by 30 %": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
        **{f"{share:.1%} off each edge": cut(share) for share in EDGES},
    }


def drawn(chance: np.random.Generator) -> Image.Image:
    """Draw smooth colours with shapes on them, and noise on everything."""
    width, height = (int(each) for each in chance.integers(320, 800, 2))
    coarse = (255 * chance.random((*chance.integers(3, 9, 2), 3))).astype(np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    for _ in range(chance.integers(5, 25)):
        left, top = chance.random(2) * (width, height)
        box = [left, top, *(left, top) + (chance.random(2) * (width, height) / 2 + 10)]
        shape = pen.ellipse if chance.random() < 0.5 else pen.rectangle
        shape(box, fill=tuple(int(each) for each in chance.integers(0, 256, 3)))
    noisy = np.asarray(image) + chance.normal(0, 8, (height, width, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def compressed(image: Image.Image) -> Image.Image:
    """Return the image as JPEG of quality 40 gives it back."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=40)
    return Image.open(file).convert("RGB")


def titled(image: Image.Image) -> Image.Image:
    """Return the image with a white line of text near its lower edge."""
    image = image.copy()
    ImageDraw.Draw(image).text(
        (10, image.height - 30), "photo by somebody", fill=(255, 255, 255), font_size=22
    )
    return image


def cut(share: float) -> Callable[[Image.Image], Image.Image]:
    """Return a function that cuts a share off each edge."""
    return lambda image: image.crop(
        (
            int(image.width * share), int(image.height * share),
            int(image.width * (1 - share)), int(image.height * (1 - share)),
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
