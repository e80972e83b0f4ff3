"""YAML: texts to trees that know their places, and edits that leave the rest of the text as it is."""
