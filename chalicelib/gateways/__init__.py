"""Everything outside the process that is not the store: acquirers, partners, mail, SMS, files and secrets."""
