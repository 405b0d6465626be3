"""Words the commands that install a missing package, for the interpreter that runs, and notices
that the code on the disk was replaced meanwhile.

The name treemem on PyPI is not this project's, so no command may name it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from treemem.patterns import lazy_regex

# The extra in a line of the package's metadata: "httpx<1,>=0.27; extra == 'endpoint'".
_EXTRA = lazy_regex(r"extra\s*==\s*[\"']([\w-]+)[\"']")


# When this process began to load the code, in ns since 1970.
_LOADED_NS = time.time_ns()

# The variables that give the key of an encrypted memory file.
KEY_VARIABLES = ("TREEMEM_KEY", "TREEMEM_KEY_FILE", "TREEMEM_KEY_COMMAND", "TREEMEM_NEW_KEY")


def install_command(*arguments: str) -> str:
    """The command that passes arguments to "pip install" in the environment that runs. Each has
    pip, since sqlite-utils requires it.

    Example:
        >>> install_command("httpx>=0.27").partition(" -m ")[2]
        "pip install 'httpx>=0.27'"
    """
    import shlex

    return shlex.join((sys.executable or "python3", "-m", "pip", "install", *arguments))


def extra_command(extra: str) -> str:
    """The command that installs what an extra of pyproject.toml names, such as "endpoint": the
    extra of the checkout if treemem runs from one, else its packages with their versions."""
    checkout = checkout_folder()
    if checkout is not None:
        return install_command("-e", f"{checkout}[{extra}]")
    return install_command(*_packages_of(extra))


def upgrade_hint() -> str:
    """Says how to get a newer treemem."""
    import shlex

    checkout = checkout_folder()
    if checkout is None:
        return "Install a newer treemem in the way in which you installed this one."
    return f"Upgrade: git -C {shlex.quote(str(checkout))} pull"


def checkout_folder() -> Path | None:
    """The folder of the checkout that treemem runs from; None for an installed package."""
    folder = Path(__file__).resolve().parent.parent
    return folder if (folder / "pyproject.toml").is_file() else None


def child_environment() -> dict[str, str]:
    """The environment of a process that runs a module of this package with "python -P -m", and
    opens no memory file."""
    environment = {name: os.environ[name] for name in os.environ if name not in KEY_VARIABLES}
    root = Path(__file__).resolve().parent.parent
    if root.name not in ("site-packages", "dist-packages"):
        # Unlike this process, it does not import from the working directory.
        path = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{path}{os.pathsep}{root}" if path else str(root)
    return environment


def was_replaced() -> bool:
    """Whether a module of treemem was written since this process began to load them, as by an
    upgrade: a process that it starts now would run other code."""
    modules = Path(__file__).parent.rglob("*.py")
    return any(_written_ns(module) > _LOADED_NS for module in modules)


def _written_ns(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:  # it was removed
        return time.time_ns()
    return max(status.st_mtime_ns, status.st_ctime_ns)


def _packages_of(extra: str) -> list[str]:
    """The requirements of an extra, from the metadata of the installed package."""
    from importlib import metadata

    packages = []
    for requirement in metadata.requires("treemem") or ():
        package, _, marker = requirement.partition(";")
        named = _EXTRA.search(marker)
        if named is not None and named[1] == extra:
            packages.append(package.strip())
    return packages
