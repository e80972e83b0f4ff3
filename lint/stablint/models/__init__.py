"""What a model is by nature. In come names (`Qwen/Qwen2-7B`) and `config.json` files, out come `model.*` facts: type, sizes, number of parameters.

Asks no hub and no network; knows no run.
"""
