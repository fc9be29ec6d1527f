"""Reading: what a command says about its input while it is read, and lists that people write."""
