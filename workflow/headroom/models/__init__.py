"""Sites and gates, removal, and the adapters to the training engines."""

# first of all, so that fairseq is imported quietly whichever module is asked for
from headroom.models import engine as engine
