"""The demo data of the local stage, and the pictures of the shop's page."""
