"""The local stage: the whole service and its AWS in one process."""
