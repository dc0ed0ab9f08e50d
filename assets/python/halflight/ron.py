"""RON, the notation of session files: a reader and a writer for the part that sessions use.

| RON | Python |
|---|---|
| `(name: "a", size: 3)` | `Struct(name="a", size=3)`, a dict |
| `{"a": 1}` | dict |
| `()` | `Struct()` |
| `[1, 2]`, `(1, 2)` | list, tuple |
| `private` | `Name("private")`, a str |
| `file("a.csv")`, `declared(0, 1)` | `Tagged("file", ("a.csv",))` |
| `sparse(file: "a", width: 3)` | `Tagged("sparse", Struct(...))` |
| `Some(x)`, `None`, `true` | x, None, True |
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Optional, Union

from .errors import UsageError

__all__ = ["Name", "Struct", "Tagged", "dumps", "loads"]


class Name(str):
    """A word that is no string, such as a role."""


class Struct(dict):  # type: ignore[type-arg]
    """Named fields in parentheses."""


@dataclass(frozen=True)
class Tagged:
    """A word with something in parentheses behind it."""

    name: str
    value: Union[tuple[Any, ...], Struct]


def loads(text: str, origin: str = "RON") -> Any:
    """The value that a text says; `origin` is named in errors."""
    return _Reader(text, origin).document()


def dumps(value: Any) -> str:
    """The value as a text, one field a line."""
    return _written(value, 0) + "\n"


_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"(?:r#)?[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    r"[+-]?(?:inf|NaN|0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+"
    r"|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9_]+)?)"
)
_RAW = re.compile(r'r(#*)"(.*?)"\1', re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\", '"': '"', "'": "'"}


class _Reader:
    def __init__(self, text: str, origin: str) -> None:
        self.text, self.origin, self.at = text, origin, 0

    def document(self) -> Any:
        self._blank()
        while self.text.startswith("#!", self.at):
            end = self.text.find("]", self.at)
            if end < 0:
                raise self._flaw("']' is missing")
            self.at = end + 1
            self._blank()
        value = self._value()
        self._blank()
        if self.at < len(self.text):
            raise self._flaw("something stands after the end")
        return value

    def _flaw(self, what: str) -> UsageError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        return UsageError(f"{self.origin}:{line}:{column}: {what}")

    def _blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        if found:
            self.at = found.end()

    def _take(self, sign: str) -> bool:
        self._blank()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise self._flaw(f"'{sign}' is missing")

    def _value(self) -> Any:
        self._blank()
        next_sign = self.text[self.at : self.at + 1]
        if next_sign == '"':
            return self._string('"')
        if next_sign == "'":
            return self._string("'")
        raw = _RAW.match(self.text, self.at)
        if raw:
            self.at = raw.end()
            return raw.group(2)
        if next_sign == "[":
            self.at += 1
            return self._items("]")
        if next_sign == "{":
            self.at += 1
            return self._map()
        if next_sign == "(":
            self.at += 1
            return self._group()
        number = _NUMBER.match(self.text, self.at)
        if number and not re.match(r"[A-Za-z_]", self.text[number.end() : number.end() + 1]):
            self.at = number.end()
            return _number(number.group())
        word = _WORD.match(self.text, self.at)
        if not word:
            raise self._flaw("a value is missing")
        self.at = word.end()
        return self._after(word.group().removeprefix("r#"))

    def _after(self, word: str) -> Any:
        plain = {"true": True, "false": False, "None": None}
        if word in plain:
            return plain[word]
        if not self._take("("):
            return Name(word)
        inside = self._group()
        if isinstance(inside, Struct):
            return Tagged(word, inside)
        if word == "Some" and len(inside) == 1:
            return inside[0]
        return Tagged(word, inside)

    def _group(self) -> Union[tuple[Any, ...], Struct]:
        """What stands in parentheses: named fields, or values."""
        self._blank()
        word = _WORD.match(self.text, self.at)
        behind = _BLANK.match(self.text, word.end()) if word else None
        if not behind or not self.text.startswith(":", behind.end()):
            items = tuple(self._items(")"))
            # All fields may be left out.
            return items if items else Struct()
        fields = Struct()
        while not self._take(")"):
            word = _WORD.match(self.text, self.at)
            if not word:
                raise self._flaw("the name of a field is missing")
            self.at = word.end()
            self._need(":")
            fields[word.group().removeprefix("r#")] = self._value()
            if not self._take(","):
                self._need(")")
                break
            self._blank()
        return fields

    def _items(self, end: str) -> list[Any]:
        items = []
        while not self._take(end):
            items.append(self._value())
            if not self._take(","):
                self._need(end)
                break
        return items

    def _map(self) -> dict[Any, Any]:
        pairs = {}
        while not self._take("}"):
            key = self._value()
            self._need(":")
            pairs[key] = self._value()
            if not self._take(","):
                self._need("}")
                break
        return pairs

    def _string(self, quote: str) -> str:
        self.at += 1
        out: list[str] = []
        while True:
            sign = self.text[self.at : self.at + 1]
            self.at += 1
            if sign == "":
                raise self._flaw("a string has no end")
            if sign == quote:
                return "".join(out)
            out.append(self._escape() if sign == "\\" else sign)

    def _escape(self) -> str:
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        pattern = {"x": r"[0-9a-fA-F]{2}", "u": r"\{[0-9a-fA-F]{1,6}\}"}.get(sign)
        digits = re.compile(pattern).match(self.text, self.at) if pattern else None
        if digits:
            self.at = digits.end()
            return chr(int(digits.group().strip("{}"), 16))
        if sign == "\n":
            self._blank()
            return ""
        raise self._flaw(f"'\\{sign}' means nothing in a string")


def _number(text: str) -> Union[int, float]:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-").replace("_", "")
    if digits == "inf":
        return sign * math.inf
    if digits == "NaN":
        return math.nan
    if digits[:2] in ("0x", "0b", "0o"):
        return sign * int(digits, 0)
    whole: Optional[bool] = digits.isdigit()
    return sign * (int(digits) if whole else float(digits))


def _written(value: Any, depth: int) -> str:
    if value is None:
        return "None"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Tagged):
        if isinstance(value.value, Struct):
            return value.name + _written(value.value, depth)
        return value.name + "(" + ", ".join(_written(it, depth) for it in value.value) + ")"
    if isinstance(value, Struct):
        fields = [f"{name}: {_written(it, depth + 1)}" for name, it in value.items()]
        return _block("(", fields, ")", depth)
    if isinstance(value, dict):
        pairs = [f"{_written(k, depth + 1)}: {_written(v, depth + 1)}" for k, v in value.items()]
        return _block("{", pairs, "}", depth)
    if isinstance(value, tuple):
        return "(" + ", ".join(_written(it, depth) for it in value) + ")"
    if isinstance(value, list):
        items = [_written(it, depth + 1) for it in value]
        short = "[" + ", ".join(items) + "]"
        return short if "\n" not in short and len(short) < 90 else _block("[", items, "]", depth)
    item = getattr(value, "item", None)
    if callable(item):
        # A number of numpy's.
        return _written(item(), depth)
    raise UsageError(f"a {type(value).__name__} cannot stand in a session")


def _block(begin: str, items: list[str], end: str, depth: int) -> str:
    if not items:
        return begin + end
    inner = "  " * (depth + 1)
    return begin + "\n" + "".join(f"{inner}{item},\n" for item in items) + "  " * depth + end


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if any(sign in text for sign in ".e") else text + ".0"


def _quoted(text: str) -> str:
    out = text.replace("\\", "\\\\").replace('"', '\\"')
    out = out.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in out) + '"'
