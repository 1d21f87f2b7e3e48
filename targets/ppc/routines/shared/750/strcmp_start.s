# How both strings stand does not matter.
