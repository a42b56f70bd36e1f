"""The one exception that reaches users."""


class HeadroomError(Exception):
    """A mistake or mishap that a user can act on.

    The message is one or two lines: what is wrong, where (file, line, key) and what to do.
    """
