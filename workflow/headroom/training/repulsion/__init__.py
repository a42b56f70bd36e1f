"""Terms and gradients that arms of both libraries add to training, on the heads of a site."""
