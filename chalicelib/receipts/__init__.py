"""Receipts: their content, and how it is set as text, HTML and SMS."""
