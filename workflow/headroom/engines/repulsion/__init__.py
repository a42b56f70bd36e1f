"""Terms and gradients that arms of all engines add to training, on the heads of a site."""
