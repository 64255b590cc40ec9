import importlib.util
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from email import message_from_string
from pathlib import Path

import gatehouse_client

ROOT = Path(__file__).resolve().parent.parent
HAS_HATCHLING = importlib.util.find_spec("hatchling") is not None


@unittest.skipUnless(HAS_HATCHLING, "hatchling is not installed")
class Package(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="gatehouse-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def build(self, kind: str, source: Path = ROOT) -> Path:
        target = Path(tempfile.mkdtemp(dir=self.folder))
        program = f"import sys, hatchling.build as build; build.build_{kind}(sys.argv[1])"
        subprocess.run([sys.executable, "-c", program, str(target)], cwd=source, check=True, capture_output=True)
        [built] = target.iterdir()
        return built

    def test_a_wheel_contains_the_package_its_types_and_its_licence_and_nothing_else(self) -> None:
        about = f"gatehouse_client-{gatehouse_client.__version__}.dist-info"
        with zipfile.ZipFile(self.build("wheel")) as wheel:
            names = set(wheel.namelist())
            metadata = message_from_string(wheel.read(f"{about}/METADATA").decode())

        sources = {f"gatehouse_client/{path.name}" for path in (ROOT / "src/gatehouse_client").glob("*.py")}
        extra = {f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")}
        self.assertEqual(names, sources | extra | {"gatehouse_client/py.typed"})
        self.assertEqual((metadata["Name"], metadata["Version"]), ("gatehouse-client", gatehouse_client.__version__))
        self.assertEqual((metadata["Requires-Python"], metadata["License-Expression"]), (">=3.10", "MIT"))
        self.assertEqual(metadata.get_payload(), (ROOT / "README.md").read_text(encoding="utf-8"))

    def test_only_the_asynchronous_clients_need_another_package(self) -> None:
        with zipfile.ZipFile(self.build("wheel")) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
            metadata = message_from_string(wheel.read(name).decode())

        self.assertEqual(metadata.get_all("Provides-Extra"), ["async"])
        [needed] = metadata.get_all("Requires-Dist") or []
        self.assertRegex(needed, r"^httpx<1,>=0\.27; extra == .async.$")
        addresses = {entry.partition(", ")[0]: entry.partition(", ")[2] for entry in metadata.get_all("Project-URL") or []}
        self.assertLessEqual({"Homepage", "Source", "Issues", "Changelog", "Documentation"}, set(addresses))
        for address in addresses.values():
            self.assertTrue(address.startswith("https://github.com/gatehouse/gatehouse"), address)

    def test_a_source_distribution_builds_the_same_wheel(self) -> None:
        wheel, sdist = self.build("wheel"), self.build("sdist")
        with tarfile.open(sdist) as archive:
            archive.extractall(self.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]

        again = self.build("wheel", self.folder / sdist.name.removesuffix(".tar.gz"))

        self.assertEqual(again.read_bytes(), wheel.read_bytes())
