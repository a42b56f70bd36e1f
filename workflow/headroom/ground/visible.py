"""Text from elsewhere, fit to be shown: characters that would steer what shows them become signs."""

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Return a text with a sign in place of every control character but "\t" and "\n".

    As they are, such characters end a drawing or a page (NUL), move the cursor of a terminal (ESC), turn the order
    of the text around them (U+202E), or cannot be written as UTF-8 (half of a surrogate pair). C0 characters become
    the pictures that Unicode has of them, all others U+FFFD.
    """
    return _STEERING.sub(lambda found: _sign(ord(found[0])), text)


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
