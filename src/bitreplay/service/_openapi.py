"""The service described as OpenAPI, and as a page without scripts."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from bitreplay import __version__

Json = dict[str, Any]

LABEL: Json = {"type": "string", "maxLength": 255, "description": "The name of a class."}
COUNT: Json = {"type": "integer", "minimum": 0}
IMAGES: Json = {
    "type": "array",
    "items": {"type": "string", "format": "binary"},
    "description": "Pictures: JPEG, PNG, WebP, GIF, BMP, TIFF.",
}
TOKEN: list[Json] = [{"token": []}]

SCHEMAS: Json = {
    "Problem": {
        "type": "object",
        "description": "RFC 9457. `detail` says what was wrong and what is expected.",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": COUNT,
            "detail": {"type": "string"},
        },
    },
    "Guess": {"type": "object", "properties": {"label": LABEL, "probability": {"type": "number"}}},
    "Prediction": {
        "type": "object",
        "properties": {
            "label": {
                "type": ["string", "null"],
                "description": "The class, or null if the picture shows none of them.",
            },
            "known": {"type": "boolean"},
            "top": {"type": "array", "items": {"$ref": "#/components/schemas/Guess"}},
        },
    },
    "State": {
        "type": "object",
        "properties": {
            "model": {
                "type": "object",
                "properties": {
                    "file": {"type": "string"},
                    "encoder": {"type": "string"},
                    "version": {"type": "integer", "description": "Rises with every change."},
                    "memory_bytes": COUNT,
                    "undo": {"type": ["string", "null"], "description": "What `undo` would undo."},
                },
            },
            "classes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "label": LABEL,
                        "samples": COUNT,
                        "prototypes": COUNT,
                        "bytes": COUNT,
                        "held_back": {"type": "object", "properties": {"recognised": COUNT, "of": COUNT}},
                    },
                },
            },
        },
    },
}


def _answer(schema: Json | None, words: str, kind: str = "application/json") -> Json:
    content: Json = {} if schema is None else {"content": {kind: {"schema": schema}}}
    problem = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    return {"200": {"description": words, **content}, "default": {"description": "What went wrong.", **problem}}


def _form(properties: Json, required: list[str]) -> Json:
    return {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": {"type": "object", "properties": properties, "required": required}}
        },
    }


def _operation(summary: str, example: str, answer: Json, *, token: bool = True, **more: Any) -> Json:
    operation = {"summary": summary, "x-example": example, "responses": answer, **more}
    return operation | {"security": TOKEN} if token else operation


def _query(name: str, schema: Json, *, required: bool = False) -> Json:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _changed(extra: Json) -> Json:
    return {"allOf": [{"type": "object", "properties": extra}, {"$ref": "#/components/schemas/State"}]}


BINARY: Json = {"type": "string", "format": "binary"}

PATHS: Json = {
    "/v1/predict": {
        "post": _operation(
            "What pictures show",
            "curl -F image=@photo.jpg http://127.0.0.1:8000/v1/predict",
            _answer(
                {
                    "type": "object",
                    "properties": {
                        "predictions": {"type": "array", "items": {"$ref": "#/components/schemas/Prediction"}},
                        "milliseconds": {"type": "number"},
                        "version": COUNT,
                    },
                },
                "One prediction per picture, in their order.",
            ),
            parameters=[_query("top", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 5})],
            requestBody=_form({"image": IMAGES}, ["image"]),
        )
    },
    "/v1/learn": {
        "post": _operation(
            "Learn a class, or more pictures of one",
            "curl -F label=mug -F image=@1.jpg -F image=@2.jpg http://127.0.0.1:8000/v1/learn",
            _answer(
                _changed(
                    {
                        "label": LABEL,
                        "learned": COUNT,
                        "held_back": COUNT,
                        "bytes": COUNT,
                        "milliseconds": {"type": "object"},
                    }
                ),
                "What it cost, and what is known now. The file is saved.",
            ),
            requestBody=_form(
                {
                    "label": LABEL,
                    "image": IMAGES,
                    "hold_back": {"type": "boolean", "description": "Let every fifth picture test the model instead."},
                },
                ["label", "image"],
            ),
        )
    },
    "/v1/forget": {
        "post": _operation(
            "Forget a class",
            "curl -F label=mug http://127.0.0.1:8000/v1/forget",
            _answer(_changed({"label": LABEL, "bytes_freed": COUNT}), "What is known now. The file is saved."),
            requestBody=_form({"label": LABEL}, ["label"]),
        )
    },
    "/v1/undo": {
        "post": _operation(
            "Undo the last change (studio only)",
            "curl -X POST http://127.0.0.1:8000/v1/undo",
            _answer(_changed({"undone": {"type": "string"}}), "What was undone, and what is known now."),
        )
    },
    "/v1/classes": {
        "get": _operation(
            "What is known",
            "curl http://127.0.0.1:8000/v1/classes",
            _answer({"$ref": "#/components/schemas/State"}, "The model and its classes."),
        )
    },
    "/v1/kept": {
        "get": _operation(
            "What is kept of a class: its prototypes",
            "curl 'http://127.0.0.1:8000/v1/kept?label=mug'",
            _answer({"type": "object"}, "How often each bit is set, as bytes in base64, and weights."),
            parameters=[_query("label", LABEL, required=True)],
        )
    },
    "/v1/model": {
        "get": _operation(
            "The model's file",
            "curl -O -J http://127.0.0.1:8000/v1/model",
            _answer(BINARY, "The file.", "application/octet-stream"),
        )
    },
    "/v1/device.zip": {
        "get": _operation(
            "The classifier as C99 sources, from features to the class",
            "curl -O -J http://127.0.0.1:8000/v1/device.zip",
            _answer(BINARY, "The sources.", "application/zip"),
        )
    },
    "/health": {
        "get": _operation(
            "Whether the service answers",
            "curl http://127.0.0.1:8000/health",
            _answer({"type": "object"}, "It does."),
            token=False,
        )
    },
    "/metrics": {
        "get": _operation(
            "Counts and times, for Prometheus",
            "curl http://127.0.0.1:8000/metrics",
            _answer({"type": "string"}, "Prometheus' text format.", "text/plain"),
        )
    },
}


def document() -> Json:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bitreplay",
            "version": __version__,
            "description": "Pictures in, classes out; classes are learned and forgotten while it runs.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": PATHS,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def document_page(openapi: Json) -> str:
    """The document as a page of our own: nothing is loaded from anywhere else."""
    parts = []
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            answer = operation["responses"]["200"]["description"]
            parts += [
                f"<section><h2><code><b>{method.upper()}</b> {escape(path)}</code></h2>",
                f"<p>{escape(operation['summary'])}.</p><pre tabindex='0'>{escape(operation['x-example'])}</pre>",
                f"{_fields(operation)}<p>Answer: {escape(answer)}</p></section>",
            ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>bitreplay: the service</title>"
        "<meta name='viewport' content='width=device-width'><link rel='icon' href='/page/icon.svg'>"
        "<link rel='stylesheet' href='/page/docs.css'></head><body><main>"
        f"<h1>bitreplay</h1><p>{escape(openapi['info']['description'])} "
        "<a href='/openapi.json'>OpenAPI document</a>.</p>"
        "<p>On an address that others reach, add <code>-H 'Authorization: Bearer TOKEN'</code>. "
        "Errors are JSON problem details (RFC 9457).</p>"
        f"{''.join(parts)}</main></body></html>"
    )


def _fields(operation: Json) -> str:
    found = [(item["name"], item["schema"]) for item in operation.get("parameters", [])]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        found += content["schema"]["properties"].items()
    rows = "".join(
        f"<dt><code>{escape(name)}</code></dt><dd>{escape(schema.get('description', json.dumps(schema)))}</dd>"
        for name, schema in found
    )
    return f"<dl>{rows}</dl>" if rows else ""
