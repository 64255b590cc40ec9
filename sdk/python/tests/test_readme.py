import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from tests.world import get_world

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


class Readme(unittest.TestCase):
    def test_the_five_minutes_of_the_readme_work_as_they_are_written(self) -> None:
        world = get_world()
        start, _, load = BLOCKS
        settings = {
            "GATEHOUSE_URL": world.base_url,
            "CLIENT_ID": world.client_id,
            "CLIENT_SECRET": world.client_secret,
        }
        printed = io.StringIO()

        def paste(_: str) -> str:
            return world.allow(printed.getvalue().split()[-1])

        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            before = os.getcwd()
            os.chdir(folder)
            try:
                with patch.dict(os.environ, settings), patch("builtins.input", paste):
                    exec(start + load + "assert load() == tokens\n", {})
            finally:
                os.chdir(before)

        lines = printed.getvalue().splitlines()
        self.assertEqual(len(lines), 121)
        self.assertEqual(lines[1], "INV-120 PAID 1234.50 GBP")

    def test_all_python_in_the_readme_is_python(self) -> None:
        for block in BLOCKS:
            compile(block, "README.md", "exec")
