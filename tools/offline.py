"""Pack the built site into one zip that works from disk, wherever it is unpacked.

make offline
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
NAME = "mha-lessons"
ZIP = ROOT / "_build" / f"{NAME}-offline.zip"
# What Sphinx keeps for itself and for other sites.
LEFT_OUT = {".buildinfo", "objects.inv", "sitemap.xml", "robots.txt"}
# The same bytes for the same site.
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def pack(site=SITE, target=ZIP):
    """Write the zip: one folder, whose `index.html` opens the book."""
    if not (site / "index.html").exists():
        sys.exit("There is no built site. Run first: make book")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(p for p in site.rglob("*") if p.is_file() and p.name not in LEFT_OUT):
            name = Path(NAME, path.relative_to(site)).as_posix()
            packed.writestr(
                zipfile.ZipInfo(name, LONG_AGO), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    return target


if __name__ == "__main__":
    made = pack()
    print(f"wrote {made.relative_to(ROOT)}: {made.stat().st_size / 2**20:.1f} MiB")
