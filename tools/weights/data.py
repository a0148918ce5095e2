"""Reads labelled prompts and the features that the program itself finds in them."""

import json
import os
import pathlib
import subprocess

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums in one order: the same bits each time

import numpy as np
import scipy.sparse as sp

BITS = 17
SHARE = 0.75  # an n-gram counts 1/n^SHARE of n: between a share (1), which forgets length, and a plain count (0)
FOLDS = 4  # of cross-validation
TIERS = {"light": 0, "standard": 1, "heavy": 2}
PAIRS = ("mmlu", "gsm8k", "llmrouter")
FILES = {"tiers": ("tiers-train.jsonl", "tiers-dev.jsonl"), **{p: (f"pairs-{p}.jsonl",) for p in PAIRS}}


class Part:
    """Prompts of one source: named features, shares of n-grams, labels."""

    def __init__(self, name, rows, binary):
        self.name, self.rows = name, rows
        self.names, self.named, self.slots = features(rows, binary)
        self.grams = shares(self.slots)
        if "tier" in rows[0]:
            self.tier = np.array([TIERS[r["tier"]] for r in rows])
            self.lang = np.array([r.get("lang", "en") for r in rows])
        if "strong" in rows[0]:
            self.weak = np.array([r["weak"] for r in rows], float)
            self.strong = np.array([r["strong"] for r in rows], float)
            self.gap = self.strong - self.weak

    def __len__(self):
        return len(self.rows)


def features(rows, binary):
    lines = "".join(json.dumps({"prompt": r["prompt"]}) + "\n" for r in rows)
    out = subprocess.run([binary, "score", "-jsonl", "-features"], input=lines.encode(), capture_output=True, check=True)
    names, *found = map(json.loads, out.stdout.splitlines())
    named = np.array([f["named"] for f in found])
    return names, named, [f["slots"] for f in found]


def shares(slots):
    """A row a prompt: what each slot counts."""
    count = np.array([len(f) for f in slots])
    share = np.repeat(np.maximum(count, 1.0) ** -SHARE, count)
    where = np.repeat(np.arange(len(slots)), count), np.concatenate([np.array(f, np.int64) for f in slots])
    grams = sp.csr_matrix((share, where), shape=(len(slots), 1 << BITS))
    grams.sum_duplicates()
    return grams


def read(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]


def load(folder, own, binary):
    """Returns the parts by name. Says which files are missing."""
    folder = pathlib.Path(folder)
    missing = [f for files in FILES.values() for f in files if not (folder / f).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}; docs/SCORING.md says what they are")
    rows = {name: [r for f in files for r in read(folder / f)] for name, files in FILES.items()}
    rows["tiers"] += read(pathlib.Path(own).parent / "requests.jsonl")  # written by us
    for f in sorted(pathlib.Path(own).glob("*.jsonl")):
        rows["own-" + f.stem] = read(f)
    return {name: Part(name, r, binary) for name, r in rows.items()}
