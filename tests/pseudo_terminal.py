"""A terminal for a program under test."""
import pty
import unittest


def opened():
    """(our end, the program's end) of a pseudo terminal. Skips the test where the system has none (no /dev/pts)."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo terminal: {error}") from error
