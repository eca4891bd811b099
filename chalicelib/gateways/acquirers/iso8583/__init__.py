"""ISO8583: an acquirer whose host speaks ISO 8583:1987, as `docs/acquirer-iso8583.md` describes it.

`messages` makes requests, `codec` writes and reads bytes, `answers` judges what came back, `transport` carries one
exchange, `adapter` puts them together.
"""
