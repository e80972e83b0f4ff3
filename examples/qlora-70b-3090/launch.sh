#!/bin/sh
accelerate launch --config_file accelerate.yaml sft.py --config qlora.yaml
