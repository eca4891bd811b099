"""Exported files: the object behind an address, and its rows as a CSV reader reads them."""

import csv
from decimal import Decimal
from io import StringIO
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3

from chalicelib.settings import settings

Row = dict[str, str]


def object_of(url: str) -> dict[str, Any]:
    """Return the object that a signed address leads to, its content as bytes under `Body`."""
    found = boto3.client("s3").get_object(Bucket=settings().bucket, Key=key_of(url))
    return {**found, "Body": found["Body"].read()}


def key_of(url: str) -> str:
    return unquote(urlsplit(url).path).lstrip("/").removeprefix(f"{settings().bucket}/")


def rows_of(url: str) -> list[Row]:
    return rows_in(object_of(url)["Body"])


def rows_in(content: bytes) -> list[Row]:
    return list(csv.DictReader(StringIO(content.decode("utf-8-sig"), newline=""), strict=True))


def net_of(rows: list[Row], currency: str = "ZAR") -> Decimal:
    """Return the sum of the column Amount."""
    return sum((Decimal(row["Amount"]) for row in rows if row["Currency"] == currency), Decimal())
