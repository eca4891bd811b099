"""Who is asked: everything outside the process that is not the store."""
