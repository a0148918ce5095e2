"""Fits the weights of the learned scorer and writes scoring/weights.bin; docs/SCORING.md tells the whole story."""

import argparse
import json
import pathlib

import model  # before numpy: it sets the number of threads
import numpy as np
from data import FOLDS, SHARE, Part, load, read

JUDGES = ("request", "exam", "request_gate", "exam_gate")
HERE = pathlib.Path(__file__).parent


def calibrate(value, tier, low, high):
    """The slope that makes logistic(slope * distance from the nearest boundary) the share of right tiers."""
    distance = np.minimum(abs(value - low), abs(value - high))
    right = (value > low).astype(int) + (value > high) == tier
    slopes = np.geomspace(1, 200, 400)
    p = np.clip(1 / (1 + np.exp(-np.outer(slopes, distance))), 1e-6, 1 - 1e-6)
    return float(slopes[(np.log(p) * right + np.log(1 - p) * ~right).sum(1).argmax()])


def held_out(parts, others, o):
    """Scores of the requests by models that did not see them."""
    t = parts["tiers"]
    fold = np.random.RandomState(1).randint(FOLDS, size=len(t))
    value = np.zeros(len(t))
    for k in range(FOLDS):
        m = model.fit(parts, others, o, {"tiers": np.where(fold != k)[0]})
        value[fold == k] = model.score(m, t, fold == k)
    return value


def rescale(m, names, low, high):
    """Moves the boundaries to 0 and 0.4 and returns what every judge says in these units."""
    unit = 0.4 / (high - low)
    steady = np.array([model.STEADY.get(n, 0.0) for n in names]) * unit
    out = {"steady": ((model.STEADY_BIAS - low) * unit, steady, None)}
    for j in JUDGES:
        bias, named, slots = m[j]
        out[j] = (bias, named, slots) if j.endswith("gate") else ((bias - low) * unit, named * unit, slots * unit)
    return out


def quantise(slots):
    """One signed byte a slot; what is beyond 6 standard deviations is cut."""
    scale = min(abs(slots).max(), 6 * slots[slots != 0].std()) / 127
    return float(np.float32(scale)), np.clip(np.round(slots / scale), -127, 127).astype(np.int8)


def encode(judges, names, certain):
    head, columns = {"features": names}, []

    def numbers(bias, named):
        return {"bias": round(float(bias), 5), "features": [round(float(x), 5) for x in named]}

    head["steady"] = numbers(*judges["steady"][:2])
    head["judges"] = []
    for j in JUDGES:
        bias, named, slots = judges[j]
        scale, bytes_ = quantise(slots)
        columns.append(bytes_)
        head["judges"].append({**numbers(bias, named), "scale": float(f"{scale:.6g}")})
    head["certain"] = round(certain, 2)
    return head, np.stack(columns, 1)


def golden(head, table, part):
    """What the program has to find in a few prompts, and what it has to make of it."""
    judged = [np.array(j["features"]) for j in head["judges"]]
    for i, row in enumerate(part.rows):
        named, slots = part.named[i], part.slots[i]
        sums = table[slots].astype(int).sum(0) / max(len(slots), 1) ** SHARE
        said = [j["bias"] + f @ named + j["scale"] * s for j, f, s in zip(head["judges"], judged, sums)]
        steady = head["steady"]["bias"] + np.array(head["steady"]["features"]) @ named
        a, b = np.exp(said[2:])
        yield {
            "prompt": row["prompt"], "named": {n: x for n, x in zip(head["features"], named) if x}, "slots": slots,
            "score": round((steady + a * said[0] + b * said[1]) / (1 + a + b), 9),
        }


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--data", required=True, help="folder of the labelled prompts")
    ap.add_argument("--binary", default="./understudy")
    ap.add_argument("--out", default="scoring/weights.bin")
    ap.add_argument("--golden", default="scoring/testdata/weights.golden.jsonl")
    a = ap.parse_args()
    parts = load(a.data, HERE / "own", a.binary)
    others = sorted(n for n in parts if n.startswith("own-"))
    o, tiers = model.DEFAULTS, parts["tiers"]
    value = held_out(parts, others, o)
    low, high, right = model.bounds(value, tiers.tier)
    unit = 0.4 / (high - low)
    certain = calibrate((value - low) * unit, tiers.tier, 0, 0.4)
    judges = rescale(model.fit(parts, others, o), tiers.names, low, high)
    head, table = encode(judges, tiers.names, certain)
    pathlib.Path(a.out).write_bytes(json.dumps(head, separators=(",", ":")).encode() + b"\n" + table.tobytes())
    sample = Part("sample", read(HERE / "sample.jsonl"), a.binary)
    pathlib.Path(a.golden).write_text("".join(
        json.dumps(g, ensure_ascii=False) + "\n" for g in golden(head, table, sample)), encoding="utf-8")
    print(f"{a.out}: held out {right:.3f} of the tiers are right; boundaries were {low:.3f} and {high:.3f}")


if __name__ == "__main__":
    main()
