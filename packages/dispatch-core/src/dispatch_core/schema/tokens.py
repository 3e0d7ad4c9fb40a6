"""Cut a schema's text into tokens, walk over them, and say where one of them is wrong."""

from __future__ import annotations

import re
from sys import intern
from typing import Final, NoReturn

from dispatch_core.errors import SchemaError


class SchemaSyntaxError(SchemaError):
    """A schema's text is malformed; ``line`` and ``column`` (both from 1) say where."""

    def __init__(self, message: str, text: str, offset: int, *, hint: str | None = None) -> None:
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", start)
        shown = text[start : end if end >= 0 else len(text)]
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - start + 1
        # Tabs keep their width under the shown line, so that the caret stands where the reader looks.
        pad = "".join("\t" if c == "\t" else " " for c in shown[: self.column - 1])
        where = f"line {self.line}, column {self.column}"
        super().__init__(f"{message} ({where})\n  {shown}\n  {pad}^", hint=hint)


# Everything but blanks is a token; a character that no rule here knows is one by itself, which the grammar refuses.
_LEXEME: Final = r"""(?x)
    [A-Za-z_][A-Za-z0-9_]*
    | \.\.\. | ->
    | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?
    | \"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\" | '''(?:[^'\\]|\\.|'(?!''))*'''
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \#[^\n]*
    | [^ \t\n\r\f\v]"""
IDENTIFIER_STARTS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")

# torch's lexer shares its keywords with TorchScript; ``from``, ``self`` and ``lambda`` are none.
_KEYWORDS: Final = frozenset(
    "False None NoneType True Ellipsis and as assert break class continue def del elif else for global if import in "
    "is not or pass raise return while with".split()
)


def is_identifier(token: str) -> bool:
    """Return whether a token may name an operator, an argument, a type or an alias set."""
    return token[:1] in IDENTIFIER_STARTS and token not in _KEYWORDS


class Tokens:
    """The state of one parse: the tokens, ended by two empty ones, and the place of the next one."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str) -> None:
        tokens = re.findall(_LEXEME, text)
        if "#" in text:
            tokens = [token for token in tokens if token[0] != "#"]
        # Looking one token ahead needs no bounds check with two at the end.
        self.tokens: list[str] = [*tokens, "", ""]
        self.text = text
        self.at = 0

    @property
    def next(self) -> str:
        """Return the next token, an empty one at the end."""
        return self.tokens[self.at]

    def fail(self, message: str, at: int | None = None, *, hint: str | None = None) -> NoReturn:
        """Raise for the token at a place, by default the next one."""
        index = self.at if at is None else at
        # Offsets are found again here, so that the good path does not pay for them.
        starts = [found.start() for found in re.finditer(_LEXEME, self.text) if found[0][0] != "#"]
        offset = starts[index] if index < len(starts) else len(self.text.rstrip())
        raise SchemaSyntaxError(message, self.text, offset, hint=hint)

    def refuse(self, what: str) -> NoReturn:
        """Raise because the next token is not the one that the grammar asks for."""
        token = self.tokens[self.at]
        self.fail(f"expected {what} but found {repr(token) if token else 'the end'}")

    def take(self, token: str) -> bool:
        """Step over the next token if it is this one, and return whether it was."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over the next token, which must be this one."""
        if self.tokens[self.at] != token:
            self.refuse(repr(token))
        self.at += 1

    def identifier(self, what: str) -> str:
        """Step over the next token, which must be an identifier, and return it."""
        token = self.tokens[self.at]
        if not is_identifier(token):
            if token in _KEYWORDS:
                self.fail(f"expected {what} but found the keyword {token!r}")
            self.refuse(what)
        self.at += 1
        # Thousands of operators have arguments named self, other and dim.
        return intern(token)
