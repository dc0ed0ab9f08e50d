"""Carries the files of an exchange folder of halflight between sites, with Flower."""
