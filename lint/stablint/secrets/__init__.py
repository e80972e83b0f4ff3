"""What is a secret, and the one way out of the program, on which none is shown."""
