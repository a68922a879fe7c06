"""The index of a pacman repository that holds one package: what repo-add writes."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

name = "made-1.0-1-any.pkg.tar.gz"
package = Path(name).read_bytes()
fields = {
    "FILENAME": name,
    "NAME": "made",
    "BASE": "made",
    "VERSION": "1.0-1",
    "DESC": "made",
    "CSIZE": len(package),
    "ISIZE": 1,
    "SHA256SUM": hashlib.sha256(package).hexdigest(),
    "PGPSIG": base64.b64encode(Path(f"{name}.sig").read_bytes()).decode(),
    "ARCH": "any",
}
text = "".join(f"%{key}%\n{value}\n\n" for key, value in fields.items()).encode()
with tarfile.open("made.db", "w:gz") as index:
    entry = tarfile.TarInfo("made-1.0-1/desc")
    entry.size = len(text)
    index.addfile(entry, io.BytesIO(text))
