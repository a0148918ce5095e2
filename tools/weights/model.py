"""The model: what is fitted, and how the score comes of it. scoring/learned.go does the same."""

from data import PAIRS  # first: it sets the number of threads

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.linear_model import LogisticRegression

# Signals that mean the same everywhere, with weights set by hand. On no source that we have is any of them misleading
# by more than noise; docs/SCORING.md has each one's figures.
STEADY = {
    "numbers": 0.6, "operators": 0.3, "code_presence": 0.3, "reasoning_markers": 0.3,
    "maths": 0.18, "snippet": 0.18, "prove": 0.18, "design": 0.18, "advanced": 0.18,
}
STEADY_BIAS = -0.2

# What the judge of requests does not look at: how long a text is and how it is laid out. In handwritten requests both
# give the tier away, elsewhere they do not, and neither means the same in every language.
NOT_OF_REQUESTS = (
    "token_count", "words", "commas", "sentences", "quotes", "lines", "brackets",
    "share_capitals", "share_long_words", "foreign", "cjk", "numbers", "share_numbers",
)


DEFAULTS = dict(
    kappa=3.0,  # score units per unit of gain, so that exam questions spread like tiers
    exam_dense=0.02,  # scale of named features beside n-grams
    exam_ridge=1.7,
    ours=3.0,  # what a prompt of ours counts, whose gain is a guess, beside one that was measured
    request_dense=0.05,
    request_ridge=0.3,
    gate_dense=0.1,
    gate_C=3.0,
    exam_shift=-0.7,
    request_shift=0.0,
    steep=0.9,
)


def sigmoid(z):
    return 1 / (1 + np.exp(-np.clip(z, -40, 40)))


class Space:
    """Named features, centred and scaled, beside n-grams."""

    def __init__(self, parts, dense, without=()):
        named = np.concatenate([p.named for p in parts])
        self.mean, self.scale = named.mean(0), dense / np.maximum(named.std(0), 0.15)
        self.scale[[parts[0].names.index(n) for n in without]] = 0

    def of(self, part, rows=slice(None)):
        named = (part.named[rows] - self.mean) * self.scale
        return sp.hstack([part.grams[rows], sp.csr_matrix(named), np.ones((named.shape[0], 1))]).tocsr()

    def judge(self, w):
        """Returns (bias, by named feature, by slot) for raw features."""
        k = len(self.mean)
        named = w[-1 - k:-1] * self.scale
        return w[-1] - named @ self.mean, named, w[:-1 - k]


def ridge(X, y, weight, penalty):
    d = X.shape[1]
    XT = X.T.tocsr()
    A = LinearOperator((d, d), matvec=lambda v: XT @ (weight * (X @ v)) + penalty * v, dtype=float)
    return cg(A, XT @ (weight * y), rtol=1e-4, maxiter=200)[0]


def steady(part, names):
    return sum(w * part.named[:, names.index(n)] for n, w in STEADY.items())


def take(part, rows):
    return slice(None) if rows is None else rows.get(part.name, slice(None))


def fit(parts, others, o, rows=None):
    """Fits the judges. others are the names of parts of neither kind; rows restricts parts by name."""
    tiers, pairs = parts["tiers"], [parts[p] for p in PAIRS if p in parts]
    names = tiers.names
    out = {}

    space = Space(pairs + [tiers], o["exam_dense"])
    at = {p.name: take(p, rows) for p in pairs}
    ours = [parts[n] for n in others if hasattr(parts[n], "gap")]
    X = sp.vstack([space.of(p, at.get(p.name, slice(None))) for p in pairs + ours]).tocsr()
    gaps = [p.gap[at.get(p.name, slice(None))] for p in pairs + ours]
    y = np.concatenate([o["kappa"] * (g - g.mean()) + 0.2 for g in gaps])
    weight = np.repeat([1.0] * len(pairs) + [o["ours"]] * len(ours), [len(g) for g in gaps])
    out["exam"] = space.judge(ridge(X, y, weight, o["exam_ridge"]))

    space = Space([tiers], o["request_dense"], NOT_OF_REQUESTS)
    r = take(tiers, rows)
    y = 0.2 + 0.6 * (tiers.tier[r] - 1.0)
    out["request"] = space.judge(ridge(space.of(tiers, r), y, np.ones(len(y)), o["request_ridge"]))

    out["request_gate"], out["exam_gate"] = gates(
        Space(pairs + [tiers], o["gate_dense"]), tiers, pairs, [parts[n] for n in others], o, rows)
    return out


def gates(space, tiers, pairs, others, o, rows):
    """Tells requests (1), exam questions (2) and all else (0) apart; the gates are log odds against all else."""
    kinds = [(0, p) for p in others] + [(1, tiers)] + [(2, p) for p in pairs]
    size = [len(p.named[take(p, rows)]) for _, p in kinds]
    share = {k: sum(1 for kind, _ in kinds if kind == k) for k in range(3)}
    X = sp.vstack([space.of(p, take(p, rows)) for _, p in kinds]).tocsr()
    label = np.repeat([k for k, _ in kinds], size)
    weight = np.repeat([3000 / share[k] / n for (k, _), n in zip(kinds, size)], size)
    lr = LogisticRegression(C=o["gate_C"], max_iter=300, tol=1e-3).fit(X, label, sample_weight=weight)
    for k, kind in ((1, "request"), (2, "exam")):
        w = lr.coef_[k] - lr.coef_[0]
        w[-1] += lr.intercept_[k] - lr.intercept_[0] - o[kind + "_shift"]
        yield space.judge(w * o["steep"])


def says(judge, part, rows=slice(None)):
    bias, named, slots = judge
    return bias + part.named[rows] @ named + part.grams[rows] @ slots


def score(m, part, rows=slice(None)):
    a, b = (np.exp(np.clip(says(m[k + "_gate"], part, rows), -40, 40)) for k in ("request", "exam"))
    s = STEADY_BIAS + steady(part, part.names)[rows]
    return (s + a * says(m["request"], part, rows) + b * says(m["exam"], part, rows)) / (1 + a + b)


def apgr(gap, key):
    """Area under the share of gain against the share of strong calls; see scorebench."""
    _, where = np.unique(-key, return_inverse=True)
    xs = np.r_[0, np.cumsum(np.bincount(where)) / len(gap)]
    ys = np.r_[0, np.cumsum(np.bincount(where, weights=gap)) / gap.sum()]
    return float(((xs[1:] - xs[:-1]) * (ys[1:] + ys[:-1]) / 2).sum())


def bounds(value, tier):
    """The two boundaries with the most right tiers, in the middle of their plateau."""
    best, where = -1, []
    low, high = np.quantile(value, np.linspace(0.1, 0.6, 81)), np.quantile(value, np.linspace(0.4, 0.9, 81))
    for a in low:
        for b in high:
            if a < b:
                right = ((value > a).astype(int) + (value > b) == tier).mean()
                if right > best + 1e-9:
                    best, where = right, []
                if right > best - 1e-9:
                    where.append((a, b))
    a, b = np.median(np.array(where), axis=0)
    return float(a), float(b), float(best)
