"""The payment service."""
