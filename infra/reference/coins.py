"""The smallest coins in use, which the till rounds cash sums to."""

import json

from chalicelib.domain.money import COINS, ROUNDED_EURO, ROUNDING_EURO


def coins_module() -> str:
    """Return the coins by currency, in minor units, as a module of the till."""
    lines = ["// The smallest coin in use by currency, in minor units, which `make reference` writes."]
    lines += [
        f"export const COINS = {{ {', '.join(f'{currency}: {coin}' for currency, coin in sorted(COINS.items()))} }};"
    ]
    lines += [f"export const EURO_COIN = {ROUNDED_EURO};"]
    lines += [f"export const ROUNDING_EURO = {json.dumps(sorted(ROUNDING_EURO))};"]
    return "\n".join([*lines, ""])
