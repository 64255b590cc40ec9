import base64
import hashlib
import importlib
import subprocess
import sys
import tempfile
import unittest
import zipfile
from email import message_from_string
from pathlib import Path

import build_backend
import gatehouse_client

ROOT = Path(__file__).resolve().parent.parent


class Package(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="gatehouse-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_version_is_the_same_wherever_it_is_written(self) -> None:
        self.assertEqual(build_backend.read_project()["version"], gatehouse_client.__version__)

    @unittest.skipIf(sys.version_info < (3, 11), "Python reads TOML since 3.11")
    def test_the_build_reads_the_project_as_toml_does(self) -> None:
        toml = importlib.import_module("tomllib")
        project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

        self.assertEqual(build_backend.read_project(), project)

    def test_a_wheel_holds_the_package_its_types_and_its_licence_and_nothing_else(self) -> None:
        with zipfile.ZipFile(self.folder / build_backend.build_wheel(str(self.folder))) as wheel:
            names = set(wheel.namelist())
            metadata = message_from_string(wheel.read("gatehouse_client-0.1.0.dist-info/METADATA").decode())

        sources = {f"gatehouse_client/{path.name}" for path in (ROOT / "src/gatehouse_client").glob("*.py")}
        about = ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")
        extra = {"gatehouse_client/py.typed", *(f"gatehouse_client-0.1.0.dist-info/{name}" for name in about)}
        self.assertEqual(names, sources | extra)
        self.assertEqual((metadata["Name"], metadata["Version"]), ("gatehouse-client", "0.1.0"))
        self.assertEqual((metadata["Requires-Python"], metadata["License-Expression"]), (">=3.10", "MIT"))
        self.assertIsNone(metadata["Requires-Dist"])
        self.assertEqual(metadata.get_payload(), (ROOT / "README.md").read_text(encoding="utf-8"))

    def test_the_record_of_a_wheel_is_true(self) -> None:
        with zipfile.ZipFile(self.folder / build_backend.build_wheel(str(self.folder))) as wheel:
            record = wheel.read("gatehouse_client-0.1.0.dist-info/RECORD").decode()
            lines = [line.split(",") for line in record.splitlines()]
            self.assertEqual([path for path, _, _ in lines], wheel.namelist())
            for path, digest, size in lines[:-1]:
                content = wheel.read(path)
                expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                self.assertEqual((digest, size), (f"sha256={expected}", str(len(content))))
            self.assertEqual(lines[-1][1:], ["", ""])

    def test_building_twice_gives_the_same_bytes(self) -> None:
        for build in (build_backend.build_wheel, build_backend.build_sdist):
            built: list[bytes] = []
            for _ in range(2):
                with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    built.append((Path(folder) / build(folder)).read_bytes())
            self.assertEqual(built[0], built[1])

    def test_a_source_distribution_holds_what_builds_the_same_wheel(self) -> None:
        folder = str(self.folder)
        sdist, wheel = build_backend.build_sdist(folder), build_backend.build_wheel(folder)
        unpack = [sys.executable, "-m", "tarfile", "-e", str(self.folder / sdist), folder]
        subprocess.run(unpack, check=True, capture_output=True)
        unpacked, again = self.folder / "gatehouse_client-0.1.0", self.folder / "again"
        again.mkdir()

        program = "import sys, build_backend; build_backend.build_wheel(sys.argv[1])"
        subprocess.run([sys.executable, "-c", program, str(again)], cwd=unpacked, check=True)

        self.assertIn("\nName: gatehouse-client\n", (unpacked / "PKG-INFO").read_text(encoding="utf-8"))
        self.assertEqual((again / wheel).read_bytes(), (self.folder / wheel).read_bytes())
