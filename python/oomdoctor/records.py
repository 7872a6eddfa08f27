"""The base of the classes of reports, and the methods of the report itself."""
import copy
import dataclasses
import functools
import html
import typing


class Record:
    """An object of the JSON. What the log does not give is None. `from_`, `for_` and `class_` are keywords of Python."""

    @classmethod
    def from_dict(cls, raw):
        """The record of an object of the JSON. Raises an exception if a field is missing or of another kind."""
        kinds, known = _kinds_of_fields(cls), {}
        for field in dataclasses.fields(cls):
            name = field.name.rstrip("_")
            if name in raw or field.default is field.default_factory is dataclasses.MISSING:
                known[field.name] = _converted(kinds[field.name], raw[name])
        record = cls(**known)
        object.__setattr__(record, "_raw", raw)  # with the fields of a newer program, too
        return record

    def to_dict(self):
        """The object as the program printed it."""
        return copy.deepcopy(self._raw)


class ReportMethods(Record):
    """What a report prints about itself."""

    def __repr__(self):
        verdict = self.verdict
        return "<oomdoctor report: %s, cause %s: %s>" % (verdict.outcome, verdict.cause, verdict.headline)

    def _repr_html_(self):
        """The verdict, its reasons and the first fixes, for a notebook."""
        verdict, parts = self.verdict, []
        parts.append("<p><b>%s</b></p>" % _plain(verdict.headline))
        if self.causes:
            cause = self.causes[0]
            parts.append("<p>%s (%d%%)</p>" % (_plain(cause.title), round(100 * cause.probability)))
            parts.append(_list("ul", (_plain(reason.text) for reason in cause.because)))
        account = next((incident.account for incident in self.incidents if incident.id == verdict.incident), None)
        if account is not None:
            parts.append(_bar(account))
        if self.fixes:
            parts.append("<p>Fixes:</p>" + _list("ol", (_fix(fix) for fix in self.fixes[:MAX_FIXES])))
        if self.held_back:
            parts.append("<p>Won't help:</p>" + _list("ul", (
                "%s: %s" % (_plain(held.title), _plain(held.because)) for held in self.held_back)))
        return '<div class="oomdoctor">%s</div>' % "".join(parts)


MAX_FIXES = 3  # as in the short report of the terminal
GIB = 2**30


def _plain(text):
    return html.escape(str(text))


def _list(tag, items):
    return "<%s>%s</%s>" % (tag, "".join("<li>%s</li>" % item for item in items), tag)


def _fix(fix):
    saves = " (saves up to %.2f GiB)" % (fix.saves.high_bytes / GIB) if fix.saves.high_bytes else ""
    settings = "".join("<pre>%s</pre>" % _plain(setting.text) for setting in fix.settings[:1])
    return _plain(fix.title) + saves + settings


def _bar(account):
    """The memory breakdown as a table, because a notebook may show no styles."""
    rows = [(share.label, share.bytes) for share in account.shares]
    if account.unexplained_bytes:
        rows.append(("unexplained", account.unexplained_bytes))
    return "<table>%s</table>" % "".join("<tr><td>%s</td><td>%.2f GiB</td></tr>" % (_plain(label), count / GIB)
                                         for label, count in rows)


@functools.lru_cache(maxsize=None)
def _kinds_of_fields(record):
    return typing.get_type_hints(record)


def _converted(kind, value):
    """A value of the JSON as the kind that a field declares."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if value is None or origin is typing.Literal:
        return value
    if origin is typing.Union:  # Optional
        return _converted(inner[0], value)
    if origin is list:
        return [_converted(inner[0], item) for item in value]
    if origin is tuple:
        return tuple(_converted(each, item) for each, item in zip(inner, value))
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind.from_dict(value)
    return value
