"""Write the model as an ONNX graph whose weights are 8-bit integers.

Each matrix is kept with one scale per column, and what is multiplied with it is quantised as it
comes: ONNX's `DynamicQuantizeLinear` and `MatMulInteger`, which onnxruntime runs as one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from registry.search.dense.bert import Files
from registry.search.dense.encoder import Floats

OPSET = 20
IR_VERSION = 10
STEPS = 63
"""Seven bits: with eight, processors without VNNI instructions overflow while they add pairs."""


def graph_bytes(files: Files) -> bytes:
    """Return the graph: `ids`, `mask` → `vectors`, one of length 1 for each text."""
    writer = _Writer(files)
    model = helper.make_model(
        helper.make_graph(
            writer.nodes(),
            "sentence",
            [
                _info("ids", TensorProto.INT64, ["n", "t"]),
                _info("mask", TensorProto.INT64, ["n", "t"]),
            ],
            [_info("vectors", TensorProto.FLOAT, ["n", files.config["hidden_size"]])],
            writer.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    found: bytes = model.SerializeToString()
    return found


def quantised(matrix: Floats, axis: int) -> tuple[Any, Floats]:
    """Return a matrix as integers, and the scales along the other axis."""
    scales = np.maximum(np.abs(matrix).max(axis=axis), 1e-12) / STEPS
    whole = np.rint(matrix / np.expand_dims(scales, axis)).astype(np.int8)
    return whole, scales.astype(np.float32)


class _Writer:
    def __init__(self, files: Files) -> None:
        self.constants: list[Any] = []
        self._nodes: list[Any] = []
        self._weights = files.weights()
        self._config = files.config

    def nodes(self) -> list[Any]:
        """Return the nodes in order; the constants are filled by then."""
        states = self._embedded()
        present = self._add("Cast", ["mask"], to=TensorProto.FLOAT)
        absent = self._add("Sub", [self._constant(np.float32(1)), present])
        hidden = self._add("Mul", [absent, self._constant(np.float32(-1e9))])
        hidden = self._add("Unsqueeze", [hidden, self._constant(np.array([1, 2]))])
        for number in range(self._config["num_hidden_layers"]):
            states = self._layer(f"encoder.layer.{number}", states, hidden)
        weight = self._add("Unsqueeze", [present, self._constant(np.array([2]))])
        total = self._add(
            "ReduceSum",
            [self._add("Mul", [states, weight]), self._constant(np.array([1]))],
            keepdims=0,
        )
        # the mean's divisor falls out, since a vector's length is made 1
        self._nodes.append(helper.make_node("LpNormalization", [total], ["vectors"], axis=-1, p=2))
        return self._nodes

    def _embedded(self) -> str:
        words, scales = quantised(self._weights["embeddings.word_embeddings.weight"], axis=1)
        picked = self._add("Gather", [self._constant(words), "ids"])
        picked = self._add("Cast", [picked], to=TensorProto.FLOAT)
        scale = self._add("Gather", [self._constant(scales[:, None]), "ids"])
        states = self._add("Mul", [picked, scale])
        places = (
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        length = self._add("Shape", ["ids"], start=1)
        used = self._add("Slice", [self._constant(places), self._constant(np.array([0])), length])
        return self._norm("embeddings.LayerNorm", self._add("Add", [states, used]))

    def _layer(self, name: str, states: str, hidden: str) -> str:
        heads = self._config["num_attention_heads"]
        width = self._config["hidden_size"]
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        merged = self._linear(parts, states)
        shape = self._constant(np.array([0, 0, 3, heads, width // heads]))
        split = self._add(
            "Transpose", [self._add("Reshape", [merged, shape])], perm=[2, 0, 3, 1, 4]
        )
        query, key, value = (
            self._add("Gather", [split, self._constant(np.array(place))]) for place in range(3)
        )
        turned = self._add("Transpose", [key], perm=[0, 1, 3, 2])
        scores = self._add("MatMul", [query, turned])
        scores = self._add("Div", [scores, self._constant(np.float32((width // heads) ** 0.5))])
        shares = self._add("Softmax", [self._add("Add", [scores, hidden])], axis=-1)
        seen = self._add("Transpose", [self._add("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        seen = self._add("Reshape", [seen, self._constant(np.array([0, 0, width]))])
        seen = self._linear([f"{name}.attention.output.dense"], seen)
        states = self._norm(f"{name}.attention.output.LayerNorm", self._add("Add", [seen, states]))
        inner = self._add("Gelu", [self._linear([f"{name}.intermediate.dense"], states)])
        outer = self._linear([f"{name}.output.dense"], inner)
        return self._norm(f"{name}.output.LayerNorm", self._add("Add", [outer, states]))

    def _linear(self, names: Sequence[str], states: str) -> str:
        matrix = np.concatenate([self._weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        whole, scales = quantised(matrix, axis=0)
        rounded = [f"{names[0]}.{part}" for part in ("whole", "scale", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [states], rounded))
        product = self._add("MatMulInteger", [rounded[0], self._constant(whole), rounded[2]])
        real = self._add("Cast", [product], to=TensorProto.FLOAT)
        scale = self._add("Mul", [rounded[1], self._constant(scales)])
        return self._add("Add", [self._add("Mul", [real, scale]), self._constant(bias)])

    def _norm(self, name: str, states: str) -> str:
        learnt = [self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        epsilon = self._config["layer_norm_eps"]
        return self._add("LayerNormalization", [states, *learnt], axis=-1, epsilon=epsilon)

    def _add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name


def _info(name: str, kind: int, shape: Sequence[Any]) -> Any:
    return helper.make_tensor_value_info(name, kind, list(shape))
