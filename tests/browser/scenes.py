"""Things on a table, drawn here and filmed from changing angles: what the fake camera plays."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 640, 480
SCALE = 2  # drawn at twice the size, then averaged
Draw = Callable[[ImageDraw.ImageDraw], None]


def _mug(draw: ImageDraw.ImageDraw) -> None:
    draw.arc((560, 330, 760, 560), -95, 95, fill=(168, 62, 46), width=38)
    draw.rounded_rectangle((260, 250, 640, 680), 46, fill=(196, 78, 58))
    draw.rounded_rectangle((280, 262, 350, 668), 30, fill=(222, 118, 96))
    draw.rectangle((260, 470, 640, 500), fill=(244, 232, 214))
    draw.rectangle((260, 520, 640, 532), fill=(244, 232, 214))
    draw.ellipse((260, 210, 640, 300), fill=(150, 52, 38))
    draw.ellipse((285, 222, 615, 290), fill=(62, 38, 28))
    draw.ellipse((310, 236, 500, 272), fill=(94, 62, 46))


def _plant(draw: ImageDraw.ImageDraw) -> None:
    for turn, length, green in ((-58, 300, 104), (58, 290, 112), (-24, 360, 128), (30, 350, 142), (2, 400, 120)):
        angle = math.radians(turn)
        leaf = []
        for step in range(41):  # there along one side and back along the other
            along = step / 20 if step <= 20 else 2 - step / 20
            aside = (62 if step <= 20 else -62) * math.sin(math.pi * along) ** 0.8
            leaf.append(
                (
                    450 + length * along * math.sin(angle) + aside * math.cos(angle),
                    510 - length * along * math.cos(angle) + aside * math.sin(angle),
                )
            )
        draw.polygon(leaf, fill=(58, green, 84))
        draw.line([(450, 510), leaf[20]], fill=(44, green - 34, 64), width=5)
    draw.polygon([(300, 490), (600, 490), (560, 720), (340, 720)], fill=(224, 208, 184))
    draw.polygon([(300, 490), (360, 490), (380, 720), (340, 720)], fill=(240, 228, 208))
    draw.rounded_rectangle((284, 466, 616, 520), 14, fill=(206, 188, 162))


def _clock(draw: ImageDraw.ImageDraw) -> None:
    for left in (300, 540):
        draw.polygon([(left, 700), (left + 60, 700), (left + 40, 620), (left + 20, 620)], fill=(60, 66, 82))
    draw.ellipse((230, 230, 670, 670), fill=(52, 84, 138))
    draw.ellipse((268, 268, 632, 632), fill=(246, 244, 236))
    for hour in range(12):
        angle = math.radians(30 * hour)
        ends = [(450 + r * math.sin(angle), 450 - r * math.cos(angle)) for r in (138, 168)]
        draw.line(ends, fill=(40, 44, 56), width=10 if hour % 3 == 0 else 5)
    draw.line([(450, 450), (450 - 70, 450 - 60)], fill=(30, 34, 44), width=16)
    draw.line([(450, 450), (450 + 30, 450 - 132)], fill=(30, 34, 44), width=11)
    draw.ellipse((434, 434, 466, 466), fill=(196, 78, 58))


def _book(draw: ImageDraw.ImageDraw) -> None:
    draw.polygon([(220, 620), (640, 620), (720, 700), (300, 700)], fill=(238, 232, 218))
    draw.polygon([(200, 560), (640, 560), (720, 640), (280, 640)], fill=(112, 84, 140))
    draw.polygon([(200, 560), (280, 640), (300, 700), (216, 616)], fill=(84, 60, 112))
    draw.polygon([(300, 585), (570, 585), (600, 612), (330, 612)], fill=(236, 206, 120))


OBJECTS: dict[str, Draw] = {"mug": _mug, "plant": _plant, "clock": _clock, "book": _book}


def _background(generator: np.random.Generator) -> Image.Image:
    """A wall and a table, lit from one side."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH] / HEIGHT
    wall = np.array([214, 218, 214]) * (1.05 - 0.18 * columns - 0.1 * rows)[..., None]
    table = np.array([196, 164, 126]) * (1.12 - 0.2 * columns - 0.16 * (rows - 0.7))[..., None]
    grain = 4 * np.sin(160 * rows + 1.5 * np.sin(5 * columns) + generator.random())[..., None]
    pixels = np.where((rows > 0.7)[..., None], table + grain, wall)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def frames(name: str, count: int = 40, seed: int = 0) -> Iterator[Image.Image]:
    """Pictures of a thing, or of the empty table, while somebody moves it about a little."""
    generator = np.random.default_rng([seed, len(name)])
    background = _background(generator)
    phase = generator.random() * 6
    for number in range(count):
        step = 2 * math.pi * number / count + phase
        thing = Image.new("RGBA", (900, 900))
        if name in OBJECTS:
            OBJECTS[name](ImageDraw.Draw(thing))
        shadow = Image.new("RGBA", (900, 900))
        shadow.paste((40, 26, 12, 110), (24, 18), thing.getchannel("A"))
        thing = Image.alpha_composite(shadow.filter(ImageFilter.GaussianBlur(18)), thing)
        side = round(470 * (1 + 0.12 * math.sin(2 * step)))
        thing = thing.rotate(9 * math.sin(step), Image.Resampling.BICUBIC).resize(
            (side, side), Image.Resampling.LANCZOS
        )
        place = (round(320 - side / 2 + 34 * math.sin(step)), round(250 - side / 2 + 10 * math.cos(step)))
        scene = background.convert("RGBA")
        scene.alpha_composite(thing, place) if min(place) >= 0 else scene.paste(thing, place, thing)
        light = 1 + 0.05 * math.sin(3 * step)
        pixels = np.asarray(scene.convert("RGB")).astype(np.float32) * light + generator.normal(
            0, 3, (HEIGHT, WIDTH, 1)
        )
        yield Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def jpeg(image: Image.Image) -> bytes:
    content = io.BytesIO()
    image.save(content, "JPEG", quality=88)
    return content.getvalue()


def write_video(path: Path, name: str, count: int = 40) -> None:
    """JPEG pictures one after another: what Chromium takes for a camera. It plays them again and again."""
    path.write_bytes(b"".join(jpeg(image) for image in frames(name, count)))


def write_photographs(folder: Path, name: str, count: int, seed: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, image in enumerate(frames(name, count, seed)):
        paths.append(folder / f"{name}-{number}.jpg")
        paths[-1].write_bytes(jpeg(image))
    return paths
