"""Prints memory from a training script, in lines that oomdoctor reads completely.

    oomdoctor.torch      log_memory() and snapshot_on_oom() for your own loop
    oomdoctor.hf         MemoryCallback for the Trainer of transformers
    oomdoctor.lightning  MemoryCallback for the Trainer of Lightning

Importing this package imports nothing else.
"""
