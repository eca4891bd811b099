"""Receipts: their content, and the text, the page and the SMS made from it."""
