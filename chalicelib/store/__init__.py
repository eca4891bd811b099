"""What is kept: each table's keys, conditions and transactions."""
