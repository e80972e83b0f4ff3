"""What texts say about the releases of libraries: requirements as pip writes them, and the commands that install them."""
