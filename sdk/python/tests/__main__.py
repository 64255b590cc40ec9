"""Runs every test, and writes each result as a line of JSON: `python3 -m tests`."""

import json
import sys
import unittest
from pathlib import Path


class Lines(unittest.TestResult):
    def stopTest(self, test: unittest.TestCase) -> None:
        problems = [text for failed, text in [*self.failures, *self.errors] if _belongs(failed, test)]
        skips = [why for skipped, why in self.skipped if _belongs(skipped, test)]
        print(
            json.dumps(
                {
                    "sentence": _sentence(test),
                    "problem": "\n".join(problems) or None,
                    "skipped": "; ".join(skips) or None,
                }
            ),
            flush=True,
        )
        super().stopTest(test)


def _belongs(one: object, test: unittest.TestCase) -> bool:
    """A subtest counts as part of its test."""
    return one is test or getattr(one, "test_case", None) is test


def _sentence(test: unittest.TestCase) -> str:
    return test.id().rpartition(".test_")[2].replace("_", " ")


if __name__ == "__main__":
    root = Path(__file__).resolve().parent
    result = Lines()
    unittest.defaultTestLoader.discover(str(root), top_level_dir=str(root.parent)).run(result)
    # What fails outside of any test, such as setting up a class, would otherwise leave no trace.
    for failed, text in result.errors:
        if type(failed).__name__ == "_ErrorHolder":
            print(text, file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() else 1)
