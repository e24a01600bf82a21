"""Import scikit-learn without the half second that ``scipy.stats`` takes.

scikit-learn imports ``scipy.stats``, a third of the start of a command, for functions that no command calls. While it
is imported here, an empty module takes the place of ``scipy.stats``. It is removed afterwards, and code that needs
``scipy.stats`` gets the real one: scipy loads its parts on first use. Only commands do this, in a process of their own;
the library never changes what others import.
"""

from __future__ import annotations

import sys
from types import ModuleType

PUT_OFF = "scipy.stats"


def load_sklearn() -> None:
    """Import what every model is built on."""
    if PUT_OFF in sys.modules or "sklearn" in sys.modules:
        return
    sys.modules[PUT_OFF] = ModuleType(PUT_OFF)
    try:
        import sklearn.base
        import sklearn.utils.validation  # noqa: F401
    except (ImportError, AttributeError):  # a version that needs it at once: it will be imported as usual
        for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
            del sys.modules[name]
    finally:
        del sys.modules[PUT_OFF]
