"""Draw the picture that stands beside a link to the site: weights of four heads, and a title.

The maps are computed: random queries and keys, one seed per title.
"""

import io
import zlib

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image, ImageDraw, ImageFont

from mha_lessons import figures, vectorized

WIDTH, HEIGHT = 1200, 630
MARGIN = 72
HEADS, TOKENS, D_K = 4, 6, 4


def draw(title, course):
    """Draw a card.

    Parameters
    ----------
    title : str
        What the page says; the course's name on its first page.
    course : str
        The name that stands below.

    Returns
    -------
    bytes
        A PNG of 1200 by 630 pixels.
    """
    palette = figures.colours()
    card = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(card)
    pen.rectangle((0, 0, WIDTH, 12), fill=palette["accent"])
    text, font, size = fit(pen, title)
    pen.multiline_text((MARGIN, MARGIN), text, font=font, fill="#1a1a1a", spacing=size // 4)
    side, gap = 156, 28
    for head, weights in enumerate(weights_of(title)):
        paint(pen, weights, palette[f"head-{head + 1}"], MARGIN + head * (side + gap), 340, side)
    pen.text((MARGIN, HEIGHT - 2 * MARGIN + 44), course, font=face(34), fill=palette["hidden"])
    data = io.BytesIO()
    card.quantize(256, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
    return data.getvalue()


def weights_of(title):
    """Compute one map of weights per head."""
    rng = np.random.default_rng(zlib.crc32(title.encode()))
    Q, K = 1.6 * rng.normal(size=(2, HEADS, TOKENS, D_K))
    return vectorized.attention_weights(Q, K)  # (h, T, S)


def paint(pen, weights, colour, left, top, side):
    """Paint a map: white for a weight of 0, the head's colour for 1."""
    cell, full = side / TOKENS, np.array(to_rgb(colour))
    for (row, column), weight in np.ndenumerate(weights):
        shade = tuple(np.rint(255 * (1 - weight * (1 - full))).astype(int))
        x, y = left + column * cell, top + row * cell
        pen.rectangle((x, y, x + cell - 3, y + cell - 3), fill=shade, outline="#d9d9d9")


def face(size):
    """Return the font that matplotlib ships."""
    path = matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans.ttf"
    return ImageFont.truetype(path, size)


def fit(pen, title):
    """Break a title into lines, in the largest size in which three lines hold it."""
    for size in range(64, 27, -4):
        font, lines = face(size), [""]
        for word in title.split():
            longer = f"{lines[-1]} {word}".strip()
            if pen.textlength(longer, font=font) <= WIDTH - 2 * MARGIN:
                lines[-1] = longer
            else:
                lines.append(word)
        if len(lines) <= 3:
            break
    return "\n".join(lines), font, size
