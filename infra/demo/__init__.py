"""The demo data of the local stage, and the pictures that are taken of it."""
