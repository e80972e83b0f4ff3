"""What a settings file may ask for. One that comes with a repository may only speak of that repository; the user may allow it more.

The user's own words are the command line and one file of the user's, which is read only where there are settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from stablint.base.light import Any
from stablint.config import settings as files

_KEYS = ("trusted",)


def user_file(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> str | None:
    """The path of the user's own file, whether it exists or not; None where no home is known. Relative places count as unset.

    https://specifications.freedesktop.org/basedir-spec/latest/ ($XDG_CONFIG_HOME), and where macOS and Windows keep such files.
    """
    home = os.path.expanduser("~")
    usual = os.path.join(home, ".config")
    places = [environment.get("XDG_CONFIG_HOME", ""), usual]
    if system == "win32":
        places = [environment.get("APPDATA", ""), os.path.join(home, "AppData", "Roaming")]
    elif system == "darwin":
        places = [environment.get("XDG_CONFIG_HOME", ""), os.path.join(home, "Library", "Application Support")]
    folder = next((place for place in places if os.path.isabs(place)), None)
    return None if folder is None else os.path.join(folder, "stablint", "stablint.toml")


def trusts(path: str, user: str | None, root: str) -> bool:
    """Whether the user's file trusts the folder that a settings file lies in, links followed. Raises BadSettings for a file that is none.

    `root` is the repository of the settings. A file of the user's in there is none: where HOME is set to a checkout, as in some containers,
    the repository would trust itself.
    """
    if user is None or not os.path.lexists(user) or files.within(user, root):
        return False
    real = os.path.realpath(path)
    return any(real.startswith(os.path.join(folder, "")) for folder in _folders(user))


def _folders(user: str) -> list[str]:
    text = files.text_of(user, user)
    values: dict[str, Any] = files.parsed(text, user)
    for key in values:
        if key not in _KEYS:
            raise files.BadSettings(
                f"{user}:{files.line_of(text, (key,))}: unknown setting `{key}`: this file has {', '.join(_KEYS)}"
            )
    folders = values.get("trusted", [])
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        raise files.BadSettings(
            f'{user}:{files.line_of(text, ("trusted",))}: `trusted` is a list of folders: ["~/work"]'
        )
    found = []
    for folder in map(os.path.expanduser, folders):
        if not os.path.isabs(folder):
            raise files.BadSettings(
                f"{user}:{files.line_of(text, ('trusted',))}: `{folder}` is not absolute: begin it with / or ~"
            )
        found.append(os.path.realpath(folder))
    return found
