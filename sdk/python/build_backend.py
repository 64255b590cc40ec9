"""Builds the wheel and the source distribution (PEP 517) with the standard library alone, so nothing is downloaded.

The same sources give the same bytes, whenever they are built.
"""

import ast
import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent
_PACKAGE = "gatehouse_client"
_SOURCES = ["LICENSE", "README.md", "build_backend.py", "pyproject.toml"]
# The earliest that a zip file can say.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_TAR_TIME = 315532800


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    project = read_project()
    stem = f"{_PACKAGE}-{project['version']}"
    files = {path.relative_to(_ROOT / "src").as_posix(): path.read_bytes() for path in _package_files()}
    files[f"{stem}.dist-info/licenses/LICENSE"] = (_ROOT / "LICENSE").read_bytes()
    files[f"{stem}.dist-info/METADATA"] = _metadata(project)
    files[f"{stem}.dist-info/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: gatehouse-build-backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = f"{stem}.dist-info/RECORD"
    files[record] = _record(files, record)

    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    project = read_project()
    stem = f"{_PACKAGE}-{project['version']}"
    paths = [*(_ROOT / name for name in _SOURCES), *_package_files()]
    files = {path.relative_to(_ROOT).as_posix(): path.read_bytes() for path in paths}
    files["PKG-INFO"] = _metadata(project)

    with (
        open(Path(sdist_directory) / f"{stem}.tar.gz", "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(files):
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size = len(files[path])
            entry.mtime = _TAR_TIME
            archive.addfile(entry, io.BytesIO(files[path]))
    return f"{stem}.tar.gz"


def read_project() -> dict[str, Any]:
    """The table `[project]`. Python 3.10 reads no TOML, but the values there are nearly as Python writes them."""
    text = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("\n[project]\n")[2].partition("\n[")[0]
    pairs = re.findall(r"^([a-z-]+) = (.+?)(?=^[a-z-]+ = |\Z)", table, re.MULTILINE | re.DOTALL)
    return {key: ast.literal_eval(re.sub(r"\{ (\w+) = ", r'{ "\1": ', value.strip())) for key, value in pairs}


def _package_files() -> list[Path]:
    folder = _ROOT / "src" / _PACKAGE
    return sorted([*folder.glob("*.py"), folder / "py.typed"])


def _metadata(project: dict[str, Any]) -> bytes:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Author: {', '.join(author['name'] for author in project['authors'])}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in project["license-files"]),
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    readme = (_ROOT / project["readme"]).read_text(encoding="utf-8")
    return ("\n".join(lines) + "\n\n" + readme).encode()


def _record(files: dict[str, bytes], itself: str) -> bytes:
    lines = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items()]
    return ("".join(lines) + f"{itself},,\n").encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
