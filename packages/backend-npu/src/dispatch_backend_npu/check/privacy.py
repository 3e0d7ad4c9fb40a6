"""Texts without names of users, machines and folders, for a report that anyone may read."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ..acl import toolkit

#: An absolute path; those of devices and of addresses of pages say nothing about anyone.
_PATH: Final = re.compile(r"(?<![\w.<>/~$-])~?/(?!dev/|/)[^\s'\",;:()\[\]{}|]*")
_PAGE: Final = re.compile(r"https?://\S+")
_ADDRESS: Final = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
#: Names that are too short to be found in a text.
_SHORTEST: Final = 2


class Privacy:
    """Replaces names and paths in texts: ``folders`` maps paths to what they are called instead."""

    def __init__(self, names: Mapping[str, str], folders: Mapping[str, str]) -> None:
        self._names: Final = {name: word for name, word in names.items() if len(name) >= _SHORTEST}
        # The longest first, so that a folder within another is found.
        self._folders: Final = dict(sorted(folders.items(), key=lambda item: -len(item[0])))

    @classmethod
    def of_this_machine(cls) -> Privacy:
        """Return the one that knows this machine's names, this user's, and the folders of Python and the toolkit."""
        home = str(Path.home())
        users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "LNAME", "USERNAME", "SUDO_USER")}
        if sys.platform != "win32":
            import pwd

            with suppress(KeyError):  # a user without an entry, as in some containers
                users.add(pwd.getpwuid(os.getuid()).pw_name)
        hosts = {platform.node(), socket.gethostname(), os.environ.get("HOSTNAME", "")}
        hosts |= {host.partition(".")[0] for host in hosts}
        names = dict.fromkeys(filter(None, [*users, Path(home).name]), "<user>") | dict.fromkeys(hosts, "<machine>")
        names.pop("", None)
        folders = {home: "<home>", sys.prefix: "<python>", str(Path.cwd()): "<folder>"}
        folders |= {tempfile.gettempdir(): "<temporary>"}
        folders |= {path: "<packages>" for path in sys.path if path}
        for name in toolkit.HOME_VARIABLES:
            if os.environ.get(name):
                folders[os.environ[name]] = "<toolkit>"
        if folder := toolkit.find_folder():
            folders[str(Path(folder).parent)] = "<toolkit>"
        if operators := toolkit.find_operators_folder():
            folders.setdefault(operators, "<operators>")
        return cls(names, {**_resolve_links(folders), **folders})

    def clean(self, text: str, *, has_addresses: bool = True) -> str:
        """Return a text without names, addresses and absolute paths; of a path the last part stays.

        Versions of four numbers look like addresses: a text that has none of these may keep them.

        >>> privacy = Privacy({"max": "<user>"}, {"/opt/cann": "<toolkit>"})
        >>> privacy.clean("max: /opt/cann/lib64/liba.so needs /home/max/x/libb.so:/srv/libc.so (1/2, /dev/davinci0)")
        '<user>: <toolkit>/lib64/liba.so needs <path>/libb.so:<path>/libc.so (1/2, /dev/davinci0)'
        """
        for path, word in self._folders.items():
            if len(path) > 1:
                text = re.sub(rf"{re.escape(path.rstrip('/'))}(?![\w.-])", word, text)
        pages = _PAGE.findall(text)
        for number, page in enumerate(pages):
            text = text.replace(page, f"\0{number}\0")
        text = _PATH.sub(lambda found: f"<path>/{found[0].rstrip('/').rpartition('/')[2]}", text)
        for number, page in enumerate(pages):
            text = text.replace(f"\0{number}\0", page)
        text = _ADDRESS.sub("<address>", text) if has_addresses else text
        for name, word in self._names.items():
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", word, text)
        return text

    def clean_data(self, value: Any, *, has_addresses: bool = True) -> Any:
        """Return data for JSON with each text in it cleaned; the keys stay."""
        if isinstance(value, str):
            return self.clean(value, has_addresses=has_addresses)
        if isinstance(value, Mapping):
            return {key: self.clean_data(each, has_addresses=has_addresses) for key, each in value.items()}
        if isinstance(value, Iterable):
            return [self.clean_data(each, has_addresses=has_addresses) for each in value]
        return value


def _resolve_links(folders: Mapping[str, str]) -> dict[str, str]:
    """Return folders by the paths that links lead to."""
    return {os.path.realpath(path): word for path, word in folders.items()}
