"""What a release costs: events, accountants, guarantees, accounts and the ledger. Holds no rows."""
