"""PlainNet: structures that grow by mutation."""
