"""The fairseq adapter: translation models, their training and their decoding."""

# first of all, so that fairseq is imported quietly whichever module is asked for
from headroom.engines.translation import fairseq as fairseq
