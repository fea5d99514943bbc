"""Every method and every planted bug, audited several times: honest fits must pass, broken ones be caught.

python -c "from discreet.audit.table import audit_methods, tabulate; print(tabulate(audit_methods(20)))"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.audit.mixture import audit_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from discreet.audit.finding import FitFinding

__all__ = ["BROKEN", "HONEST", "Audited", "audit_methods", "tabulate"]

HONEST: Mapping[str, Mapping[str, Any]] = {
    "joint, Gaussian, row": {},
    "joint, Gaussian, person": {"unit": "person"},
    "joint, Laplace, row": {"noise": "laplace"},
    "joint, Laplace, person": {"noise": "laplace", "unit": "person"},
    "joint, Laplace, row, one column": {"noise": "laplace", "n_components": 1, "dimension": 1},
    "joint, low bits": {"attack": "low bits", "runs": 4000},
    "published, Gaussian, row": {"method": "published"},
    "published, Gaussian, person": {"method": "published", "unit": "person"},
    "published, Laplace and Gaussian, row": {"method": "published", "noise": "laplace"},
    "input, Gaussian, row": {"method": "input"},
    "input, Laplace, row": {"method": "input", "noise": "laplace"},
}
"""The methods of `fit`, as arguments of `audit_fit`."""

BROKEN: Mapping[str, Mapping[str, Any]] = {
    "joint, short noise": {"bug": "short noise", "n_rounds": 6, "runs": 500},
    "joint, noise in doubles": {"bug": "doubles", "runs": 20_000},
    "joint, rows for persons": {"bug": "rows for persons"},
    "joint, no clipping": {"bug": "no clipping"},
    "joint, private norm": {"bug": "private norm"},
    "published, private counts": {"bug": "private counts", "method": "published", "n_rounds": 5},
}
"""The same fits with bugs."""


@dataclass(frozen=True)
class Audited:
    """The findings of one case, which is broken or not."""

    name: str
    broken: bool
    findings: tuple[FitFinding, ...]

    @property
    def right(self) -> int:
        """How often the verdict was right: below the claim for honest fits, above for broken ones."""
        return sum(one.caught == self.broken for one in self.findings)


def audit_methods(
    repeats: int = 20,
    runs: int = 300,
    *,
    epsilon: float = 2.0,
    confidence: float = 0.99,
    cases: Iterable[str] | dict[str, Mapping[str, Any]] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Audited]:
    """Audit every case ``repeats`` times with ``runs`` runs in each world (more where runs are cheap).

    ``cases`` are names, or names with arguments of `audit_fit`; a case with a bug is broken.
    """
    known = {**HONEST, **BROKEN}
    chosen = cases if isinstance(cases, dict) else {name: known[name] for name in cases or known}
    audited: list[Audited] = []
    for name, arguments in chosen.items():
        broken = "bug" in arguments
        wanted: dict[str, Any] = {"runs": runs, "n_rounds": 2, **arguments}
        findings: list[FitFinding] = []
        for repeat in range(repeats):
            findings.append(
                audit_fit(epsilon=epsilon, confidence=confidence, random_state=1 + repeat, **wanted)
            )
            if progress is not None:
                progress(name, repeat + 1, repeats)
        audited.append(Audited(name, broken, tuple(findings)))
    return audited


def tabulate(audited: Sequence[Audited]) -> str:
    """The cases as a table of text."""
    lines = [f"{'case':38} {'claim':>6} {'epsilon at least':>18} {'budget used':>12} {'verdict right':>14}"]
    for one in audited:
        bounds = [finding.epsilon_lower for finding in one.findings]
        spent = max(finding.spent for finding in one.findings)
        lines.append(
            f"{one.name:38} {one.findings[0].claim:6.3g} {min(bounds):8.3f} .. {max(bounds):6.3f} "
            f"{100 * spent:11.1f}% {one.right:6} of {len(bounds):2}"
        )
    return "\n".join(lines)
