"""Do ONNX Runtime's answers equal ours on real rows? Prints, per head, how many rows differ and by how much.

Usage: python benchmarks/onnx_answers.py --features cifar100.npz   (x_train, y_train, x_test, y_test; 10,000 test rows)
"""

import argparse
import tempfile
import time

import numpy as np
import onnxruntime

from bitreplay import GBMClassifier, Replay, export_onnx

HEADS = {"closed_form": "closed_form", "bayes": "bayes", "replay": Replay(epochs=1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", required=True)
    data = np.load(parser.parse_args().features)
    X, y, test = data["x_train"].astype(np.float32), data["y_train"], data["x_test"].astype(np.float32)
    for name, head in HEADS.items():
        clf = GBMClassifier(head=head, random_state=0)
        for first in range(0, 100, 50):
            rows = (y >= first) & (y < first + 50)
            clf.partial_fit(X[rows], y[rows])
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            export_onnx(clf, f"{folder}/model.onnx")
            seconds = time.perf_counter() - begin
            session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
            label, _, probabilities = session.run(None, {"features": test})
        differ, error = (label != clf.predict(test)).sum(), np.abs(probabilities - clf.predict_proba(test)).max()
        print(
            f"{name}: {differ} of {len(test)} answers differ, probabilities by {error:.1e}; written in {seconds:.1f} s"
        )


if __name__ == "__main__":
    main()
