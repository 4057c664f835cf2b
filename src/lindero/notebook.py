"""How estimators look in a notebook: scikit-learn's diagram, with certificate and documentation.

The link to a documentation page is made from the project's own address, `Documentation` among the
URLs of the installed package; where it has none, the card holds the documentation itself.
"""

from __future__ import annotations

import functools
import inspect
from html import escape
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

#: Of what stands below the diagram.
_STYLE = (
    "font: 13px/1.45 system-ui, sans-serif; margin: 4px 0 0 2px; max-width: 60em; color: inherit"
)


@functools.cache
def find_address() -> str:
    """Where the documentation is, without a slash at its end; empty where the package has no
    such address."""
    from importlib import metadata

    try:
        declared = metadata.metadata("lindero").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    pairs = (entry.partition(",")[::2] for entry in declared)
    found: dict[str, str] = {name.strip().lower(): text.strip() for name, text in pairs}
    return found.get("documentation", "").rstrip("/")


def link_documentation(estimator: Any) -> str:
    """The address of the page about an estimator; empty where there is none. An estimator uses it
    as its `_get_doc_link`."""
    address = find_address()
    return f"{address}/api/{name_publicly(type(estimator))}.html" if address else ""


def name_publicly(kind: type) -> str:
    """The name by which users import a class: lindero.svm.SVC."""
    package = ".".join(kind.__module__.split(".")[:2])
    return f"{package}.{kind.__qualname__}"


def write_card(estimator: Any) -> str:
    """The HTML of an estimator in a notebook. An estimator uses it as its `_html_repr`."""
    parts = [str(estimator_html_repr(estimator))]
    certificate = _find_certificate(estimator)
    if certificate is not None:
        summary = f"Certificate: {str(certificate.status).rstrip('.')}"
        if hasattr(certificate, "kkt_gap"):  # which a stream has none of
            summary += f", KKT gap {certificate.kkt_gap:.2g}"
        parts.append(_write_details(summary, certificate))
    kind = type(estimator)
    parts.append(_write_details(f"Documentation of {kind.__name__}", inspect.getdoc(kind) or ""))
    link = link_documentation(estimator)
    if link:
        address = escape(link, quote=True)
        parts.append(
            f'<div style="{_STYLE}"><a href="{address}" rel="noreferrer" target="_blank">'
            f"{escape(name_publicly(kind))}: its page</a></div>"
        )
    return "\n".join(parts)


def _write_details(title: str, text: Any) -> str:
    return (
        f'<details style="{_STYLE}"><summary>{escape(title)}</summary>'
        f'<pre style="white-space: pre-wrap">{escape(str(text))}</pre></details>'
    )


def _find_certificate(estimator: Any) -> Any:
    """The certificate of a fitted machine, or of the best one of a search."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return None
    for holder in (estimator, getattr(estimator, "best_estimator_", None)):
        certificate = getattr(holder, "certificate_", None)
        if certificate is not None:
            return certificate
    return None
