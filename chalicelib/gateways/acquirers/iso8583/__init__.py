"""ISO8583: an acquirer whose host uses ISO 8583:1987, as `docs/acquirer-iso8583.md` describes.

`messages` makes requests, `codec` writes and reads bytes, `answers` reads answers, `transport` makes one exchange,
`adapter` combines them.
"""
