# Nothing: the strings' places are not asked for at the end.
