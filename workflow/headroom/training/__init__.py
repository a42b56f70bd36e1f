"""Training: translation with fairseq, classifiers with transformers, repulsion; it ends in directories of models."""
