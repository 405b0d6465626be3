"""Makes the generated pages, the output in examples, and the API reference: `make docs`.

The reference is HTML in build/docs. Every warning is an error, and nothing needs the network.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from pathlib import Path

import pdoc

import treemem
from tests.helpers import examples
from treemem.store import schema_page
from treemem_cli import reference, schemas

FOLDER = Path(__file__).parent
PAGES = {
    "cli.md": reference.markdown, "json.md": schemas.markdown, "schema.md": schema_page.markdown,
}  # fmt: skip


def public_modules() -> list[str]:
    """treemem, and the other public modules, as the page on Python lists them."""
    page = (FOLDER / "how-to" / "python.md").read_text("utf-8")
    return ["treemem", *re.findall(r"^\| `(treemem\.[\w.]+)` \|", page, re.MULTILINE)]


def refresh_examples() -> None:
    """Fills the examples with what the commands print now."""
    for page in examples.PAGES:
        with tempfile.TemporaryDirectory() as folder:
            text = examples.refreshed(page.read_text("utf-8"), Path(folder))
        page.write_text(text, "utf-8")


def main(target: Path, *, only_api: bool = False) -> None:
    for name, markdown in () if only_api else PAGES.items():
        (FOLDER / "reference" / name).write_text(markdown(), "utf-8")
    if not only_api:
        refresh_examples()
    # pdoc looks only at what a module has, and most names of treemem come when they are used.
    for name in treemem.__all__:
        setattr(treemem, name, getattr(treemem, name))
    warnings.simplefilter("error")
    pdoc.pdoc(*public_modules(), output_directory=target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), only_api="--only-api" in sys.argv)
