"""Runs every test and closes with "cli: N passed, M failed"."""
import sys
import unittest

import support


def main():
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        loader.testNamePatterns = [f"*{sys.argv[1]}*"]
    suite = loader.discover(".", pattern="test_*.py")
    with support.Server() as server:
        support.SERVER = server
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"cli: {result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    return 0 if bad == 0 and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
