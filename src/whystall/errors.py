"""Everything whystall raises on purpose.

::

    WhystallError                 exit 4
      UsageError                  exit 2   the command line or the configuration is wrong
        NotWritable               exit 2   a file or folder that was to be written cannot be, or the disk is full
      InputError                  exit 2   a file or a page is not what it should be
        NotARecording             exit 2   a folder without a metrics page
        NotMetrics                exit 2   a page that is not Prometheus text, or of another program
        TooLarge                  exit 2   over the size that is read
        MixedServers              exit 2   one address, pages of several servers in turn
        NotATrace                 exit 2   a file in no known trace or profile format
        NotAStore                 exit 2   a file that is not a store of cases, or another program's database
        StoreDamaged              exit 2   a store of cases that cannot be read any more
        StoreNewer                exit 2   a store of cases that a newer whystall wrote
        NoSuchCase                exit 2   a case that the store does not have
        NotCases                  exit 2   a file to import that holds no cases
      Unavailable                 exit 3   it could not be told
        Unreachable               exit 3   nothing answers
          TimedOut                exit 3   no whole answer in the time that was given
        AccessDenied              exit 3   401 or 403
        TlsFailed                 exit 3   the certificate is not trusted
        TooLittleData             exit 3   fewer than the scrapes a rate needs
        StoreLocked               exit 3   another program writes to the store and does not end
        ChangeFailed              exit 3   a server could not be changed, or did not come up changed
      Refused                     exit 2   a change, load or stall was not allowed
        Locked                    exit 2   another whystall is at work on the same server
      Interrupted                 exit 130 Ctrl-C

The message says what happened, to what and likely why; ``hint`` says what to do next.
"""

from __future__ import annotations


class WhystallError(Exception):
    """Root of the tree. ``exit_code`` is what the command ends with, ``hint`` the next step."""

    exit_code = 4

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(WhystallError):
    exit_code = 2


class NotWritable(UsageError):
    pass


class InputError(WhystallError):
    exit_code = 2


class NotARecording(InputError):
    pass


class NotMetrics(InputError):
    pass


class TooLarge(InputError):
    pass


class MixedServers(InputError):
    pass


class NotATrace(InputError):
    pass


class NotAStore(InputError):
    pass


class StoreDamaged(InputError):
    pass


class StoreNewer(InputError):
    pass


class NoSuchCase(InputError):
    pass


class NotCases(InputError):
    pass


class Unavailable(WhystallError):
    exit_code = 3


class Unreachable(Unavailable):
    pass


class TimedOut(Unreachable):
    pass


class AccessDenied(Unavailable):
    pass


class TlsFailed(Unavailable):
    pass


class TooLittleData(Unavailable):
    pass


class StoreLocked(Unavailable):
    pass


class ChangeFailed(Unavailable):
    pass


class Refused(WhystallError):
    exit_code = 2


class Locked(Refused):
    pass


class Interrupted(WhystallError):
    exit_code = 130
