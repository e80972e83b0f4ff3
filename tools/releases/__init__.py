"""Reads what the releases of the fine-tuning libraries accept, without installing, importing or running any of them."""
