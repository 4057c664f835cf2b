"""How the columns of a file become features: the role of each, and what is made of it.

What a user leaves open is found from the training rows: which columns name rows, how dates and
numbers are written, which parts of a date vary. `Reading` holds the answers, so that rows to be
predicted are read in the same way; model files store it as a dictionary. What a column is and how
it is written are found together, and so in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types

from lindero.bayes.tables.wide_columns import (
    FEW_VALUES,
    counts_rows,
    find_row_names,
    is_name_of_ids,
    is_name_of_numbers,
    say_left_out,
)
from lindero.data.content import Content, suggest
from lindero.data.csv_files import infer_type
from lindero.data.dates import (
    FORMS,
    PARTS,
    DateColumn,
    compute_part,
    expand_dates,
    find_bad_date,
    find_dates,
    read_moments,
)
from lindero.data.number_formats import (
    DECIMALS,
    FoundFormat,
    NumberFormat,
    find_format,
    find_mixed_units,
    find_strays,
)
from lindero.errors import warn_user

#: Roles that one column may have, and those that several may have.
SINGLE_ROLES = ("target", "time", "qid", "weight")
SEVERAL_ROLES = ("id", "drop", "only", "position")

#: Usual names of a target; the first match wins.
TARGET_NAMES = ("class", "target", "label", "y")

#: Columns that a message lists.
_LISTED = 20


@dataclass(frozen=True)
class Reading:
    """How columns are read: names of those in a role; columns that are dropped, be it by the user
    or since they name rows; the only ones that are features, where the user named these; how dates
    and numbers are written; whether columns that name rows are kept; and which index the first
    column has in a file of svmlight, "0" or "1"."""

    target: str | None = None
    time: str | None = None
    qid: str | None = None
    weight: str | None = None
    id: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    position: tuple[str, ...] = ()
    dates: dict[str, DateColumn] = field(default_factory=dict)
    numbers: dict[str, NumberFormat] = field(default_factory=dict)
    keep_row_names: bool = False
    first_index: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, given: Any) -> Reading | None:
        """From plain values; None where they are not those of a reading."""
        try:
            return cls._parse(dict(given))
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    @classmethod
    def _parse(cls, given: dict[str, Any]) -> Reading:
        known = {one.name for one in fields(cls)}
        plain: dict[str, Any] = {name: given[name] for name in given if name in known}
        for name in SINGLE_ROLES:
            if not isinstance(plain.get(name), str | None):
                raise ValueError(name)
        for name in SEVERAL_ROLES:
            plain[name] = tuple(map(str, plain.get(name, ())))
        dates = {str(k): DateColumn(**v) for k, v in plain.get("dates", {}).items()}
        numbers = {str(k): NumberFormat(**v) for k, v in plain.get("numbers", {}).items()}
        for column in dates.values():
            if column.form not in FORMS or not set(column.parts) <= set(PARTS):
                raise ValueError("dates")
            if not all(isinstance(v, str) for v in (column.start, *column.parts.values())):
                raise ValueError("dates")
        for form in numbers.values():
            is_text = isinstance(form.thousands + form.unit, str)
            if form.decimal not in DECIMALS or not is_text:
                raise ValueError("numbers")
            if not isinstance(form.is_unit_optional, bool):
                raise ValueError("numbers")
        if plain.get("first_index") not in (None, "0", "1"):
            raise ValueError("first_index")
        plain["keep_row_names"] = bool(plain.get("keep_row_names", False))
        return cls(**{**plain, "dates": dates, "numbers": numbers})


# -- roles of columns ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Which column has which role: a name, a position or None; after `resolve`, a name or None.
    Several columns may be names of rows, dropped, the only features, or positions: a tuple after
    `resolve`."""

    target: Any = None
    time: Any = None
    qid: Any = None
    weight: Any = None
    id: Any = None
    drop: Any = None
    only: Any = None
    position: Any = None

    def list_given(self) -> dict[str, Any]:
        """The roles that the user gave a column."""
        given = {role: c for role, c in vars(self).items() if c is not None and c is not False}
        return {r: c for r, c in given.items() if isinstance(c, (str, bytes)) or c not in ((), [])}

    def taken(self) -> set[str]:
        """The columns that are no features."""
        single = {getattr(self, role) for role in SINGLE_ROLES} - {None}
        return single | {*self.id, *self.drop, *self.position}

    def complete(self, like: Reading, names: list[str]) -> Roles:
        """With the roles of training data, where this file has their columns and the user gave
        none."""
        found: dict[str, Any] = {}
        given = self._list_columns(names)
        for role in SINGLE_ROLES:
            name = getattr(like, role)
            if getattr(self, role) is None:
                usable = name in names and name not in given
                found[role] = name if usable else (False if role == "target" else None)
        for role in SEVERAL_ROLES:
            if role not in self.list_given():
                found[role] = tuple(n for n in getattr(like, role) if n in names and n not in given)
        return replace(self, **found)

    def _list_columns(self, names: list[str]) -> set[str]:
        listed = [c for choice in self.list_given().values() for c in _as_list(choice)]
        return {str(names[c]) if isinstance(c, int) and c < len(names) else str(c) for c in listed}

    def resolve(self, names: list[str], content: Content, declared: tuple[str, ...] = ()) -> Roles:
        """Replace positions by names, and find the target if none was given."""
        found: dict[str, str] = {}
        several: dict[str, tuple[str, ...]] = dict.fromkeys(SEVERAL_ROLES, ())
        for role, choice in self.list_given().items():
            chosen = [find_column(one, role, names, content) for one in _as_list(choice)]
            if role in several:
                several[role] = tuple(dict.fromkeys(chosen))
            for name in chosen if role != "only" else ():
                other = found.setdefault(name, role)
                if other != role:
                    raise content.error(f"column {name!r} cannot be both {other} and {role}.")
        both = [name for name in several["only"] if name in several["drop"]]
        if both:
            raise content.error(f"column {both[0]!r} cannot be both only and drop.")
        others = [name for name in names if name not in found]
        single = {role: name for name, role in found.items() if role in SINGLE_ROLES}
        if self.target is None and (likely := _guess_target(others, len(names), declared, content)):
            single["target"] = likely
        return replace(Roles(), **single, **several)


def _as_list(choice: Any) -> list[Any]:
    return list(choice) if isinstance(choice, (list, tuple)) else [choice]


def _guess_target(
    names: list[str], n_columns: int, declared: tuple[str, ...], content: Content
) -> str | None:
    if len(declared) > 1:
        raise content.error(
            f"declares {len(declared)} outputs ({', '.join(declared[:_LISTED])}). Choose one "
            "with target=."
        )
    if declared:
        return declared[0] if declared[0] in names else None
    likely = [name for known in TARGET_NAMES for name in names if name.lower() == known]
    last = names[-1] if names and n_columns > 1 else None
    return likely[0] if likely else last


def find_column(choice: Any, role: str, names: list[str], content: Content) -> str:
    """The name of the column that a user chose."""
    if isinstance(choice, str) and choice in names:
        return choice
    try:
        place = None if isinstance(choice, bool) else int(choice)
    except (TypeError, ValueError):
        place = None
    if place is None:
        same = [name for name in names if name.lower() == str(choice).lower()]
        hint = f" Did you mean {same[0]!r}?" if same else suggest(str(choice), names)
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        raise content.error(
            f"there is no column {choice!r} ({role}=).{hint} Columns are: {listed}."
        )
    if not -len(names) <= place < len(names):
        raise content.error(
            f"there is no column {place} ({role}=): positions are 0 to {len(names) - 1}, or −1 for "
            "the last."
        )
    return names[place]


# -- what is made of columns -----------------------------------------------------------------------


@dataclass(frozen=True)
class ReadColumns:
    """Features and the target as they are used, and how they came about."""

    columns: dict[str, pa.ChunkedArray]
    target: pa.ChunkedArray | None
    dates: dict[str, DateColumn]
    numbers: dict[str, NumberFormat]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def read_columns(
    columns: dict[str, pa.ChunkedArray],
    content: Content,
    *,
    target: tuple[str, pa.ChunkedArray] | None,
    like: Reading | None,
    dates: bool,
    numbers: NumberFormat | None,
    keep: frozenset[str] | None,
    is_declared: bool,
    doubtful: Mapping[str, Callable[[str], pa.ChunkedArray]] | None = None,
) -> ReadColumns:
    """Make features of columns: as in training (`like`), or by what is found in them.

    The `target`, a name and a column, may be written like other numbers, so it is read with them.
    `numbers` is the format that a user gave. Columns in `keep` stay though they name rows; None
    keeps all. A file that declares its columns (`is_declared`) says itself what numbers are.
    Numbers of `doubtful` columns are all like 1.883: with decimal commas in others, they are
    thousands, and are read from their text."""
    notes: list[str] = []
    aim = {} if target is None else dict([target])
    if like is not None:
        signs = {form.decimal for form in like.numbers.values()}
        known = {name: like.numbers[name] for name in aim if name in like.numbers}
        if not (known or is_declared):
            known = _find_numbers(aim, numbers, content, notes, signs, aim)
        made = _read_like(columns, content, like, numbers)
        goal = _read_target(aim, known, content, numbers)
        forms = {**like.numbers, **known}
        return ReadColumns(made, goal, like.dates, forms, (), tuple(notes))
    found_numbers = (
        {}
        if is_declared
        else _find_numbers({**columns, **aim}, numbers, content, notes, labels=aim)
    )
    for name in [name for name in doubtful or {} if name in columns or name in aim]:
        column = columns.get(name, aim.get(name))
        if {form.decimal for form in found_numbers.values()} == {","}:
            commas = NumberFormat(",")
            text = (doubtful or {})[name](name)
            if pc.all(commas.fits(text)).as_py():
                found_numbers[name] = commas
                (columns if name in columns else aim)[name] = text
                example = text.drop_null()[0].as_py()
                notes.append(f"Column {name!r} is read as numbers, written like {example!r}.")
                continue
        _warn_of_thousands(column, name, content)
    made = {}
    found_dates: dict[str, DateColumn] = {}
    taken = set(columns)
    for name, column in columns.items():
        if name in found_numbers:
            made[name] = found_numbers[name].read(column)
            continue
        found = find_dates(column) if dates else None
        if isinstance(found, str):
            warn_user(f"{content.source}: column {name!r}: {found}.", UserWarning)
        if found is None or isinstance(found, str):
            made[name] = column
            continue
        form, moments = found
        found_dates[name], parts = expand_dates(moments, form, name, taken)
        taken |= set(parts)
        made.update(parts)
        notes.append(
            f"Column {name!r} holds dates or times: it is used as {', '.join(map(repr, parts))}."
        )
    left_out: tuple[str, ...] = ()
    if keep is not None:
        # Only text and such numbers are looked at: there may be thousands of columns.
        may_be = {n: c for n, c in made.items() if _may_name_rows(n, c)}
        suspects = {name: column for name, column in may_be.items() if name not in keep}
        rest = next(({n: c} for n, c in made.items() if n not in suspects), {})
        own = find_row_names(pa.table({**suspects, **rest})) if suspects else []
        left_out = tuple(name for name in own if name in suspects)
        if left_out:
            how = "use keep_row_names=True (--keep-row-names)"
            warn_user(say_left_out(left_out, how), UserWarning)
    kept = {name: column for name, column in made.items() if name not in left_out}
    goal = _read_target(aim, found_numbers, content)
    return ReadColumns(kept, goal, found_dates, found_numbers, left_out, tuple(notes))


def _warn_of_thousands(column: Any, name: str, content: Content) -> None:
    """Warn that the points of all numbers may separate thousands."""
    example = next(value for value in column.drop_null().to_pylist() if value)
    warn_user(
        f"{content.source}: column {name!r} is ambiguous: all of its numbers are like "
        f"{example:.3f}, and are read as that. If the point separates thousands, say "
        "thousands='.' (--thousands .); if not, decimal='.' (--decimal .).",
        UserWarning,
    )


def _may_name_rows(name: str, column: pa.ChunkedArray) -> bool:
    if types.is_string(column.type) or is_name_of_ids(name) or is_name_of_numbers(name):
        return True
    if not types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py()
    return counts_rows(ends["min"], ends["max"], len(column))


def _read_target(
    target: dict[str, pa.ChunkedArray],
    numbers: dict[str, NumberFormat],
    content: Content,
    given: NumberFormat | None = None,
) -> pa.ChunkedArray | None:
    """The only column of `target`, if there is one; prices such as "€ 1.200" become numbers."""
    for name, column in target.items():
        if name in numbers and types.is_string(column.type):
            return _read_numbers(column, name, content, numbers[name], given)
        if name in numbers and numbers[name].unit == "%":
            _warn_of_shares(column, name, content)
        return column
    return None


def _find_numbers(
    columns: dict[str, pa.ChunkedArray],
    given: NumberFormat | None,
    content: Content,
    notes: list[str],
    signs: Iterable[str] = (),
    labels: Iterable[str] = (),
) -> dict[str, NumberFormat]:
    """Formats of columns of text that are numbers. Decimal signs of other columns (`signs`), or of
    these, tell how an ambiguous one is read. Targets (`labels`) such as "2 doors" are classes."""
    found: dict[str, FoundFormat] = {}
    for name, column in columns.items():
        if not types.is_string(column.type):
            continue
        one = find_format(column, given)
        if one is not None and not (name in labels and one.format.is_word and _is_few(column)):
            found[name] = one
        elif one is None and (units := find_mixed_units(column)):
            listed = " and ".join(repr(unit) if unit else "none" for unit in units)
            warn_user(
                f"{content.source}: column {name!r} holds numbers with different units ({listed}): "
                "it stays text. Convert it to one unit.",
                UserWarning,
            )
        elif one is None and not _is_few(column) and (strays := find_strays(column)):
            warn_user(
                f"{content.source}: column {name!r} holds numbers except for {strays}: it stays "
                "text. Correct these values, or leave them empty if they mean missing.", UserWarning
            )  # fmt: skip
    told = {o.format.decimal for o in found.values() if o.tells_decimal and not o.is_ambiguous}
    sure = told or {*signs}
    chosen: dict[str, NumberFormat] = {}
    for name, one in found.items():
        form = one.format
        if one.is_ambiguous and len(sure) == 1:
            form = replace(form, decimal=next(iter(sure)))
        elif one.is_ambiguous and given is None:
            number = form.read(pa.chunked_array([pa.array([one.example])]))[0].as_py()
            warn_user(
                f"{content.source}: column {name!r} is ambiguous: {one.example!r} is read as "
                f"{number:g}. If it is not, say decimal= or thousands= (--decimal, --thousands).",
                UserWarning,
            )
        chosen[name] = form
        unit = f" in {form.unit}" if form.is_word else ""
        notes.append(f"Column {name!r} is read as numbers{unit}, written like {one.example!r}.")
    return chosen


def _is_few(column: pa.ChunkedArray) -> bool:
    """Whether a column has so few different values that they are classes."""
    return bool(pc.count_distinct(column).as_py() <= FEW_VALUES)


def _read_like(
    columns: dict[str, pa.ChunkedArray],
    content: Content,
    like: Reading,
    given: NumberFormat | None = None,
) -> dict[str, pa.ChunkedArray]:
    """Columns as they were read in training; those that are not there are for others to miss."""
    made: dict[str, pa.ChunkedArray] = {}
    for name, column in columns.items():
        if name in like.drop:
            continue
        if name in like.dates:
            known = like.dates[name]
            moments = _read_dates(column, name, content, known.form)
            for part, title in known.parts.items():
                values = compute_part(moments, known.form, known.start, part)
                if values is not None:
                    made[title] = values
        elif name in like.numbers and types.is_string(column.type):
            made[name] = _read_numbers(column, name, content, like.numbers[name], given)
        else:
            made[name] = column
            if name in like.numbers and like.numbers[name].unit == "%":
                _warn_of_shares(column, name, content)
    return made


def _warn_of_shares(column: pa.ChunkedArray, name: str, content: Content) -> None:
    """Warn of numbers in place of percentages: spreadsheets and `load` have 12 % as 0.12."""
    if (types.is_integer(column.type) or types.is_floating(column.type)) and len(column):
        warn_user(
            f"{content.source}: column {name!r} was written like '12 %' in the training rows, and "
            "holds numbers here: they are read as shares, 0.12 as 12 %. If they are percentages, "
            "divide them by 100.",
            UserWarning,
        )


def _read_dates(column: pa.ChunkedArray, name: str, content: Content, form: str) -> pa.ChunkedArray:
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.timestamp("us"))])
    moments = read_moments(column, form)
    if moments is None:
        found = find_dates(column)
        moments = found[1] if isinstance(found, tuple) and found[0] != "times" else None
    if moments is None:
        row = find_bad_date(column, form)
        raise content.error(
            f"row {row}, column {name!r}, holds {str(column[row].as_py())[:40]!r}, which is not a "
            "date as the training rows have them. Correct it, or leave it empty."
        )
    return moments


def _read_numbers(
    column: pa.ChunkedArray,
    name: str,
    content: Content,
    form: NumberFormat,
    given: NumberFormat | None = None,
) -> pa.ChunkedArray:
    """Numbers as they were written in training; with another decimal sign where the user says so
    (`given`), or where nothing else is meant."""
    if column.null_count == len(column):
        return column
    if given is not None:
        form = replace(form, decimal=given.decimal, thousands=given.thousands)
    elif not form.unit and not pc.all(form.fits(column)).as_py():
        found = find_format(column)
        other = infer_type(column, form.decimal) if form.decimal == "," else column
        has_points = pc.any(pc.match_substring(column, ".")).as_py()
        if not types.is_string(other.type) and not has_points:
            return other  # 1,5E-05
        marked = pc.match_substring_regex(column, "[.,]")
        is_sure = not pc.any(pc.and_(marked, form.fits(column))).as_py()
        if found is not None and is_sure and not found.is_ambiguous and not found.format.unit:
            _warn_of_another_way(content, name, found.example, form)
            return found.format.read(column)
        other = infer_type(column, "." if form.decimal == "," else ",")
        if found is None and is_sure and not types.is_string(other.type):  # 1.5e-05 for 1,5E-05
            _warn_of_another_way(content, name, column.drop_null()[0].as_py(), form)
            return other
    fits = pc.fill_null(form.fits(column), True)
    if not pc.all(fits).as_py():
        row = fits.index(False).as_py()
        raise content.error(
            f"row {row}, column {name!r}, holds {str(column[row].as_py())[:40]!r}, which is not a "
            f"number written like {form.describe()!r}, as in the training rows. {form.advise()}"
        )
    return form.read(column)


def _warn_of_another_way(content: Content, name: str, example: str, form: NumberFormat) -> None:
    """Say that numbers are written in another way than in the training rows, but clearly."""
    warn_user(
        f"{content.source}: numbers of column {name!r} are written like {example!r}, and were "
        f"written like {form.describe()!r} in the training rows: they are read as they are written "
        "here.",
        UserWarning,
    )
