"""Builds Word and PDF files byte by byte, without the libraries that read them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_IMAGE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
_CORE = (
    '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc" xmlns:dcterms="urn:dcterms">'
    "<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
    "<dcterms:created>2026-01-02T08:00:00Z</dcterms:created>"
    "<dcterms:modified>{modified}</dcterms:modified></cp:coreProperties>"
)
STYLES = (
    f"<w:styles {_W}>"
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>'
)


def paragraph(text: str, style: str = "", inner: str = "") -> str:
    shown = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{shown}<w:r><w:t xml:space="preserve">{text}</w:t></w:r>{inner}</w:p>'


def document_xml(body: str, root: str = "document") -> str:
    return f"<w:{root} {_W} {_R} {_A}><w:body>{body}</w:body></w:{root}>"


def docx(
    body: str,
    *,
    title: str = "The plan",
    author: str = "Ana",
    modified: str = "2026-03-04T10:00:00Z",
    more: dict[str, str | bytes] | None = None,
    pictures: Sequence[tuple[str, str, bytes]] = (),
) -> bytes:
    """A package whose document has this body. more: further parts, or replacements. pictures:
    (id, name below word/, bytes)."""
    links = "".join(
        f'<Relationship Id="{link}" Type="{_IMAGE}" Target="{name}"/>' for link, name, _ in pictures
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "docProps/core.xml": _CORE.format(title=title, author=author, modified=modified),
        "word/styles.xml": STYLES,
        "word/document.xml": document_xml(body),
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELS}">{links}</Relationships>',
    }
    parts |= {f"word/{name}": content for _, name, content in pictures}
    parts |= more or {}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return target.getvalue()


def pdf(
    pages: Sequence[str | bytes],
    *,
    info: str = "/Title (The plan) /Author (Ana) /ModDate (D:20260304100000+01'00')",
    picture: bytes | None = None,
    encrypt: str = "",
) -> bytes:
    """A PDF with a page for every text, or for bytes that draw it. picture: a JPEG that every
    page names. encrypt: the trailer's /Encrypt entry."""
    font, image, first = 3, 4, 5
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        font: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    shown = ""
    if picture is not None:
        head = f"<< /Subtype /Image /Width 8 /Height 9 /Filter /DCTDecode /Length {len(picture)} >>"
        objects[image] = head.encode() + b"\nstream\n" + picture + b"\nendstream"
        shown = f"/XObject << /Im1 {image} 0 R >>"
    kids = []
    for number, page in enumerate(pages):
        drawn = _drawn(page) if isinstance(page, str) else page
        packed = zlib.compress(drawn)
        at = first + 2 * number
        kids.append(f"{at} 0 R")
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {at + 1} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> {shown} >> >>"
        ).encode()
        head = f"<< /Filter /FlateDecode /Length {len(packed)} >>"
        objects[at + 1] = head.encode() + b"\nstream\n" + packed + b"\nendstream"
    objects[2] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    last = first + 2 * len(pages)
    objects[last] = f"<< {info} >>".encode()
    return _written(objects, f"/Root 1 0 R /Info {last} 0 R {encrypt}")


def _drawn(text: str) -> bytes:
    lines = "".join(f"({line}) Tj 0 -20 Td " for line in text.splitlines())
    return f"BT /F1 12 Tf 50 700 Td {lines}ET".encode("latin-1")


def _written(objects: dict[int, bytes], trailer: str) -> bytes:
    out, offsets = bytearray(b"%PDF-1.7\n"), {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 %s \n" % (offsets.get(number, 0), b"n" if number in offsets else b"f")
    out += f"trailer\n<< /Size {size} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
