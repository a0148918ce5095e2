"""Cross-validates: within each source, and over sources left out."""

import argparse

import model  # before numpy: it sets the number of threads
import numpy as np
from data import FOLDS, PAIRS, load


def within(parts, others, o, seed=1):
    rng = np.random.RandomState(seed)
    folds = {n: rng.randint(FOLDS, size=len(parts[n])) for n in (*PAIRS, "tiers")}
    found = {n: np.zeros(len(parts[n])) for n in folds}
    own = {}
    for k in range(FOLDS):
        m = model.fit(parts, others, o, {n: np.where(f != k)[0] for n, f in folds.items()})
        for n, f in folds.items():
            found[n][f == k] = model.score(m, parts[n], f == k)
        for n in parts:
            if n.startswith("own-"):
                own[n] = own.get(n, 0) + model.score(m, parts[n]) / FOLDS
    return found, own


def report(parts, others, o, label=""):
    found, own = within(parts, others, o)
    t = parts["tiers"]
    a, b, _ = model.bounds(found["tiers"], t.tier)
    right = (found["tiers"] > a).astype(int) + (found["tiers"] > b) == t.tier
    line = " ".join(f"{n} {model.apgr(parts[n].gap, found[n]):.3f}" for n in PAIRS)
    line += " " + " ".join(f"{n} {model.apgr(parts[n].gap, v):.3f}" for n, v in own.items() if hasattr(parts[n], "gap"))
    print(f"{label} {line} tiers {right.mean():.3f} en {right[t.lang == 'en'].mean():.3f} bounds {a:.2f} {b:.2f}", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--data", required=True)
    ap.add_argument("--binary", default="./understudy")
    a = ap.parse_args()
    parts = load(a.data, "tools/weights/own", a.binary)
    own = sorted(n for n in parts if n.startswith("own-"))
    report(parts, own, model.DEFAULTS, "all own")
    for left in own:
        report(parts, [n for n in own if n != left], model.DEFAULTS, "without " + left)
